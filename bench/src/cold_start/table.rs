//! The table that the functions find: the embedded engine on a port, with something in it.

use std::net::SocketAddr;
use std::time::Duration;

use lately_engine::{Engine, Options};
use lately_keys::table::ConsumerKey;
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

/// Two pages of a hundred.
const EVENTS: usize = 200;

/// How long ago they were: consumers and reports have settled with them.
const AGO: Duration = Duration::from_secs(3600);

/// A table on a port, for as long as this is there.
#[derive(Debug)]
pub(super) struct LocalTable {
    address: SocketAddr,
    _runtime: Runtime,
}

impl LocalTable {
    /// Starts it, and fills it.
    ///
    /// # Errors
    /// If there is no port, or what is to be in it is refused.
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
    let submission = Submission { may_import: true, ..Submission::new(topic.clone(), events) };
    store.op().write(submission).await?;
    let consumer = |name: &str| {
        Ok::<_, Box<dyn std::error::Error>>(ConsumerKey { topic: topic.clone(), name: name.parse()? })
    };
    let earliest = NewConsumer::parse(br#"{"start":"earliest"}"#)?;
    for name in ["nightly", "report"] {
        store.op().consumer(&consumer(name)?).put(&earliest).await?;
    }
    Ok(())
}
