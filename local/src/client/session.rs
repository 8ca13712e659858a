//! The session of a command: the API that it asks, and the terminal that it prints to.

use lately_client::{Answer, Lately, Operation, Response};
use reqwest::StatusCode;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::client::access::{Access, FEW};
use crate::client::view::View;
use crate::failure::Result;
use crate::terminal::Terminal;
use crate::text::plain;

/// The session of one command.
pub(crate) struct Session<'a> {
    pub(crate) api: Lately,
    pub(crate) json: bool,
    pub(crate) cost: bool,
    pub(crate) terminal: Terminal<'a>,
}

impl<'a> Session<'a> {
    pub(crate) fn open(access: Access, terminal: Terminal<'a>) -> Result<Self> {
        let Access { address, json, cost } = access;
        Ok(Self { api: address.client(FEW)?, json, cost, terminal })
    }

    /// Sends an operation. Prints the response's cost if the command has `--cost`.
    pub(crate) async fn ask<T>(&mut self, operation: Operation<T>) -> Result<Answer<T>> {
        let answer = operation.answer().await?;
        self.log_cost(&answer.response)?;
        Ok(answer)
    }

    /// Sends an operation; `None` if the API does not find what the operation names.
    pub(crate) async fn find<T>(&mut self, operation: Operation<T>) -> Result<Option<Answer<T>>> {
        match self.ask(operation).await {
            Err(failure) if failure.has_status(StatusCode::NOT_FOUND) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Sends an operation and prints its response: with `--json` as it is, else as the view says.
    pub(crate) async fn show<T>(&mut self, operation: Operation<T>, view: View<'_>) -> Result<()> {
        let response = match self.json {
            true => self.ask(operation.reading::<IgnoredAny>()).await?.response,
            false => self.ask(operation).await?.response,
        };
        self.print_response(&response, view)
    }

    /// Prints a response: with `--json` as it is, else as the view says.
    pub(crate) fn print_response(&mut self, response: &Response, view: View<'_>) -> Result<()> {
        match view {
            View::Done(_) => view.print(&mut self.terminal, &Value::Null),
            _ if self.json => self.print_body(response),
            _ => view.print(&mut self.terminal, &serde_json::from_slice(&response.body)?),
        }
    }

    pub(crate) fn log_cost(&mut self, response: &Response) -> Result<()> {
        match response.header("lately-cost") {
            Some(cost) if self.cost => self.terminal.log(plain(cost)),
            _ => Ok(()),
        }
    }

    /// Prints the body of a response as a line of data, if it has one.
    pub(crate) fn print_body(&mut self, response: &Response) -> Result<()> {
        if response.body.is_empty() { Ok(()) } else { self.terminal.print_json(&response.text()) }
    }
}
