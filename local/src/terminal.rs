//! The outputs of a command.
//!
//! Only data goes to standard output. Other messages go to standard error.

use std::fmt::{self, Display};
use std::io::{self, Write};

use lately_table::Cost;

use crate::failure::Result;
use crate::text::{json_line, plain};
use crate::text_table::TextTable;

/// The outputs of a command, and the terminal's width if the output is a terminal.
pub struct Terminal<'a> {
    pub(crate) stdout: &'a mut (dyn Write + Send),
    pub(crate) stderr: &'a mut (dyn Write + Send),
    pub(crate) columns: Option<usize>,
}

impl fmt::Debug for Terminal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal").field("columns", &self.columns).finish_non_exhaustive()
    }
}

impl<'a> Terminal<'a> {
    /// Outputs that are as wide as the process's terminal.
    pub fn new(stdout: &'a mut (dyn Write + Send), stderr: &'a mut (dyn Write + Send)) -> Self {
        let columns = terminal_size::terminal_size_of(io::stdout());
        Self { stdout, stderr, columns: columns.map(|(terminal_size::Width(columns), _)| columns.into()) }
    }

    /// The same outputs, for a part of a command.
    pub(crate) fn again(&mut self) -> Terminal<'_> {
        Terminal { stdout: self.stdout, stderr: self.stderr, columns: self.columns }
    }

    /// Prints a message to standard error.
    pub(crate) fn log(&mut self, line: impl Display) -> Result<()> {
        Ok(writeln!(self.stderr, "{line}")?)
    }

    /// Prints a line of data.
    pub(crate) fn print(&mut self, line: impl Display) -> Result<()> {
        Ok(writeln!(self.stdout, "{line}")?)
    }

    /// Prints JSON as a line of data.
    pub(crate) fn print_json(&mut self, json: &str) -> Result<()> {
        self.print(json_line(json))
    }

    pub(crate) fn table(&self, titles: &[&'static str]) -> TextTable {
        TextTable::new(titles, self.columns)
    }

    pub(crate) fn rows(&mut self, table: &mut TextTable, rows: &[Vec<String>]) -> Result<()> {
        Ok(table.print(self.stdout, rows)?)
    }

    /// Prints the cost of an operator's command to standard error.
    pub(crate) fn log_cost(&mut self, cost: Cost) -> Result<()> {
        self.log(format_args!("{}, {}", cost.of_read(), cost.of_write()))
    }

    /// Prints names and values, one pair per line.
    pub(crate) fn pairs(&mut self, pairs: &[(&str, String)]) -> Result<()> {
        let widest = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        let line = |(name, value): &(&str, String)| format!("{name:<widest$}  {}", plain(value));
        pairs.iter().map(line).try_for_each(|line| self.print(line.trim_end()))
    }
}
