//! Tables for people: aligned columns, each as wide as its widest cell.
//!
//! Rows may be printed in several batches, so a column's width only grows. The last column gets the rest of the
//! terminal's width.

use std::io::{self, Write};

use crate::text::{plain, shortened, width};

/// The text between two columns.
const GAP: &str = "  ";

/// The minimum width of the last column, however narrow the terminal is.
const LAST_COLUMNS: usize = 16;

/// A table that is being printed.
#[derive(Debug)]
pub(crate) struct TextTable {
    titles: Vec<&'static str>,
    widths: Vec<usize>,
    /// The width of the terminal, if the output is one.
    columns: Option<usize>,
    /// True once the titles are printed.
    begun: bool,
}

impl TextTable {
    pub(crate) fn new(titles: &[&'static str], columns: Option<usize>) -> Self {
        let widths = titles.iter().map(|title| width(title)).collect();
        Self { titles: titles.to_vec(), widths, columns, begun: false }
    }

    /// Prints rows with one cell per title. The titles are printed above the first row.
    pub(crate) fn print(&mut self, out: &mut dyn Write, rows: &[Vec<String>]) -> io::Result<()> {
        let rows: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(|cell| plain(cell)).collect()).collect();
        for row in &rows {
            for (widest, cell) in self.widths.iter_mut().zip(row) {
                *widest = width(cell).max(*widest);
            }
        }
        if !self.begun && !rows.is_empty() {
            self.begun = true;
            self.line(out, &self.titles)?;
        }
        rows.iter().try_for_each(|row| self.line(out, row))
    }

    fn line(&self, out: &mut dyn Write, row: &[impl AsRef<str>]) -> io::Result<()> {
        let Some((last, before)) = row.split_last() else { return Ok(()) };
        let mut line = String::new();
        for (cell, widest) in before.iter().map(AsRef::as_ref).zip(&self.widths) {
            let padding = " ".repeat(widest - width(cell));
            line.extend([cell, &padding, GAP]);
        }
        let remaining = self.columns.map(|columns| columns.saturating_sub(width(&line)).max(LAST_COLUMNS));
        line += &remaining.map_or(last.as_ref().into(), |remaining| shortened(last.as_ref(), remaining));
        writeln!(out, "{}", line.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(columns: Option<usize>, lots: &[&[[&str; 3]]]) -> String {
        let (mut table, mut out) = (TextTable::new(&["name", "n", "data"], columns), Vec::new());
        for lot in lots {
            let rows: Vec<_> = lot.iter().map(|row| row.map(str::to_owned).to_vec()).collect();
            table.print(&mut out, &rows).expect("memory takes it");
        }
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn columns_are_aligned_in_every_alphabet() {
        let out = printed(None, &[&[["ada", "1", "{}"], ["東京", "22", ""]], &[], &[["barbara", "3", "x"]]]);
        let expected = ["name  n   data", "ada   1   {}", "東京  22", "barbara  3   x", ""];
        assert_eq!(out, expected.join("\n"));
    }

    #[test]
    fn the_last_column_is_cut_and_control_characters_are_escaped() {
        let out = printed(Some(30), &[&[["a\u{1b}[2J", "1", "0123456789abcdefghij"]]]);
        assert_eq!(out.lines().nth(1), Some(r"a\u001b[2J  1  0123456789abcde…"));
        assert_eq!(printed(Some(30), &[]), "");
    }
}
