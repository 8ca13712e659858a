//! The pictures: bar charts of the tables of `designs`. The functions are pure, so the same report gives the same
//! picture.

use super::{ASKED, prices};
use crate::chart::{Chart, Panel};
use crate::report::{Cell, Report, Table};

/// The pictures of a report, by the names of their files.
///
/// # Panics
/// If the report is not one of `designs`.
pub fn pictures(report: &Report) -> Vec<(&'static str, String)> {
    let table = |name| report.table(name).expect("the report is one of `designs`");
    let steady = "Read units, with a steady 1,000 events a second (last 15 minutes: modelled)";
    let sparse = "Read units, in a sparse month";
    vec![
        ("designs-prices", prices::picture(table("summary"))),
        ("designs-reads-steady", reads(table("steady"), steady).svg()),
        ("designs-reads-sparse", reads(table("sparse"), sparse).svg()),
        ("designs-throttling", throttling(table("writes")).svg()),
        ("designs-collisions", collisions(table("collisions")).svg()),
    ]
}

/// Read units, with a panel for each kind of read.
fn reads(table: &Table, title: &str) -> Chart {
    let of = |asked: &str| -> Vec<&Vec<Cell>> {
        table.rows.iter().filter(|row| row.first().is_some_and(|cell| cell.to_string() == asked)).collect()
    };
    // Lately's cache saves a unit or two. The picture shows the reads without it.
    let shown = |rows: Vec<&Vec<Cell>>| -> Vec<(String, Cell)> {
        let rows = rows.into_iter().map(|row| (row[1].to_string(), row[2].clone()));
        rows.filter(|(name, _)| !name.ends_with("cached")).collect()
    };
    let rows: Vec<_> = shown(of(ASKED[0])).into_iter().map(|(name, _)| name).collect();
    let panels = ASKED.map(|asked| {
        let bars = shown(of(asked)).into_iter().map(|(_, cell)| bar(&cell)).collect();
        Panel { title: asked.to_owned(), bars }
    });
    chart(title, rows, panels.to_vec())
}

fn throttling(table: &Table) -> Chart {
    one_panel(
        table,
        "Writes a second at which a topic is throttled (modelled; Lately after its growth)",
        "throttles at",
    )
}

fn collisions(table: &Table) -> Chart {
    let column = table.columns.iter().find(|column| column.ends_with("in one tick"));
    let column = column.expect("the table has a column of the events lost in one tick").clone();
    one_panel(table, "Events lost when writers share one tick of the design's clock", &column)
}

/// A chart of one column of a table whose rows are designs.
fn one_panel(table: &Table, title: &str, column: &str) -> Chart {
    let names: Vec<_> = table.rows.iter().map(|row| row[0].to_string()).collect();
    let bars = names.iter().filter_map(|name| table.cell(name, column)).map(bar).collect();
    chart(title, names, vec![Panel { title: column.to_owned(), bars }])
}

fn chart(title: &str, rows: Vec<String>, panels: Vec<Panel>) -> Chart {
    let ours = rows.iter().position(|row| row.starts_with("Lately")).unwrap_or(rows.len());
    let sentences = panels.iter().map(|Panel { title, bars }| {
        let list: Vec<_> = rows.iter().zip(bars).map(|(row, (_, shown))| format!("{row} {shown}")).collect();
        format!("{title}: {}.", list.join(", "))
    });
    let description = sentences.collect::<Vec<_>>().join(" ");
    Chart { title: title.to_owned(), description, rows, ours, panels }
}

fn bar(cell: &Cell) -> (Option<f64>, String) {
    let value = match cell {
        Cell::Measure(measure) => Some(*measure),
        Cell::Count(count) => Some(*count as f64),
        Cell::Text(_) => None,
    };
    (value, cell.to_string())
}
