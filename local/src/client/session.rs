//! The session of a command: the API that it asks, and the terminal that it prints to.
//!
//! Only data goes to standard output. Other messages go to standard error.

use std::fmt::Display;
use std::io::Write;

use lately_client::{Answer, Operation, Response};
use serde_json::value::RawValue;

use crate::client::access::{Access, Api, FEW};
use crate::client::failure::Failure;
use crate::client::text::{json_line, plain};
use crate::client::text_table::TextTable;
use crate::client::view::View;

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

impl<'a> Terminal<'a> {
    pub(crate) fn open(self, access: Access) -> Result<Session<'a>, Failure> {
        let Access { address, token, json, cost } = access;
        Ok(Session { api: Api::at(address, &token, FEW)?, json, cost, terminal: self })
    }
}

impl Session<'_> {
    /// Sends an operation. Prints the response's cost if the command has `--cost`.
    pub(crate) async fn ask<T>(
        &mut self,
        operation: impl FnOnce(&mut Api) -> Operation<T>,
    ) -> Result<Answer<T>, Failure> {
        let operation = operation(&mut self.api);
        let answer = self.api.ask(operation).await?;
        self.log_cost(&answer.response)?;
        Ok(answer)
    }

    /// Sends an operation and prints its response: with `--json` as it is, else as the view says.
    pub(crate) async fn show<T>(
        &mut self,
        operation: impl FnOnce(&mut Api) -> Operation<T>,
        view: View,
    ) -> Result<(), Failure> {
        let response = if self.json {
            self.ask(|api| operation(api).reading::<Box<RawValue>>()).await?.response
        } else {
            self.ask(operation).await?.response
        };
        self.print_response(&response, view)
    }

    /// Prints a response: with `--json` as it is, else as the view says.
    pub(crate) fn print_response(&mut self, response: &Response, view: View) -> Result<(), Failure> {
        if self.json {
            return self.print_body(response);
        }
        view.print(self, &serde_json::from_slice(&response.body)?)
    }

    /// Sends an operation and prints its response: with `--json` as it is, else as `print` prints its value.
    pub(crate) async fn show_by<T>(
        &mut self,
        operation: impl FnOnce(&mut Api) -> Operation<T>,
        print: impl FnOnce(&mut Self, T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.json {
            let answer = self.ask(|api| operation(api).reading::<Box<RawValue>>()).await?;
            return self.print_body(&answer.response);
        }
        let answer = self.ask(operation).await?;
        print(self, answer.value)
    }

    pub(crate) fn log_cost(&mut self, response: &Response) -> Result<(), Failure> {
        match response.header("lately-cost") {
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

    /// Prints the body of a response as a line of data, if it has one.
    pub(crate) fn print_body(&mut self, response: &Response) -> Result<(), Failure> {
        if response.body.is_empty() { Ok(()) } else { self.print_json(&response.text()) }
    }

    pub(crate) fn table(&self, titles: &[&'static str]) -> TextTable {
        TextTable::new(titles, self.terminal.columns)
    }

    pub(crate) fn rows(&mut self, table: &mut TextTable, rows: &[Vec<String>]) -> Result<(), Failure> {
        Ok(table.print(self.terminal.stdout, rows)?)
    }

    /// Prints names and values, one pair per line.
    pub(crate) fn pairs(&mut self, pairs: &[(&str, String)]) -> Result<(), Failure> {
        let widest = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        let line = |(name, value): &(&str, String)| format!("{name:<widest$}  {}", plain(value));
        pairs.iter().map(line).try_for_each(|line| self.print(line.trim_end()))
    }
}
