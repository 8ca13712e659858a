//! `lately load`: sends a steady load to a stack, and measures how the stack takes it.
//!
//! It sends at most a hundred posts a second; at higher rates a post is a batch, as of a producer that collects events
//! for some milliseconds. All topics and follows are new, and are removed at the end, also after Ctrl-C. Before it sends
//! to another machine, it names the price and asks.

mod tally;
mod traffic;

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use lately_model::limits::BODY_BYTES;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::client::access::is_here;
use crate::client::confirm;
use crate::client::load::tally::{Delay, Delays, LoadTally};
use crate::client::load::traffic::{POSTS_A_SECOND, Traffic};
use crate::client::stack::StackArguments;
use crate::failure::{Failure, Result};
use crate::plan::workload::Workload;
use crate::plan::{self, grouped};
use crate::seconds;
use crate::terminal::Terminal;

/// The longest load.
const LONGEST_SECONDS: u32 = 60 * 60;

/// The most follows: of each actor by each follower.
const FOLLOWS: u32 = 10_000;

/// The time until a request without a response has failed.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The wait for delays that are not measured yet when the load ends.
const PATIENCE: Duration = Duration::from_secs(5);

/// The bytes that JSON needs around an event's data, at most.
const FRAME_BYTES: usize = 200;

/// The options of `lately load`.
#[derive(Clone, Debug, clap::Args)]
pub struct LoadOptions {
    /// The events to post a second
    #[arg(long, value_name = "EVENTS", value_parser = clap::value_parser!(u32).range(1..=50_000))]
    rate: u32,

    /// The length of the load, such as 60s or 5m: at most an hour
    #[arg(long = "for", value_name = "TIME", value_parser = seconds::within(1..=LONGEST_SECONDS, "must be a number and s or m, from 1s to 60m"))]
    time: u32,

    /// The topics to which the events are posted
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    topics: u32,

    /// The actors of the events
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    actors: u32,

    /// The users who follow all actors
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(..=1_000))]
    followers: u32,

    /// The size of a stored event
    #[arg(long, value_name = "BYTES", default_value_t = 512, value_parser = clap::value_parser!(u32).range(200..=200_000))]
    bytes: u32,

    /// The readers, each of which reads the latest 50 events of a topic once a second
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(..=5_000))]
    readers: u32,

    #[command(flatten)]
    stack: StackArguments,

    /// The URL's host, to confirm a load on another machine; without it, the command asks for the host on a terminal
    #[arg(long, value_name = "HOST")]
    confirm: Option<String>,

    /// Print JSON: a line each second, and one at the end
    #[arg(long)]
    json: bool,
}

/// Runs the load.
pub(crate) async fn run(options: LoadOptions, mut terminal: Terminal<'_>) -> Result<()> {
    let LoadOptions { rate, bytes, actors, followers, .. } = options;
    let batch = rate.div_ceil(POSTS_A_SECOND);
    if batch as usize * (bytes as usize + FRAME_BYTES) > BODY_BYTES {
        return Err(Failure::usage(format!(
            "{rate} events a second of {bytes} bytes are too many: {POSTS_A_SECOND} posts a second have 3 MiB each"
        )));
    }
    if actors * followers > FOLLOWS {
        return Err(Failure::usage(format!("--actors times --followers must be at most {FOLLOWS}")));
    }
    confirm_price(&options, batch, &mut terminal)?;
    let api = options.stack.open("the load").await?;
    let run = format!("load-{:08x}", fastrand::u32(..));
    let names = |kind: &str, count| (0..count).map(|number| format!("{run}-{kind}-{number}")).collect();
    let traffic = Arc::new(Traffic {
        lately: api.using(|client| client.timeout = REQUEST_TIMEOUT),
        topics: names("topic", options.topics),
        actors: names("actor", actors),
        followers: names("user", followers),
        batch: batch.into(),
        bytes: bytes as usize,
        tally: LoadTally::default().into(),
        accepted: watch::channel(None).0,
    });
    let done = match traffic.set_up().await {
        Ok(()) => send(&traffic, &options, &mut terminal).await,
        Err(problem) => Err(problem.into()),
    };
    let cleaned = traffic.clean_up().await;
    done?;
    cleaned.map_err(|problem| {
        let (why, topics) = (Failure::from(problem), traffic.topics.join(", "));
        Failure::new(1, format!("not everything is deleted ({why}): delete {topics}"))
    })
}

