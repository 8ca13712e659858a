//! Records: profiles, settings and issues. Each has a revision, and a write names the revision that it replaces, so
//! that no update is lost.
//!
//! The client repeats no such write after a failure that leaves open whether it was done (503, or no response): read
//! the record to know.

use lately_model::Issue as IssueView;
use reqwest::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::operation::Operation;
use crate::place::Place;
use crate::query::RecordQuery;
use crate::request::Request;
use crate::response::Response;
use crate::transport::Transport;

/// A record's value with its revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Versioned<T> {
    /// The value.
    pub value: T,
    /// The revision.
    pub revision: String,
}

impl<T: DeserializeOwned> Versioned<T> {
    fn of(response: &Response) -> Result<Self> {
        Ok(Self { value: response.json()?, revision: response.revision().unwrap_or_default() })
    }
}

/// A profile or the settings of an application: any JSON object.
#[derive(Clone, Debug)]
pub struct Document {
    pub(crate) place: Place,
}

impl Document {
    /// Reads the record.
    ///
    /// # Errors
    /// Like every call: `not-found` if there is none.
    pub fn get<T: DeserializeOwned>(&self, query: RecordQuery) -> Operation<Versioned<T>> {
        self.place.transport.call::<T>(self.place.to(Method::GET, &[]).query(&query)).read_by(Versioned::of)
    }

    /// Creates the record, or replaces the given revision.
    ///
    /// # Errors
    /// Like every call: `revision-mismatch` if the record has another revision.
    pub fn put<T: Serialize + DeserializeOwned>(
        &self,
        value: &T,
        revision: Option<&str>,
    ) -> Operation<Versioned<T>> {
        let request = self.place.to(Method::PUT, &[]).json(value);
        let request = match revision {
            Some(revision) => request.if_match(revision),
            None => request.header("if-none-match", "*"),
        };
        self.place.transport.call::<T>(request).read_by(Versioned::of)
    }

    /// Deletes the given revision. Without a revision, only a record that does not exist is "deleted".
    pub fn delete(&self, revision: Option<&str>) -> Operation<()> {
        let request = revision.into_iter().fold(self.place.to(Method::DELETE, &[]), Request::if_match);
        self.place.transport.call(request)
    }

    /// Reads, changes and writes the record, and begins again if somebody else wrote meanwhile. `None`: no record yet.
    ///
    /// # Errors
    /// Like every call: `revision-mismatch` if somebody else wrote each time.
    pub async fn update<T: Serialize + DeserializeOwned + Send + 'static>(
        &self,
        mut change: impl FnMut(Option<T>) -> T,
    ) -> Result<Versioned<T>> {
        until_current(&self.place.transport, async || {
            let (value, revision) = match self.get(RecordQuery::CONSISTENT).await {
                Ok(Versioned { value, revision }) => (Some(value), Some(revision)),
                Err(problem) if problem.code == "not-found" => (None, None),
                Err(problem) => return Err(problem),
            };
            self.put(&change(value), revision.as_deref()).await
        })
        .await
    }
}

/// An issue of a repository.
#[derive(Clone, Debug)]
pub struct Issue {
    pub(crate) place: Place,
}

impl Issue {
    /// Reads the issue.
    pub fn get(&self, query: RecordQuery) -> Operation<IssueView> {
        self.place.transport.call(self.place.to(Method::GET, &[]).query(&query))
    }

    /// Changes the given revision of the issue ([`IssueChange`](lately_model::IssueChange), or anything with its JSON).
    ///
    /// # Errors
    /// Like every call: `revision-mismatch` if the issue has another revision.
    pub fn change(&self, change: &(impl Serialize + ?Sized), revision: u64) -> Operation<IssueView> {
        let request = self.place.to(Method::PATCH, &[]).json(change).if_match(&revision.to_string());
        self.place.transport.call(request)
    }

    /// Reads and changes the issue, and begins again if somebody else wrote meanwhile.
    ///
    /// # Errors
    /// Like every call: `revision-mismatch` if somebody else wrote each time.
    pub async fn update<C: Serialize>(&self, mut change: impl FnMut(&IssueView) -> C) -> Result<IssueView> {
        until_current(&self.place.transport, async || {
            let issue = self.get(RecordQuery::CONSISTENT).await?;
            self.change(&change(&issue), issue.revision.get()).await
        })
        .await
    }
}

/// Runs an update again while its revision is not the current one, at most as often as the client makes attempts.
async fn until_current<T>(transport: &Transport, mut update: impl AsyncFnMut() -> Result<T>) -> Result<T> {
    for attempt in 1.. {
        match update().await {
            Err(problem) if problem.code == "revision-mismatch" && attempt < transport.options.attempts => {}
            done => return done,
        }
        transport.pause(attempt, None).await;
    }
    unreachable!("the last attempt returns")
}
