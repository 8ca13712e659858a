//! Blocks: the parts of a page that show figures. A block stands between two HTML comments, of which the first names
//! it.
//!
//! ```text
//! <!-- bench reads: latest -->                                  a table: subcommand and table
//! | … |
//! <!-- /bench -->
//!
//! … costs <!-- bench reads: latest / 1 shard / 50 -->3.5<!-- /bench --> units       one figure: also row and column
//! ```
//!
//! The text of a block is derived only from the figures, so filling a page twice changes nothing. The rest of the page
//! is not touched.

use crate::report::{Cell, Report};

const BEGIN: &str = "<!-- bench ";
const END: &str = "<!-- /bench -->";

/// The name of a block: the figures that it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The subcommand.
    pub report: String,
    /// The table of the subcommand's report.
    pub table: String,
    /// The row and the column, if the block shows one figure.
    pub cell: Option<(String, String)>,
}

/// The blocks of a page cannot be filled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// A block has no end, or another block begins within it.
    #[error("the block `{0}` does not end")]
    Endless(String),
    /// The name of a block is not valid.
    #[error(
        "`{0}` is not the name of a block: use `<subcommand>: <table>`, or `<subcommand>: <table> / <row> / <column>`"
    )]
    Name(String),
    /// The figure does not exist.
    #[error("the figure `{0}` does not exist")]
    Unknown(String),
}

/// The names of a page's blocks, in the page's order.
pub fn names(page: &str) -> Result<Vec<Name>, BlockError> {
    let mut names = Vec::new();
    fill_with(page, |name, shown| {
        names.push(name);
        Ok(shown.to_owned())
    })?;
    Ok(names)
}

/// The page, with the blocks of a subcommand filled from its report. Other blocks are not touched.
pub fn fill(page: &str, subcommand: &str, report: &Report) -> Result<String, BlockError> {
    fill_with(page, |name, shown| {
        if name.report != subcommand {
            return Ok(shown.to_owned());
        }
        let figure = report.table(&name.table).and_then(|table| match &name.cell {
            None => Some(format!("\n{}\n", table.markdown())),
            Some((row, column)) => table.cell(row, column).map(in_a_sentence),
        });
        figure.ok_or_else(|| BlockError::Unknown(name.to_string()))
    })
}

fn fill_with(
    page: &str,
    mut content: impl FnMut(Name, &str) -> Result<String, BlockError>,
) -> Result<String, BlockError> {
    let mut filled = String::new();
    let mut rest = page;
    while let Some((before, block)) = rest.split_once(BEGIN) {
        let endless = |text: &str| BlockError::Endless(text.lines().next().unwrap_or_default().to_owned());
        let (name, block) = block.split_once(" -->").ok_or_else(|| endless(block))?;
        let (shown, after) = block.split_once(END).ok_or_else(|| endless(name))?;
        if shown.contains(BEGIN) {
            return Err(endless(name));
        }
        let content = content(name.parse()?, shown)?;
        filled.extend([before, BEGIN, name, " -->", &content, END]);
        rest = after;
    }
    Ok(filled + rest)
}

/// The text of a figure within a sentence. A whole number has no decimal there.
fn in_a_sentence(cell: &Cell) -> String {
    let text = cell.to_string();
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

impl std::str::FromStr for Name {
    type Err = BlockError;

    fn from_str(text: &str) -> Result<Self, BlockError> {
        let wrong = || BlockError::Name(text.to_owned());
        let (report, figure) = text.split_once(": ").ok_or_else(wrong)?;
        let parts: Vec<_> = figure.split(" / ").collect();
        let (table, cell) = match *parts {
            [table] => (table, None),
            [table, row, column] => (table, Some((row.to_owned(), column.to_owned()))),
            _ => return Err(wrong()),
        };
        Ok(Self { report: report.to_owned(), table: table.to_owned(), cell })
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { report, table, cell } = self;
        write!(f, "{report}: {table}")?;
        cell.iter().try_for_each(|(row, column)| write!(f, " / {row} / {column}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Table;

    fn report() -> Report {
        let mut table = Table::new("latest", &["shards", "50"]);
        table.push(["1 shard".into(), Cell::Measure(3.5)]);
        table.push(["64 shards".into(), Cell::Measure(32.0)]);
        Report { command: String::new(), tables: vec![table] }
    }

    fn filled(page: &str) -> Result<String, BlockError> {
        fill(page, "reads", &report())
    }

    const PAGE: &str = "# A page\n\n<!-- bench reads: latest -->\n\n<!-- /bench -->\n\nIt costs <!-- bench \
        reads: latest / 64 shards / 50 --><!-- /bench --> or <!-- bench reads: latest / 1 shard / 50 -->4<!-- /bench -->.\n";

    #[test]
    fn filling_changes_only_tables_and_figures() {
        let expected = PAGE
            .replace(
                "\n\n<!-- /bench",
                "\n| shards | 50 |\n| --- | --- |\n| 1 shard | 3.5 |\n| 64 shards | 32.0 |\n<!-- /bench",
            )
            .replace("50 --><!", "50 -->32<!")
            .replace("-->4<!", "-->3.5<!");
        assert_eq!(filled(PAGE), Ok(expected));
        assert_eq!(filled("Nothing to fill."), Ok("Nothing to fill.".to_owned()));
    }

    #[test]
    fn filling_a_page_twice_changes_nothing() {
        let once = filled(PAGE).unwrap();
        assert_eq!(filled(&once), Ok(once));
    }

    #[test]
    fn a_block_without_an_end_is_refused() {
        let name = || "reads: latest".to_owned();
        assert_eq!(filled("<!-- bench reads: latest -->\n| … |\n"), Err(BlockError::Endless(name())));
        let nested = "<!-- bench reads: latest -->\n<!-- bench reads: latest -->\n<!-- /bench -->";
        assert_eq!(filled(nested), Err(BlockError::Endless(name())));
        assert!(matches!(filled("<!-- bench reads"), Err(BlockError::Endless(_))));
    }

    #[test]
    fn a_block_of_an_unknown_figure_is_refused() {
        for name in ["reads: oldest", "reads: latest / 2 shards / 50", "reads: latest / 1 shard / 9"] {
            let page = format!("<!-- bench {name} --><!-- /bench -->");
            assert_eq!(filled(&page), Err(BlockError::Unknown(name.to_owned())));
        }
        for name in ["latest", "reads: latest / 1 shard"] {
            let page = format!("<!-- bench {name} --><!-- /bench -->");
            assert_eq!(filled(&page), Err(BlockError::Name(name.to_owned())));
        }
    }

    #[test]
    fn blocks_of_other_subcommands_are_not_touched() {
        let page = "<!-- bench writes: latest -->\n| … |\n<!-- /bench -->";
        assert_eq!(filled(page), Ok(page.to_owned()));
    }

    #[test]
    fn the_names_of_a_pages_blocks_are_listed() {
        let names: Vec<_> = names(PAGE).unwrap().iter().map(Name::to_string).collect();
        assert_eq!(
            names,
            ["reads: latest", "reads: latest / 64 shards / 50", "reads: latest / 1 shard / 50"]
        );
    }
}
