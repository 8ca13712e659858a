//! Measures fan-out in the program `lately` while one source writes many events at once.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use serde::Deserialize;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::connection::Connection;
use super::{BATCH, Result, SETTLED, TOPIC, batch, event, get, post, put, start};

/// The events that one source writes at once.
pub(super) const BULK: usize = 5_000;

/// The connections over which they are posted.
const WRITERS: usize = 5;

/// The numbers of the sources in the load, and the followers of these.
const BUSY: (usize, &str) = (0, "fan");
const QUIET: (usize, &str) = (1, "reader");

/// The pause between two looks at a feed.
const LOOK: Duration = Duration::from_millis(10);

/// The longest time that a measurement waits for a feed.
const LONGEST: Duration = Duration::from_secs(120);

/// The measured times.
pub(super) struct BulkTimes {
    /// From the answered post of another source, sent right after the bulk, until its follower's feed shows the event.
    pub(super) quiet: Duration,
    /// From the first post of the bulk until the feed of the source's follower shows all of its events.
    pub(super) all: Duration,
}

/// A page of a feed.
#[derive(Deserialize)]
struct Page {
    events: Vec<serde::de::IgnoredAny>,
    next: Option<String>,
}

/// Posts the bulk to a new process of the program, and an event of another source behind it.
pub(super) async fn measure(program: &Path) -> Result<BulkTimes> {
    let (_process, address) = start(program)?;
    let mut connection = Connection::open(address).await?;
    connection.send(put(TOPIC.to_owned(), "{}")).await?;
    for (number, follower) in [BUSY, QUIET] {
        connection.send(put(format!("/users/{follower}/following/actor:user-{number}"), "")).await?;
    }
    sleep(2 * SETTLED).await;
    let begun = Instant::now();
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let mut writer = Connection::open(address).await?;
        writers.spawn(async move {
            for _ in 0..BULK / BATCH / WRITERS {
                writer.send(post(&batch(BUSY.0))).await?;
            }
            Result::Ok(())
        });
    }
    while let Some(written) = writers.join_next().await {
        written??;
    }
    connection.send(post(&event(QUIET.0))).await?;
    let posted = Instant::now();
    timeout(LONGEST, until_shown(address, QUIET.1, 1)).await??;
    let quiet = posted.elapsed();
    timeout(LONGEST, until_shown(address, BUSY.1, BULK)).await??;
    Ok(BulkTimes { quiet, all: begun.elapsed() })
}

/// Waits until a feed shows a number of events.
async fn until_shown(address: SocketAddr, user: &str, events: usize) -> Result<()> {
    let mut connection = Connection::open(address).await?;
    loop {
        let mut shown = 0;
        let mut path = format!("/feeds/{user}?limit=200");
        loop {
            let body = connection.begin(get(path)).await?.into_body().collect().await?.to_bytes();
            let page: Page = serde_json::from_slice(&body)?;
            shown += page.events.len();
            match page.next {
                Some(next) if shown < events => path = format!("/feeds/{user}?limit=200&cursor={next}"),
                _ => break,
            }
        }
        if shown >= events {
            return Ok(());
        }
        // A look at a large feed takes a while itself, and the program's processors are the load's, too.
        sleep(LOOK.max(Duration::from_millis(events as u64 / 10))).await;
    }
}
