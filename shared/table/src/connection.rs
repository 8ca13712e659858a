//! A program's connection to a table: it begins operations on the table, and adds up their price.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use lately_keys::Place;

use crate::ambient::Ambient;
use crate::call::Table;
use crate::cost::{Meter, Tally};
use crate::limits::ATTEMPTS;

/// A table, with the client, the clocks and the time that operations on the table use.
///
/// The client must not retry by itself: [`Table`] does, and knows which attempts are ambiguous.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The table as every operation uses it. Its meter adds up the figures of all operations.
    table: Table,
    budget: Duration,
}

impl Connection {
    /// A connection to a table, with a budget of time for each operation.
    pub fn new(client: Client, name: impl Into<String>, ambient: impl Ambient, budget: Duration) -> Self {
        let table = Table {
            client,
            name: name.into().into(),
            key_names: Place::Table.attributes().map(Into::into),
            meter: Arc::default(),
            ambient: Arc::new(ambient),
            deadline: Duration::MAX,
            max_attempts: Some(ATTEMPTS),
            gives_way: false,
        };
        Self { table, budget }
    }

    /// A connection to a table whose key has other attributes than `pk` and `sk`.
    pub fn with_key_names(self, pk: &str, sk: &str) -> Self {
        Self { table: Table { key_names: [pk.into(), sk.into()], ..self.table }, ..self }
    }

    /// Begins an operation.
    pub fn begin(&self) -> Table {
        self.begin_within(self.budget)
    }

    /// Begins an operation that has this much time.
    pub fn begin_within(&self, time: Duration) -> Table {
        self.begin_step_within(&self.table, time)
    }

    /// Begins an operation whose price is added to the price of another operation.
    pub fn begin_step(&self, whole: &Table) -> Table {
        self.begin_step_within(whole, self.budget)
    }

    /// Begins an operation that has this much time, and whose price is added to the price of another operation.
    pub fn begin_step_within(&self, whole: &Table, time: Duration) -> Table {
        let meter = Arc::new(Meter::part_of(Arc::clone(&whole.meter)));
        Table { meter, deadline: self.ambient().monotonic() + time, ..self.table.clone() }
    }

    /// The work of all finished operations since the tally was last read.
    pub fn take_tally(&self) -> Tally {
        self.table.meter.take()
    }

    /// The table's name.
    pub fn table_name(&self) -> &str {
        &self.table.name
    }

    /// The clocks and the random source.
    pub fn ambient(&self) -> &dyn Ambient {
        self.table.ambient()
    }
}
