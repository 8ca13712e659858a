//! Lambda's event-source mapping for a table's stream, inside the process.
//!
//! A [`Pump`] reads every shard of a stream and invokes a function, the [`Handler`], according to its [`Mapping`]. Each
//! shard has as many lanes as the mapping's `ParallelizationFactor`. The records of an item
//! are always in the same lane, in order, and a lane has at most one invocation under way. The items of a partition key
//! are in different lanes, as on AWS. Lanes and shards run concurrently. `batch.rs`
//! decides the step after a failed batch, `response.rs` which responses are failures.
//!
//! The pump guarantees:
//!
//! - **At least once.** A lane's checkpoint passes a record only if the function did it, the filter hid it from the
//!   function, or it was given up. A record that is given up is first put into the [`Destination`], if there is one.
//! - **In order.** No record of an item is delivered before every earlier one is settled.
//! - **Repeatable from a seed.** Waits use tokio's time, ages use the engine's clock, and every draw is a function of
//!   the seed. On a paused, single-threaded runtime the same seed, stream and function give the same deliveries.
//!
//! The faults of deliveries ([`PumpFaults`]) are set through the [`PumpHandle`], also while the pump runs.
//!
//! # Differences from Lambda
//!
//! - A [`Filter`] supports only equality, `prefix` and `exists`: `template.yaml` uses no others.
//! - Records are delivered as soon as they are captured. Lambda polls a shard four times a second.
//! - A function may run for any time, and is never throttled. A function that needs a timeout sets its own.
//! - The pump counts and logs when retention trims records before they are done. It cannot do so for records that
//!   expired while no process ran on the directory, because nothing of them remains.
//! - A batch that was too old before its first invocation is stored with a `responseContext` of null.
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
//! let stream = engine.stream("lately").expect("the table has a stream");
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
mod troubles;

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
pub use troubles::Troubles;