/// Names the price, and asks, if the API is on another machine.
fn confirm_price(options: &LoadOptions, batch: u32, terminal: &mut Terminal<'_>) -> Result<()> {
    if is_here(&options.stack.url) {
        return Ok(());
    }
    let workload = Workload {
        events: options.rate.into(),
        bytes: options.bytes.into(),
        batch: batch.into(),
        followers: options.followers.into(),
        pages: options.readers.into(),
        live: 1.0,
        // The load follows a topic instead of a feed: all events come to the stream.
        users: options.followers.max(1).into(),
        retention: 1.0,
        type_view: false,
    };
    let dollars = plan::of_run(&workload, options.time.into());
    let host = options.stack.url.host_str().unwrap_or_default();
    let events = grouped(u64::from(options.rate) * u64::from(options.time));
    terminal.log(format_args!(
        "{events} events in {} s cost about {dollars:.2} dollars, deletion included (list prices of us-east-1)",
        options.time,
    ))?;
    let Some(confirmed) = &options.confirm else {
        confirm::needs_terminal(|| format!("add --confirm {host} to send the load"))?;
        return confirm::ask(terminal.stderr, host, "type the host to send the load", "nothing is sent");
    };
    match confirmed == host {
        true => Ok(()),
        false => Err(Failure::usage(format!(
            "--confirm names {confirmed} and the URL names {host}: nothing is sent"
        ))),
    }
}

/// Sends the load, and prints its figures each second and at the end.
async fn send(traffic: &Arc<Traffic>, options: &LoadOptions, terminal: &mut Terminal<'_>) -> Result<()> {
    let mut beside = JoinSet::new();
    for reader in 0..options.readers {
        beside.spawn(Arc::clone(traffic).read(reader, options.readers));
    }
    if let Some(user) = traffic.followers.first() {
        beside.spawn(Arc::clone(traffic).follow_feed(user.clone()));
    }
    beside.spawn(Arc::clone(traffic).follow_topic());

    let total = u64::from(options.rate) * u64::from(options.time) / traffic.batch;
    let pause = Duration::from_secs_f64(traffic.batch as f64 / f64::from(options.rate));
    let (begun, mut posts) = (Instant::now(), JoinSet::new());
    let mut interrupted = pin!(tokio::signal::ctrl_c());
    let (mut number, mut second) = (0, 1);
    while number < total {
        tokio::select! {
            () = sleep_until(begun + pause.mul_f64(number as f64)) => {
                traffic.offer(number, &mut posts);
                number += 1;
            }
            () = sleep_until(begun + Duration::from_secs(second)) => {
                second += 1;
                print(traffic.tally().after(begun.elapsed()), options.json, terminal)?;
            }
            Some(_) = posts.join_next() => {}
            interrupted = &mut interrupted => {
                interrupted?;
                break;
            }
        }
    }
    let time = begun.elapsed();
    while posts.join_next().await.is_some() {}
    let shown = async {
        while traffic.awaits_delays() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    // The delays do not include the events that the stream never shows.
    drop(timeout(PATIENCE, shown).await);
    drop(beside);
    let mut shards = BTreeMap::new();
    for topic in &traffic.topics {
        if let Ok(view) = traffic.lately.topic(topic).get().await {
            shards.insert(topic.clone(), view.buckets.first().map_or(1, |bucket| bucket.shards.get()));
        }
    }
    let mut tally = traffic.tally();
    (tally.is_done, tally.shards) = (true, Some(shards));
    print(tally.after(time), options.json, terminal)
}

/// Prints the figures of a second, or those at the end.
fn print(tally: &LoadTally, json: bool, terminal: &mut Terminal<'_>) -> Result<()> {
    let [offered, accepted, pages] = [tally.offered, tally.accepted, tally.pages].map(grouped);
    let (seconds, refused) = (tally.seconds, by_reason(&tally.refused));
    let delays = [&tally.fan_out, &tally.live].map(Delays::spread);
    if json {
        terminal.print_json(&serde_json::to_string(tally)?)?;
    } else if tally.is_done {
        let [fan_out, live] = delays.map(|delay| match delay {
            Some(Delay { samples, median_ms, p99_ms }) => {
                format!("median {median_ms} ms, 99th percentile {p99_ms} ms, of {samples}")
            }
            None => "not measured".to_owned(),
        });
        let shards = tally.shards.iter().flatten().map(|(_, shards)| shards.to_string());
        terminal.print("")?;
        terminal.pairs(&[
            ("seconds", seconds.to_string()),
            ("offered events", offered),
            ("accepted events", accepted),
            ("refused events", refused),
            ("pages", pages),
            ("refused pages", by_reason(&tally.refused_pages)),
            ("delay of fan-out", fan_out),
            ("delay of live", live),
            ("write units", format!("{:.2} an event, without fan-out", tally.write_units_an_event)),
            ("read units", format!("{:.2} a page", tally.read_units_a_page)),
            ("shards", shards.collect::<Vec<_>>().join(", ")),
        ])?;
    } else {
        let [fan_out, live] =
            delays.map(|delay| delay.map_or("-".to_owned(), |it| format!("{} ms", it.median_ms)));
        terminal.print(format_args!(
            "{seconds:>6.1} s  offered {offered}, accepted {accepted}, refused {refused}, pages {pages}, \
             fan-out {fan_out}, live {live}"
        ))?;
    }
    Ok(terminal.stdout.flush()?)
}

/// The counts by reason, such as `60 rate-limited, 2 unavailable`.
fn by_reason(counts: &BTreeMap<String, u64>) -> String {
    if counts.is_empty() {
        return "0".to_owned();
    }
    counts.iter().map(|(code, number)| format!("{} {code}", grouped(number))).collect::<Vec<_>>().join(", ")
}
