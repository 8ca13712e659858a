//! Measures live streams of the program `lately`: the delay of events, and the price of open streams.
//!
//! The streams are read over HTTP, as by any client, in the process of this program. Each part has a new process of
//! `lately`, whose memory has not grown before.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::Method;
use hyper::body::Incoming;
use lately_bench::following;
use lately_bench::progress::Progress;
use lately_bench::report::{Cell, Report, Table};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::connection::{ApiRequest, Connection};
use super::{LoadOptions, Result, SETTLED, TOPIC, event, found, get, post, push_spread, put, start};

/// The streams of one topic. A port of the program has at most 400 connections, and posts need one of them.
const STREAMS: usize = 390;

/// The streams that one token opens: a caller may have 10.
const STREAMS_A_TOKEN: usize = 10;

/// The streams of as many topics.
const TOPICS: usize = 100;

/// The number of events with which delays are measured; and of those that are sent to [`STREAMS`] streams.
const EVENTS: usize = 300;
const SHARED_EVENTS: usize = 50;

/// The longest pause before an event, so that an event may come at any time between two looks.
const PAUSE_MILLIS: u64 = 200;

/// The time for which open streams are idle, first until their loops look once a second, then under measurement.
const CALM: Duration = Duration::from_secs(15);
const IDLE: Duration = Duration::from_secs(30);

/// Measures live streams.
///
/// # Errors
/// If the program cannot be started, or does not answer with a success.
pub(crate) fn report(LoadOptions { program }: &LoadOptions, progress: &Progress) -> Result<Report> {
    let program = found(program.as_ref())?;
    progress.expect(4);
    let mut table = Table::new("live", &["live streams of the program", "figure"]);
    let push = |name: String, cell: Cell| table.push([name.into(), cell]);
    tokio::runtime::Runtime::new()?.block_on(measure(&program, push, progress))?;
    let [topic, feed] = following::read_units_of_an_idle_hour(STREAMS);
    table.push([format!("{STREAMS} streams of an idle topic, read units an hour").into(), topic]);
    table.push([format!("{STREAMS} streams of an idle feed, read units an hour").into(), feed]);
    progress.done("an idle hour, simulated");
    Ok(Report { command: "cargo run -p bench --release -- live".to_owned(), tables: vec![table] })
}

async fn measure(program: &Path, mut push: impl FnMut(String, Cell), progress: &Progress) -> Result<()> {
    let (process, address) = start(program)?;
    let [of_topic, of_feed] = delays(address).await?;
    drop(process);
    push_spread(&mut push, "from the answered post to a topic's stream", of_topic);
    push_spread(&mut push, "from the answered post to the stream of a follower's feed", of_feed);
    progress.done("delays");

    let shared = format!("{STREAMS} streams of one topic");
    let topics = vec![TOPIC.to_owned(); STREAMS];
    let StreamsPrice { memory, processor, delays } = price(program, &topics, SHARED_EVENTS).await?;
    push(format!("{shared}, memory a stream"), memory);
    push(format!("{shared}, idle, of one processor"), processor);
    push_spread(&mut push, &format!("{shared}, from the answered post"), delays);
    progress.done(&shared);

    let single = format!("{TOPICS} streams of {TOPICS} topics");
    let topics: Vec<_> = (0..TOPICS).map(|number| format!("{TOPIC}-{number}")).collect();
    // The memory in which the topics were created is used again by the streams, so it says nothing here.
    let StreamsPrice { processor, .. } = price(program, &topics, 0).await?;
    push(format!("{single}, idle, of one processor"), processor);
    progress.done(&single);
    Ok(())
}

/// An open stream.
struct Stream {
    _connection: Connection,
    body: Incoming,
}

impl Stream {
    async fn open(address: SocketAddr, timeline: &str, token: &str) -> Result<Self> {
        let mut connection = Connection::of(address, token).await?;
        let body = connection.begin(get(format!("{timeline}/live"))).await?.into_body();
        Ok(Self { _connection: connection, body })
    }

    /// The time at which the next event comes. Each message is a chunk of the response.
    async fn event(&mut self) -> Result<Instant> {
        loop {
            let frame = self.body.frame().await.ok_or("a stream ended")??;
            let chunk = frame.into_data().unwrap_or_default();
            if chunk.starts_with(b"event: event\n") || chunk.starts_with(b"event: late\n") {
                return Ok(Instant::now());
            }
        }
    }
}

