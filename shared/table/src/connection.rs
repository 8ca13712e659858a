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
    client: Client,
    name: Arc<str>,
    /// The names of the attributes of the table's key.
    key_names: [Arc<str>; 2],
    ambient: Arc<dyn Ambient>,
    budget: Duration,
    meter: Arc<Meter>,
}

impl Connection {
    /// A connection to a table, with a budget of time for each operation.
    pub fn new(client: Client, name: impl Into<String>, ambient: impl Ambient, budget: Duration) -> Self {
        let name = name.into().into();
        let key_names = [Place::Table.pk().into(), Place::Table.sk().into()];
        Self { client, name, key_names, ambient: Arc::new(ambient), budget, meter: Arc::default() }
    }

    /// A connection to a table whose key has other attributes than `pk` and `sk`.
    pub fn with_key_names(self, pk: &str, sk: &str) -> Self {
        Self { key_names: [pk.into(), sk.into()], ..self }
    }

    /// Begins an operation.
    pub fn begin(&self) -> Table {
        self.begin_within(self.budget)
    }

    /// Begins an operation that has this much time.
    pub fn begin_within(&self, time: Duration) -> Table {
        self.begin_part(time, &self.meter)
    }

    /// Begins an operation whose price is added to the price of another operation.
    pub fn begin_step(&self, whole: &Table) -> Table {
        self.begin_step_within(whole, self.budget)
    }

    /// Begins an operation that has this much time, and whose price is added to the price of another operation.
    pub fn begin_step_within(&self, whole: &Table, time: Duration) -> Table {
        self.begin_part(time, &whole.meter)
    }

    fn begin_part(&self, time: Duration, whole: &Arc<Meter>) -> Table {
        let Self { client, name, key_names, ambient, .. } = self;
        Table {
            client: client.clone(),
            name: Arc::clone(name),
            key_names: key_names.clone(),
            meter: Arc::new(Meter::part_of(Arc::clone(whole))),
            ambient: Arc::clone(ambient),
            deadline: ambient.monotonic() + time,
            max_attempts: Some(ATTEMPTS),
        }
    }

    /// The work of all finished operations since the tally was last read.
    pub fn take_tally(&self) -> Tally {
        self.meter.take()
    }

    /// The table's name.
    pub fn table_name(&self) -> &str {
        &self.name
    }

    /// The clocks and the random source.
    pub fn ambient(&self) -> &dyn Ambient {
        &*self.ambient
    }
}
