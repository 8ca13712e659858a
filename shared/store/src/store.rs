//! The store: a connection to the table, and what a process remembers between operations.

use std::sync::Arc;
use std::time::Duration;

use lately_keys::{Generator, UnixMillis};
use lately_table::{Ambient, Connection, Table, Tally, now};

use crate::memory::Memory;
use crate::op::Op;
use crate::settings::FeedSettings;

/// Lately's table. A clone is cheap; one store serves a whole process.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
    feeds: FeedSettings,
}

#[derive(Debug)]
struct Inner {
    connection: Connection,
    generator: Generator,
    memory: Memory,
}

impl Store {
    /// A store of a table.
    pub fn new(connection: Connection) -> Self {
        let inner = Inner { connection, generator: Generator::new(), memory: Memory::new() };
        Self { inner: Arc::new(inner), feeds: FeedSettings::default() }
    }

    /// The same store, with other settings for feeds.
    pub fn with_feeds(self, feeds: FeedSettings) -> Self {
        Self { feeds, ..self }
    }

    /// The current time, by the store's wall clock.
    pub fn now(&self) -> UnixMillis {
        now(self.ambient())
    }

    /// The handle of one request, with the time that the connection grants one operation.
    pub fn op(&self) -> Op {
        Op::new(self.clone(), self.inner.connection.begin())
    }

    /// The handle of one request with this much time.
    pub fn op_within(&self, time: Duration) -> Op {
        Op::new(self.clone(), self.inner.connection.begin_within(time))
    }

    /// A part of an operation, with its own deadline.
    pub(crate) fn step_of(&self, whole: &Table) -> Table {
        self.inner.connection.begin_step(whole)
    }

    /// A part of an operation, with this much time.
    pub(crate) fn step_within(&self, whole: &Table, time: Duration) -> Table {
        self.inner.connection.begin_step_within(whole, time)
    }

    /// The work of all finished operations of this store and its clones, since the tally was last taken.
    pub fn take_tally(&self) -> Tally {
        self.inner.connection.take_tally()
    }

    /// The table's name.
    pub fn table_name(&self) -> &str {
        self.inner.connection.table_name()
    }

    pub(crate) const fn feeds(&self) -> &FeedSettings {
        &self.feeds
    }

    /// The store's clocks and random source.
    pub fn ambient(&self) -> &dyn Ambient {
        self.inner.connection.ambient()
    }

    pub(crate) fn generator(&self) -> &Generator {
        &self.inner.generator
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.inner.memory
    }
}
