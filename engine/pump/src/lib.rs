//! Lambda's event-source mapping for a table's stream, inside the process.
//!
//! A [`Pump`] reads every shard of a stream and invokes a function, the [`Handler`], as its [`Mapping`] says.
//! Each shard has as many lanes as the mapping's `ParallelizationFactor`; a partition key's records are always
//! in the same lane, in order, and a lane has one invocation at work at most. Lanes and shards run side by
//! side. `batch.rs` says what follows when a batch fails, `response.rs` what counts as failing.
//!
//! What must hold:
//!
//! - **At least once.** A lane's checkpoint moves only past records that the function did, that the filter
//!   kept from it, or that were given up: those are in the [`Destination`] by then, if there is one.
//! - **In order.** No record of an item is delivered before every earlier one is settled.
//! - **From a seed.** Waiting is tokio's time, ages are the engine's, and every draw is a function of the seed:
//!   on a paused, single-threaded runtime the same seed, stream and function give the same deliveries.
//!
//! The faults of deliveries ([`PumpFaults`]) are set through the [`PumpHandle`], also while the pump runs.
//!
//! # Where it differs from Lambda
//!
//! - A [`Filter`] has equality, `prefix` and `exists` only: `template.yaml` uses no more.
//! - Records are delivered as soon as they are captured; Lambda polls a shard four times a second.
//! - A function runs for as long as it likes, and is never throttled: its own timeout is its own affair.
//! - Records that retention trims before they are done are counted and told of. Not so those that expired while
//!   no process ran on the directory: nothing is left that knows of them.
//! - A batch that was too old before its first invocation is kept with a `responseContext` of null.
//!
//! ```
//! # use lately_engine::{Attribute, Engine, KeyNames, Options, StreamView, TableDefinition};
//! use std::sync::{Arc, Mutex};
//!
//! use aws_sdk_dynamodb::types::AttributeValue;
//! use lately_pump::{Handler, Mapping, Pump, PumpOptions};
//!
//! # let engine = Engine::memory(&Options::default())?;
//! # let table = TableDefinition {
//! #     attributes: vec![Attribute { name: "pk".into(), kind: "S".into() }],
//! #     key: KeyNames { partition: "pk".into(), sort: None },
//! #     indexes: Vec::new(),
//! #     ttl_attribute: None,
//! #     stream: Some(StreamView::NewImage),
//! # };
//! # engine.create_table(&table, "lately")?;
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let events = Arc::new(Mutex::new(Vec::new()));
//! let seen = Arc::clone(&events);
//! let handler = Handler::new(move |event| {
//!     seen.lock().expect("nobody panics").push(event);
//!     async { Ok(String::new()) }
//! });
//! let stream = engine.stream("lately").expect("the table has one");
//! let pump = Pump::new(&stream, Mapping::new("Function", "Stream"), handler, None, PumpOptions::default());
//! let handle = pump.handle();
//! let running = tokio::spawn(pump.run());
//!
//! let put = engine.client().put_item().table_name("lately");
//! put.item("pk", AttributeValue::S("a".into())).send().await?;
//! handle.settled().await;
//! assert_eq!(events.lock().expect("nobody panics").len(), 1);
//!
//! handle.stop();
//! running.await??;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod backoff;
mod batch;
mod checkpoint;
mod destination;
mod failure;
mod fault;
mod filter;
mod handle;
mod handler;
mod identity;
mod lane;
pub mod limits;
mod mapping;
mod progress;
mod pump;
mod response;
mod state;

pub use checkpoint::Checkpoints;
pub use destination::Destination;
pub use failure::{BatchInfo, Condition, Failure, RequestContext, ResponseContext};
pub use fault::PumpFaults;
pub use filter::{Filter, FilterError};
pub use handle::PumpHandle;
pub use handler::{Handler, HandlerError};
pub use mapping::{Mapping, StartingPosition};
pub use progress::ShardStatistics;
pub use pump::{Pump, PumpOptions};
