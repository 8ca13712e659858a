//! The rig of the tests and the benches: an engine with the table of `template.yaml`, simulated time, and seeds.
//!
//! A test runs on a tokio runtime whose clock is paused: time passes only while every task waits. The engine, the store
//! and every simulated process take their time from that clock, and their random numbers from a seed. So a run is the
//! same on every machine, and a test of a month takes a second.
//!
//! ```
//! # use lately_rig::{World, connection, engine, simulate};
//! simulate(async {
//!     let world = World::new(7);
//!     let engine = engine(&world, Default::default());
//!     let table = connection(engine.client(), world.process()).begin();
//!     assert_eq!(table.meter().total().calls, 0);
//! });
//! ```

mod seeds;
mod world;

use std::sync::LazyLock;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use lately_engine::{Engine, Options, TableDefinition};
use lately_table::{Ambient, Connection};
use lately_template::Template;

pub use seeds::{Seed, are_named, for_each_seed, seeds};
pub use world::{Process, START, World};

/// The table's name.
pub const TABLE: &str = "lately";

/// The time that one operation of a connection may take.
pub const BUDGET: Duration = Duration::from_secs(8);

/// The table as `template.yaml` declares it.
///
/// # Panics
/// If the template cannot be read.
pub fn definition() -> &'static TableDefinition {
    static DEFINITION: LazyLock<TableDefinition> = LazyLock::new(|| {
        let template =
            Template::parse(include_str!("../../../template.yaml")).expect("the template is valid");
        template.table().expect("the template has a table")
    });
    &DEFINITION
}

/// An engine with the table, in a world's time.
///
/// # Panics
/// If the engine cannot be started.
pub fn engine(world: &World, options: Options) -> Engine {
    engine_of(world, definition(), TABLE, options)
}

/// An engine with a table of another design, in a world's time.
///
/// # Panics
/// If the engine cannot be started.
pub fn engine_of(world: &World, definition: &TableDefinition, table: &str, options: Options) -> Engine {
    let engine =
        Engine::memory(&Options { clock: world.clock(), ..options }).expect("an engine in memory starts");
    engine.create_table(definition, table).expect("the engine has no table yet");
    engine
}

/// A connection to the table.
pub fn connection(client: Client, ambient: impl Ambient) -> Connection {
    Connection::new(client, TABLE, ambient, BUDGET)
}

/// Runs a future in simulated time.
///
/// # Panics
/// If the runtime cannot be built.
pub fn simulate<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().expect("the runtime starts").block_on(future)
}
