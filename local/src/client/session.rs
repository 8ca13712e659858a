//! The session of a command: the API that it asks, and the terminal that it prints to.
//!
//! Only data goes to standard output. Other messages go to standard error.

use std::fmt::Display;
use std::io::Write;

use lately_client::{Request, Response};
use lately_kit::log::COST_HEADER;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::client::ask::{Access, Api, FEW};
use crate::client::failure::Failure;
use crate::client::text::{json_line, plain};
use crate::client::text_table::TextTable;

/// The session of one command.
pub(crate) struct Session<'a> {
    pub(crate) api: Api,
    pub(crate) json: bool,
    pub(crate) cost: bool,
    pub(crate) terminal: Terminal<'a>,
}

/// The outputs of a command, and the terminal's width if the output is a terminal.
pub(crate) struct Terminal<'a> {
    pub(crate) stdout: &'a mut (dyn Write + Send),
    pub(crate) stderr: &'a mut (dyn Write + Send),
    pub(crate) columns: Option<usize>,
}

impl<'a> Session<'a> {
    pub(crate) fn open(access: Access, terminal: Terminal<'a>) -> Result<Self, Failure> {
        let (json, cost) = (access.json, access.cost);
        Ok(Self { api: Api::of(access, FEW)?, json, cost, terminal })
    }

    /// Sends a request. Prints the response's cost if the command has `--cost`.
    pub(crate) async fn ask(&mut self, call: &Request) -> Result<Response, Failure> {
        let reply = self.api.ask(call).await?;
        self.log_cost(&reply)?;
        Ok(reply)
    }

    /// Sends a request and prints its response, as `show` does.
    pub(crate) async fn ask_and_show<T: DeserializeOwned>(
        &mut self,
        call: &Request,
        print: impl FnOnce(&mut Self, T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let reply = self.ask(call).await?;
        self.show(&reply, print)
    }

    /// Prints a response: with `--json` as it is, else as `print` prints its value.
    pub(crate) fn show<T: DeserializeOwned>(
        &mut self,
        reply: &Response,
        print: impl FnOnce(&mut Self, T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.prints_json(reply)? { Ok(()) } else { print(self, read(reply)?) }
    }

    pub(crate) fn log_cost(&mut self, reply: &Response) -> Result<(), Failure> {
        match reply.header(COST_HEADER) {
            Some(cost) if self.cost => self.log(plain(cost)),
            _ => Ok(()),
        }
    }

    /// Prints a message to standard error.
    pub(crate) fn log(&mut self, line: impl Display) -> Result<(), Failure> {
        Ok(writeln!(self.terminal.stderr, "{line}")?)
    }

    /// Prints a line of data.
    pub(crate) fn print(&mut self, line: impl Display) -> Result<(), Failure> {
        Ok(writeln!(self.terminal.stdout, "{line}")?)
    }

    /// Prints JSON as a line of data.
    pub(crate) fn print_json(&mut self, json: &str) -> Result<(), Failure> {
        self.print(json_line(json))
    }

    /// Prints a response unchanged if the command has `--json`. True if it has.
    pub(crate) fn prints_json(&mut self, reply: &Response) -> Result<bool, Failure> {
        if self.json && !reply.body.is_empty() {
            self.print_json(&String::from_utf8_lossy(&reply.body))?;
        }
        Ok(self.json)
    }

    pub(crate) fn table(&self, titles: &[&'static str]) -> TextTable {
        TextTable::new(titles, self.terminal.columns)
    }

    pub(crate) fn rows(&mut self, table: &mut TextTable, rows: &[Vec<String>]) -> Result<(), Failure> {
        Ok(table.print(self.terminal.stdout, rows)?)
    }

    /// Prints a page of a list, and the cursor of the next page, if there is one.
    pub(crate) fn list(
        &mut self,
        titles: &[&'static str],
        rows: impl Iterator<Item = Vec<String>>,
        next: Option<String>,
    ) -> Result<(), Failure> {
        let mut table = self.table(titles);
        self.rows(&mut table, &rows.collect::<Vec<_>>())?;
        next.map_or(Ok(()), |next| self.log(format_args!("more: --cursor {}", plain(&next))))
    }

    /// Prints names and values, one pair per line.
    pub(crate) fn pairs(&mut self, pairs: &[(&str, String)]) -> Result<(), Failure> {
        let widest = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        let line = |(name, value): &(&str, String)| format!("{name:<widest$}  {}", plain(value));
        pairs.iter().map(line).try_for_each(|line| self.print(line.trim_end()))
    }
}

/// Parses a response's JSON.
pub(crate) fn read<'a, T: Deserialize<'a>>(reply: &'a Response) -> Result<T, Failure> {
    Ok(serde_json::from_slice(&reply.body)?)
}

/// The value as text; a dash for `None`.
pub(crate) fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}
