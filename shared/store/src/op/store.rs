//! The store: a connection to the table, and what a process remembers between operations.

use std::sync::Arc;

use lately_keys::{Generator, UnixMillis};
use lately_table::{Ambient, Connection, Tally, now};

use crate::op::memory::Memory;
use crate::settings::FeedSettings;

/// Lately's table. A clone is cheap; one store serves a whole process.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) inner: Arc<Inner>,
    pub(crate) feeds: FeedSettings,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) connection: Connection,
    pub(crate) generator: Generator,
    pub(crate) memory: Memory,
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

    /// The work of all finished operations of this store and its clones, since the tally was last taken.
    pub fn take_tally(&self) -> Tally {
        self.inner.connection.take_tally()
    }

    /// The table's name.
    pub fn table_name(&self) -> &str {
        self.inner.connection.table_name()
    }

    /// The store's clocks and random source.
    pub fn ambient(&self) -> &dyn Ambient {
        self.inner.connection.ambient()
    }
}
