//! A response with its whole body.

use std::borrow::Cow;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{ETAG, HeaderMap, HeaderName, RETRY_AFTER};
use serde::Deserialize;

use crate::Result;
use crate::cost::Cost;
use crate::problem::Problem;

/// A response with its whole body.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// Reads the body of a success.
    ///
    /// # Errors
    /// If the body is not such JSON.
    pub fn json<'a, T: Deserialize<'a>>(&'a self) -> Result<T> {
        // A response without content is read like null.
        let body = if self.body.is_empty() { b"null" } else { &*self.body };
        serde_json::from_slice(body).map_err(|error| {
            let problem = Problem::foreign(self.status.as_u16(), &error);
            Box::new(Problem { headers: self.headers.clone(), ..*problem })
        })
    }

    /// The text of the body.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// A header's value.
    pub fn header(&self, name: impl AsRef<str>) -> Option<&str> {
        self.headers.get(name.as_ref())?.to_str().ok()
    }

    /// The revision of a record.
    pub fn revision(&self) -> Option<String> {
        self.header(ETAG).map(|tag| tag.replace('"', ""))
    }

    /// The price.
    pub fn cost(&self) -> Cost {
        Cost::of(&self.headers)
    }

    /// The response if its status is 2xx, else its problem.
    ///
    /// # Errors
    /// If the status is not 2xx.
    pub fn success(self) -> Result<Self> {
        if self.status.is_success() { Ok(self) } else { Err(Box::new(self.problem())) }
    }

    /// The problem that a response says which is not 2xx.
    pub fn problem(&self) -> Problem {
        let problem = Problem::of_body(self.status.as_u16(), &self.body);
        // The gateway names a request in a header of its own.
        let is_id = |name: &HeaderName| name.as_str().replace('-', "").ends_with("requestid");
        let id = self.headers.iter().find(|(name, _)| is_id(name)).and_then(|(_, id)| id.to_str().ok());
        let seconds = self.header(RETRY_AFTER).and_then(|value| value.parse().ok());
        Problem {
            request_id: id.map(str::to_owned).or(problem.request_id),
            retry_after: seconds.map(Duration::from_secs),
            revision: self.revision(),
            cost: self.cost(),
            headers: self.headers.clone(),
            ..problem
        }
    }
}
