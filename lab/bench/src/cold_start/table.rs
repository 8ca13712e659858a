//! The table that the functions call: the embedded engine on a port, with events and consumers in it.

use std::net::SocketAddr;
use std::time::Duration;

use lately_engine::{Engine, Options};
use lately_items::ConsumerKey;
use lately_keys::{Topic, UnixMillis};
use lately_kit::clock;
use lately_kit::world::World;
use lately_model::{NewConsumer, NewEvent, TopicChange};
use lately_rig::definition;
use lately_store::{Store, Submission};
use lately_table::Connection;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::Result;

/// The number of events: two pages of a hundred.
const EVENTS: usize = 200;

/// The age of the events: old enough that consumers and reports no longer wait for late ones.
const AGO: Duration = Duration::from_secs(3600);

/// A table on a port, until this value is dropped.
#[derive(Debug)]
pub(super) struct LocalTable {
    address: SocketAddr,
    _runtime: Runtime,
}

impl LocalTable {
    /// Starts the table and fills it.
    ///
    /// # Errors
    /// If no port is free, or a write is refused.
    pub(super) fn start() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let engine = Engine::memory(&Options::default())?;
        engine.create_table(definition(), "lately")?;
        runtime.block_on(fill(&Store::new(Connection::new(
            engine.client(),
            "lately",
            World::new(),
            Duration::from_secs(10),
        ))))?;
        let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0)))?;
        let address = listener.local_addr()?;
        runtime.spawn(async move { engine.serve(listener, std::future::pending()).await });
        Ok(Self { address, _runtime: runtime })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn fill(store: &Store) -> Result<()> {
    let topic: Topic = "posts".parse()?;
    store.op().topic(&topic).put(&TopicChange::parse(b"{}")?).await?;
    let at = u64::try_from((clock::unix_now() - AGO).as_millis())?;
    let event = |number| {
        Ok(NewEvent {
            event_type: "post.created".parse()?,
            actor: "ada".parse()?,
            subject: Some("repo:octo:hello".parse()?),
            data: Some(format!(r#"{{"title":"Post {number}","text":"{}"}}"#, "x".repeat(300)).parse()?),
            at: Some(UnixMillis::new(at)?),
        })
    };
    let events = (0..EVENTS).map(event).collect::<Result<Vec<_>>>()?;
    let submission = Submission { may_import: true, ..Submission::new(events) };
    store.op().topic(&topic).write(submission).await?;
    let consumer = |name: &str| {
        let name = name.parse()?;
        Result::Ok(ConsumerKey { topic: topic.clone(), name })
    };
    let earliest = NewConsumer::parse(br#"{"start":"earliest"}"#)?;
    for name in ["nightly", "report"] {
        store.op().consumer(&consumer(name)?).put(&earliest).await?;
    }
    Ok(())
}
