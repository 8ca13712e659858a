//! Blocks: the parts of a page that are figures.
//!
//! ```text
//! <!-- bench reads: latest -->                                  a table, between this line
//! | … |
//! <!-- /bench -->                                               and this one
//!
//! … costs <!-- bench reads: latest / 1 shard / 50 -->3.5<!-- /bench --> units       a figure, by its row and column
//! ```
//!
//! What stands between the two comments is made from the figures and from nothing else: filling a page that is filled
//! changes nothing. All else of the page stays as it is.

use crate::report::{Cell, Report};

const BEGIN: &str = "<!-- bench ";
const END: &str = "<!-- /bench -->";

/// The contents of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The subcommand.
    pub report: String,
    /// Its table.
    pub table: String,
    /// The row and the column, if it is one figure.
    pub cell: Option<(String, String)>,
}

/// A page whose blocks cannot be filled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// A block has no end, or begins within another.
    #[error("the block `{0}` does not end")]
    Endless(String),
    /// A block's name is none.
    #[error(
        "`{0}` is not the name of a block: `<subcommand>: <table>`, or `<subcommand>: <table> / <row> / <column>`"
    )]
    Name(String),
    /// There is no such figure.
    #[error("there is no figure `{0}`")]
    Unknown(String),
}

/// The names of a page's blocks, in their order.
///
/// # Errors
/// See [`BlockError`].
pub fn names(page: &str) -> Result<Vec<Name>, BlockError> {
    let mut names = Vec::new();
    fill_with(page, |name, shown| {
        names.push(name);
        Ok(shown.to_owned())
    })?;
    Ok(names)
}

/// The page, with the blocks of a subcommand filled from its report. All others stay as they are.
///
/// # Errors
/// See [`BlockError`].
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

/// A figure within a sentence: a whole one without its decimal.
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
    fn tables_and_figures_are_filled_and_nothing_else_is_changed() {
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
    fn a_page_that_is_filled_stays_as_it_is() {
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
    fn blocks_of_other_subcommands_stay_as_they_are() {
        let page = "<!-- bench writes: latest -->\n| … |\n<!-- /bench -->";
        assert_eq!(filled(page), Ok(page.to_owned()));
    }

    #[test]
    fn a_pages_blocks_are_listed() {
        let names: Vec<_> = names(PAGE).unwrap().iter().map(Name::to_string).collect();
        assert_eq!(
            names,
            ["reads: latest", "reads: latest / 64 shards / 50", "reads: latest / 1 shard / 50"]
        );
    }
}
