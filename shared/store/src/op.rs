//! `Op`: everything that one request needs from the store.
//!
//! An operation needs the store, a price meter, a deadline, and the topics that the caller may see. All of them belong
//! to the request, so one value carries them. Operations are methods of their subject:
//!
//! ```
//! # use lately_keys::Topic;
//! # use lately_model::EventQuery;
//! # use lately_store::{LatestError, Store};
//! # async fn example(store: Store, topic: Topic) -> Result<(), LatestError> {
//! let op = store.op();
//! let page = op.topic(&topic).latest(&EventQuery::default()).await?;
//! println!("{} events for {} read units", page.events.len(), op.cost().read_units);
//! # Ok(())
//! # }
//! ```
//!
//! The meter also counts failed operations, so a failed request has a price too. A clone of an `Op` belongs to the same
//! request: it shares the meter and the deadline.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lately_keys::table::{ConsumerKey, IssueKey, QuotaHolder, QuotaKind, RepositoryKey};
use lately_keys::{Source, Topic, UnixMillis, User};
use lately_model::{RequestsPerMinute, Revision};
use lately_table::{Ambient, Cost, Table};

use crate::consumer::ConsumerHandle;
use crate::erasure::ErasuresHandle;
use crate::feed::FeedHandle;
use crate::follow::UserHandle;
use crate::issue::{IssueHandle, IssuesHandle, RepositoryHandle};
use crate::issuer_keys::IssuerKeysHandle;
use crate::limits::DIRECTORY_AGE;
use crate::memory::Memory;
use crate::quota::QuotaHandle;
use crate::record::{DocumentKey, RecordHandle};
use crate::run::{Run, RunHandle, RunsHandle};
use crate::session::SessionsHandle;
use crate::source::SourceHandle;
use crate::store::Store;
use crate::timeline::TimelineHandle;
use crate::topic::{TopicHandle, TopicsHandle};
use crate::wait::Waiter;

/// The handle of one request on the table. [`Store::op`] makes one.
#[derive(Clone, Debug)]
pub struct Op {
    pub(crate) store: Store,
    /// The table, with the request's meter and deadline.
    pub(crate) table: Table,
    /// The only topics that the caller may see; `None` if the caller may see all.
    topics: Option<Arc<[Topic]>>,
    /// The caller among whose reads and open streams a page that waits counts; `None` if no caller waits.
    pub(crate) waiter: Option<Arc<Waiter>>,
    /// The number of items that the caller was shown, once it is known.
    shown: Arc<OnceLock<u64>>,
    /// The greatest age of directory pages that are not read again.
    pub(crate) directory_age: Duration,
}

impl Op {
    pub(crate) fn new(store: Store, table: Table) -> Self {
        Self { store, table, topics: None, waiter: None, shown: Arc::default(), directory_age: DIRECTORY_AGE }
    }

    /// The same request, for a caller who may see only these topics. `None` stands for all topics.
    pub fn limited_to(self, topics: Option<&[Topic]>) -> Self {
        Self { topics: topics.map(Into::into), ..self }
    }

    /// The same request, whose pages that wait count among this caller's reads and open streams.
    pub fn waiting_as(self, waiter: Waiter) -> Self {
        Self { waiter: Some(Arc::new(waiter)), ..self }
    }

    /// The same request with its own deadline, as far away as the store grants one operation. Work that takes longer
    /// than one request is made of such steps. The step's price is added to this request's price when the step is
    /// dropped.
    pub fn step(&self) -> Self {
        Self { table: self.store.step_of(&self.table), ..self.clone() }
    }

    /// As [`Op::step`], with this much time. The step's items are not shown to the caller yet.
    pub fn step_within(&self, time: Duration) -> Self {
        Self { table: self.store.step_within(&self.table, time), shown: Arc::default(), ..self.clone() }
    }

    /// The same request, which uses directory pages of up to this age.
    pub(crate) fn with_directory_age(self, directory_age: Duration) -> Self {
        Self { directory_age, ..self }
    }

    /// The same request, but it retries calls until the deadline, because no client waits for the response.
    pub(crate) fn until_deadline(&self) -> Self {
        Self { table: self.table.clone().until_deadline(), ..self.clone() }
    }

    /// The cost of the request so far. On a page of several topics, for a caller who may not see all topics, the count
    /// of items has only the items that the caller was shown.
    pub fn cost(&self) -> Cost {
        let cost = self.table.meter().total();
        match self.topics.as_ref().and(self.shown.get()) {
            Some(&items) => Cost { items, ..cost },
            None => cost,
        }
    }

