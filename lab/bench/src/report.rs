//! A report: figures in tables, as JSON for programs and as Markdown for pages.
//!
//! The published text is derived from the figures alone, by functions without I/O. The same figures give the same text,
//! so a test can compare the pages with the figures.

use serde::{Deserialize, Serialize};

/// The figures of a subcommand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The command that measures the figures.
    pub command: String,
    /// The figures.
    pub tables: Vec<Table>,
}

/// Figures in rows and columns. The first cell of a row is its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The table's name within its report.
    pub name: String,
    /// The titles of the columns.
    pub columns: Vec<String>,
    /// The rows. Each has as many cells as there are columns.
    pub rows: Vec<Vec<Cell>>,
    /// The text that explains the figures; it may be empty.
    pub note: String,
}

/// One figure or text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// A whole number.
    Count(u64),
    /// A measured number, rounded as it is shown.
    Measure(f64),
    /// A text.
    Text(String),
}

impl Report {
    /// A table of the report.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// The report as Markdown.
    pub fn markdown(&self) -> String {
        let tables: Vec<_> =
            self.tables.iter().map(|table| format!("{}\n\n{}", table.name, table.markdown())).collect();
        tables.join("\n\n")
    }

    /// The report as JSON, for programs and for the committed file.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report is text and finite numbers") + "\n"
    }
}

impl Table {
    /// An empty table.
    pub fn new(name: &str, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Self { name: name.to_owned(), columns, rows: Vec::new(), note: String::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let row: Vec<_> = cells.into_iter().collect();
        assert_eq!(row.len(), self.columns.len(), "a row of {} fits its columns", self.name);
        self.rows.push(row);
    }

    /// A figure by its row and its column.
    pub fn cell(&self, row: &str, column: &str) -> Option<&Cell> {
        let column = self.columns.iter().position(|name| name == column)?;
        let row =
            self.rows.iter().find(|cells| cells.first().is_some_and(|first| first.to_string() == row))?;
        row.get(column)
    }

    /// The table as Markdown, with its note beneath.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
        let mut lines = vec![line(&self.columns), line(&vec!["---".to_owned(); self.columns.len()])];
        lines.extend(self.rows.iter().map(|row| line(&row.iter().map(Cell::to_string).collect::<Vec<_>>())));
        if !self.note.is_empty() {
            lines.extend([String::new(), self.note.clone()]);
        }
        lines.join("\n")
    }

    /// Reads a table from Markdown. The text after the first empty line is its note.
    pub fn of_markdown(name: &str, text: &str) -> Self {
        let (table, note) = text.trim().split_once("\n\n").unwrap_or((text.trim(), ""));
        let cells = |line: &str| -> Vec<String> {
            line.trim_matches(['|', ' ']).split(" | ").map(|cell| cell.trim().to_owned()).collect()
        };
        let mut lines = table.lines();
        let columns = lines.next().map(cells).unwrap_or_default();
        let rows = lines.skip(1).map(|line| cells(line).into_iter().map(Cell::Text).collect()).collect();
        Self { name: name.to_owned(), columns, rows, note: note.to_owned() }
    }
}

impl std::fmt::Display for Cell {
    /// The published text: digits in groups of three, and a measure with at least one decimal.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Count(count) => f.write_str(&grouped(&count.to_string())),
            Self::Measure(measure) => {
                // `{:?}` gives the shortest text of the number that has a decimal.
                let text = format!("{measure:?}");
                let (whole, decimals) = text.split_once('.').unwrap_or((&text, "0"));
                write!(f, "{}.{decimals}", grouped(whole))
            }
        }
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// Puts commas between groups of three digits.
pub(crate) fn grouped(digits: &str) -> String {
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().collect();
    groups.iter().map(|group| String::from_utf8_lossy(group)).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("reads", &["shards", "10", "50"]);
        table.push([Cell::from("1 shard"), Cell::Measure(1.0), Cell::Measure(3.5)]);
        table.push([Cell::from("64 shards"), Cell::Measure(1003.25), Cell::Count(1_234_567)]);
        table
    }

    #[test]
    fn numbers_have_groups_and_measures_a_decimal() {
        let expected = "| shards | 10 | 50 |\n| --- | --- | --- |\n| 1 shard | 1.0 | 3.5 |\n\
                        | 64 shards | 1,003.25 | 1,234,567 |";
        assert_eq!(table().markdown(), expected);
        assert_eq!(
            Table { note: "So many.".to_owned(), ..table() }.markdown(),
            format!("{expected}\n\nSo many.")
        );
        let shown = |cell: Cell| cell.to_string();
        assert_eq!([0, 999, 1_000].map(|count| shown(count.into())), ["0", "999", "1,000"]);
    }

    #[test]
    fn a_report_read_from_its_json_is_the_same() {
        let report = Report { command: "bench reads".to_owned(), tables: vec![table()] };
        assert_eq!(serde_json::from_str::<Report>(&report.json()).unwrap(), report);
    }

    #[test]
    fn a_figure_is_found_by_its_row_and_column() {
        assert_eq!(table().cell("1 shard", "50"), Some(&Cell::Measure(3.5)));
        assert_eq!(table().cell("1 shard", "51"), None);
        assert_eq!(table().cell("2 shards", "50"), None);
    }

    #[test]
    fn a_table_read_from_markdown_has_the_same_markdown() {
        let text = "| function | start |\n| --- | --- |\n| hello | 1.00× |\n\nhello: 1.20 ms.";
        let table = Table::of_markdown("functions", text);
        assert_eq!(
            (table.rows.len(), &*table.note, table.markdown()),
            (1, "hello: 1.20 ms.", text.to_owned())
        );
    }
}