/// Posts an event at a random time, and returns when the post was answered.
async fn post_one(writer: &mut Connection) -> Result<Instant> {
    sleep(Duration::from_millis(fastrand::u64(..PAUSE_MILLIS))).await;
    writer.send(post(&event(0))).await?;
    Ok(Instant::now())
}

/// The token of a new session.
async fn new_token(writer: &mut Connection) -> Result<String> {
    let path = "/sessions".to_owned();
    let body = r#"{"scopes":["read"],"ttl_seconds":3600}"#.to_owned();
    let response = writer.begin(ApiRequest { method: Method::POST, path, body }).await?;
    let session: Value = serde_json::from_slice(&response.into_body().collect().await?.to_bytes())?;
    Ok(session["token"].as_str().ok_or("a session has a token")?.to_owned())
}

/// The delays of single events: in the stream of their topic, and in the stream of a follower's feed.
async fn delays(address: SocketAddr) -> Result<[Vec<Duration>; 2]> {
    let mut writer = Connection::open(address).await?;
    writer.send(put(TOPIC.to_owned(), "{}")).await?;
    writer.send(put("/users/reader/following/actor:user-0".to_owned(), "")).await?;
    sleep(2 * SETTLED).await;
    let mut topic = Stream::open(address, TOPIC, "dev").await?;
    let mut feed = Stream::open(address, "/feeds/reader", "dev").await?;
    let (mut of_topic, mut of_feed) = (Vec::new(), Vec::new());
    for _ in 0..EVENTS {
        let answered = post_one(&mut writer).await?;
        let (in_topic, in_feed) = tokio::try_join!(topic.event(), feed.event())?;
        of_topic.push(in_topic.saturating_duration_since(answered));
        of_feed.push(in_feed.saturating_duration_since(answered));
    }
    Ok([of_topic, of_feed])
}

/// The price of open streams.
struct StreamsPrice {
    /// The memory of one stream.
    memory: Cell,
    /// The processor time of all streams while nothing comes, as a share of one processor.
    processor: Cell,
    /// The delays of events in all streams.
    delays: Vec<Duration>,
}

/// Measures a stream of each of these topics, and the delays of a number of events; then all streams are of one topic.
async fn price(program: &Path, topics: &[String], events: usize) -> Result<StreamsPrice> {
    let (process, address) = start(program)?;
    let mut writer = Connection::open(address).await?;
    for topic in topics.iter().collect::<BTreeSet<_>>() {
        writer.send(put(topic.clone(), "{}")).await?;
    }
    let mut tokens = Vec::new();
    for _ in 0..topics.len().div_ceil(STREAMS_A_TOKEN) {
        tokens.push(new_token(&mut writer).await?);
    }
    drop(writer);
    sleep(CALM).await;
    let before = process.resident_bytes()?;
    let (mut streams, (coming, mut came)) = (JoinSet::new(), mpsc::unbounded_channel());
    for (number, topic) in topics.iter().enumerate() {
        let token = &tokens[number / STREAMS_A_TOKEN];
        let (mut stream, coming) = (Stream::open(address, topic, token).await?, coming.clone());
        streams.spawn(async move {
            loop {
                let event = stream.event().await;
                let is_over = event.is_err();
                if coming.send(event).is_err() || is_over {
                    return;
                }
            }
        });
    }
    sleep(CALM).await;
    let memory = process.resident_bytes()?.saturating_sub(before) / topics.len() as u64;
    let memory = Cell::Text(format!("{} KB", memory.div_ceil(1000)));
    let spent = process.processor_time()?;
    sleep(IDLE).await;
    let spent = process.processor_time()? - spent;
    let share = (spent.as_secs_f64() / IDLE.as_secs_f64() * 1e3).round() / 10.0;
    let processor = Cell::Text(format!("{share} %"));

    let mut delays = Vec::new();
    if events == 0 {
        return Ok(StreamsPrice { memory, processor, delays });
    }
    // The program closes a connection that sends nothing for long, so this is a new one.
    let mut writer = Connection::open(address).await?;
    // The first event comes to an idle topic, which is looked at less often.
    for number in 0..=events {
        let answered = post_one(&mut writer).await?;
        for _ in topics {
            let shown = came.recv().await.ok_or("the streams ended")??;
            delays.extend((number > 0).then(|| shown.saturating_duration_since(answered)));
        }
    }
    Ok(StreamsPrice { memory, processor, delays })
}