    /// The number of items that a page of several topics has shown to a caller who may not see all topics.
    pub fn shown(&self) -> u64 {
        self.shown.get().copied().unwrap_or_default()
    }

    /// Notes the number of items that the caller is shown.
    pub(crate) fn show(&self, items: usize) {
        self.shown.get_or_init(|| items as u64);
    }

    /// The only topics that the caller may see; `None` if the caller may see all.
    pub(crate) fn allowed_topics(&self) -> Option<&[Topic]> {
        self.topics.as_deref()
    }

    /// The current time, by the store's wall clock.
    pub fn now(&self) -> UnixMillis {
        self.store.now()
    }

    pub(crate) fn ambient(&self) -> &dyn Ambient {
        self.store.ambient()
    }

    pub(crate) fn memory(&self) -> &Memory {
        self.store.memory()
    }

    /// The first revision of a record that is created now.
    pub(crate) fn first_revision(&self) -> Revision {
        Revision::first(self.ambient().since_epoch())
    }

    /// A topic and its events.
    pub const fn topic<'a>(&'a self, topic: &'a Topic) -> TopicHandle<'a> {
        TopicHandle { op: self, topic }
    }

    /// All topics.
    pub const fn topics(&self) -> TopicsHandle<'_> {
        TopicsHandle { op: self }
    }

    /// The timeline of a source.
    pub const fn timeline<'a>(&'a self, source: &'a Source) -> TimelineHandle<'a> {
        TimelineHandle { op: self, source }
    }

    /// The feed of a user.
    pub const fn feed<'a>(&'a self, user: &'a User) -> FeedHandle<'a> {
        FeedHandle { op: self, user }
    }

    /// A user and the sources that the user follows.
    pub const fn user<'a>(&'a self, user: &'a User) -> UserHandle<'a> {
        UserHandle { op: self, user }
    }

    /// A source and its followers.
    pub const fn source<'a>(&'a self, source: &'a Source) -> SourceHandle<'a> {
        SourceHandle { op: self, source }
    }

    /// A consumer of a topic.
    pub const fn consumer<'a>(&'a self, consumer: &'a ConsumerKey) -> ConsumerHandle<'a> {
        ConsumerHandle { op: self, consumer }
    }

    /// The runs of a consumer that produces reports.
    pub const fn runs<'a>(&'a self, consumer: &'a ConsumerKey) -> RunsHandle<'a> {
        RunsHandle { op: self, consumer }
    }

    /// One run.
    pub const fn run<'a>(&'a self, run: &'a Run) -> RunHandle<'a> {
        RunHandle { op: self, run }
    }

    /// The profile of a user, or the settings of an application.
    pub const fn record<'a, K: DocumentKey>(&'a self, key: &'a K) -> RecordHandle<'a, K> {
        RecordHandle { op: self, key }
    }

    /// The keys of an issuer of JWTs, as it is configured.
    pub const fn issuer_keys<'a>(
        &'a self,
        issuer: &'a str,
        jwks_uri: Option<&'a str>,
    ) -> IssuerKeysHandle<'a> {
        IssuerKeysHandle { op: self, issuer, jwks_uri }
    }

    /// All sessions.
    pub const fn sessions(&self) -> SessionsHandle<'_> {
        SessionsHandle { op: self }
    }

    /// All erasures.
    pub const fn erasures(&self) -> ErasuresHandle<'_> {
        ErasuresHandle { op: self }
    }

    /// A quota of a caller with this limit.
    pub const fn quota<'a>(
        &'a self,
        holder: &'a QuotaHolder,
        kind: QuotaKind,
        limit: RequestsPerMinute,
    ) -> QuotaHandle<'a> {
        QuotaHandle { op: self, holder, kind, limit: limit.get() }
    }

    /// A repository and its issues.
    pub const fn repository<'a>(&'a self, repository: &'a RepositoryKey) -> RepositoryHandle<'a> {
        RepositoryHandle { op: self, repository }
    }

    /// One issue.
    pub const fn issue<'a>(&'a self, key: &'a IssueKey) -> IssueHandle<'a> {
        IssueHandle { op: self, key }
    }

    /// The issues of all repositories.
    pub const fn issues(&self) -> IssuesHandle<'_> {
        IssuesHandle { op: self }
    }
}
