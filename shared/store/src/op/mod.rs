//! `Op`: everything that one request needs from the store.
//!
//! An operation needs the store, a price meter, a deadline, and the topics that the caller may see. All of them belong
//! to the request, so one value carries them. Operations are methods of their subject:
//!
//! ```
//! # use lately_keys::Topic;
//! # use lately_model::EventQuery;
//! # use lately_store::{Store, TimelineError};
//! # async fn example(store: Store, topic: Topic) -> Result<(), TimelineError> {
//! let op = store.op();
//! let page = op.topic(&topic).latest(&EventQuery::default()).await?;
//! println!("{} events for {} read units", page.events.len(), op.cost().read_units);
//! # Ok(())
//! # }
//! ```
//!
//! The meter also counts failed operations, so a failed request has a price too. A clone of an `Op` belongs to the same
//! request: it shares the meter and the deadline.

mod memory;
pub(crate) mod store;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lately_items::QuotaHolder;
use lately_keys::{EventId, Topic, UnixMillis};
use lately_model::{RequestsPerMinute, Revision};
use lately_table::{Ambient, Cost, Table, TableError, entropy_u64, tick};

use crate::limits::DIRECTORY_AGE;
use crate::op::memory::Memory;
use crate::op::store::Store;

/// The handle of one request on the table. [`Store::op`] makes one.
#[derive(Clone, Debug)]
pub struct Op {
    pub(crate) store: Store,
    /// The table, with the request's meter and deadline.
    pub(crate) table: Table,
    /// The only topics that the caller may see; `None` if the caller may see all.
    pub(crate) topics: Option<Arc<[Topic]>>,
    /// The caller among whose reads and open streams a page that waits counts; `None` if no caller waits.
    pub(crate) waiter: Option<Arc<Waiter>>,
    /// The number of items that the caller was shown, once it is known.
    shown: Arc<OnceLock<u64>>,
    /// The greatest age of directory pages that are not read again.
    pub(crate) directory_age: Duration,
}

/// The caller whose pages wait.
#[derive(Clone, Debug)]
pub struct Waiter {
    /// The holder of the open streams and waiting pages.
    pub holder: QuotaHolder,
    /// The reads that the caller may make a minute, if they are limited.
    pub reads: Option<RequestsPerMinute>,
}

impl Store {
    /// The handle of one request, with the time that the connection grants one operation.
    pub fn op(&self) -> Op {
        Op::new(self.clone(), self.inner.connection.begin())
    }

    /// The handle of one request with this much time.
    pub fn op_within(&self, time: Duration) -> Op {
        Op::new(self.clone(), self.inner.connection.begin_within(time))
    }
}

impl Op {
    fn new(store: Store, table: Table) -> Self {
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
        Self { table: self.store.inner.connection.begin_step(&self.table), ..self.clone() }
    }

    /// As [`Op::step`], with this much time.
    pub fn step_within(&self, time: Duration) -> Self {
        Self { table: self.store.inner.connection.begin_step_within(&self.table, time), ..self.clone() }
    }

    /// A new id with the current time.
    pub(crate) fn new_id(&self) -> Result<EventId, TableError> {
        let ambient = self.ambient();
        let clock = tick(ambient).map_err(TableError::unavailable)?;
        let id = self.store.inner.generator.next(clock, 0.into(), entropy_u64(ambient));
        id.map_err(TableError::unavailable)
    }

    /// The same request, but it retries calls until the deadline, because no client waits for the response.
    pub(crate) fn until_deadline(&self) -> Self {
        Self { table: self.table.clone().until_deadline(), ..self.clone() }
    }

    /// The same request, whose calls to a busy key range fail after some attempts.
    pub(crate) fn giving_way(&self) -> Self {
        Self { table: self.table.clone().giving_way(), ..self.clone() }
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

    /// The current time, by the store's wall clock.
    pub fn now(&self) -> UnixMillis {
        self.store.now()
    }

    pub(crate) fn ambient(&self) -> &dyn Ambient {
        self.store.ambient()
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.store.inner.memory
    }

    /// The first revision of a record that is created now.
    pub(crate) fn first_revision(&self) -> Revision {
        Revision::first(self.ambient().since_epoch())
    }
}
