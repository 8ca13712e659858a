//! The demo: topics with events of the last five days, and users who follow each other.
//!
//! The events are imports, written through the store like any others. A fixed seed makes their data; only their times
//! depend on the start of the program. While the program runs, the demo adds an event to the topic `billing` every few
//! seconds, so that there is something to report.

use std::ops::Range;
use std::time::Duration;

use lately_keys::Topic;
use lately_model::limits::BATCH_EVENTS;
use lately_model::{Backfill, ListQuery, NewEvent, TopicChange};
use lately_store::{Store, Submission, TopicError};

use crate::failure::Result;

const SEED: u64 = 20_261_120;
const DAY_MILLIS: u64 = 24 * 60 * 60 * 1000;
const DAYS: u64 = 5;

/// The reported topic.
pub(crate) const BILLING: &str = "billing";

/// The pause between two events of the topic, in milliseconds.
const PAUSE_MILLIS: Range<u64> = 2_000..8_000;

fn topic(name: &str) -> Topic {
    name.parse().expect("the demo's own name")
}

/// A random element of a list.
fn one<T: Copy>(of: &[T], random: &mut fastrand::Rng) -> T {
    of[random.usize(..of.len())]
}

const PEOPLE: [&str; 3] = ["ada", "bob", "carol"];
const ACCOUNTS: [&str; 4] = ["acme", "globex", "initech", "umbrella"];
const REPOS: [&str; 3] = ["repo:octo:hello", "repo:octo:engine", "repo:lately:console"];
const WORDS: [&str; 8] = [
    "ordering events by their ids",
    "a partition that got warm",
    "reading less to know more",
    "the price of a page",
    "why newest comes first",
    "cursors that never expire",
    "what a retry may do",
    "buckets, shards and patience",
];

/// Each user, and the sources that the user follows.
const FOLLOWS: [(&str, &[&str]); 3] = [
    ("ada", &["actor:bob", "subject:repo:octo:hello"]),
    ("bob", &["actor:ada", "actor:carol"]),
    ("carol", &["subject:repo:lately:console"]),
];

/// The settings of the reported topic.
const BILLED: &str = r#"{"bucket":"hour","retention_days":90,"fan_out":false,"views":["actor","type"]}"#;

/// A demo topic: its name, its settings, its events a day, and the function that makes one.
type Demo = (&'static str, &'static str, u64, fn(&mut fastrand::Rng) -> NewEvent);

const DEMOS: [Demo; 3] = [
    ("posts", "{}", 60, post),
    (BILLING, BILLED, 96, billing),
    ("deploys", r#"{"bucket":"month","min_shards":4}"#, 12, deploy),
];

fn post(random: &mut fastrand::Rng) -> NewEvent {
    let (event_type, data) = match random.u8(..10) {
        0..6 => {
            let words = one(&WORDS, random);
            ("post.created", format!(r#"{{"title":"On {words}","words":{}}}"#, random.u32(80..1200)))
        }
        6..9 => ("post.liked", format!(r#"{{"post":{}}}"#, random.u32(1..400))),
        _ => {
            ("post.edited", format!(r#"{{"post":{},"words":{}}}"#, random.u32(1..400), random.u32(80..1200)))
        }
    };
    event(event_type, one(&PEOPLE, random), None, &data)
}

fn billing(random: &mut fastrand::Rng) -> NewEvent {
    let types = ["invoice.issued", "invoice.paid", "usage.metered", "usage.metered", "refund.made"];
    let amount = format!("{}.{:02}", random.u32(1..900), random.u32(..100));
    let data = format!(r#"{{"amount":{amount},"currency":"EUR","invoice":{}}}"#, random.u32(10_000..99_999));
    event(one(&types, random), one(&ACCOUNTS, random), None, &data)
}

fn deploy(random: &mut fastrand::Rng) -> NewEvent {
    let types = ["deploy.started", "deploy.finished", "deploy.finished", "deploy.rolled-back"];
    let version = format!("1.{}.{}", random.u8(..40), random.u8(..10));
    let data = format!(r#"{{"version":"{version}","seconds":{}}}"#, random.u32(20..400));
    let subject = Some(one(&REPOS, random));
    event(one(&types, random), one(&PEOPLE, random), subject, &data)
}

/// The part of the demo that the table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DemoState {
    /// Nothing: the reported topic is missing.
    Absent,
    /// The topics, which were created just now. Their events and follows are missing.
    New,
    /// The topics of an earlier run.
    Earlier,
}

/// Creates the demo topics, unless the table has any topic already.
pub(crate) async fn create_topics(store: &Store) -> Result<DemoState> {
    let known = store.op().topics().list(&ListQuery::default()).await?;
    if !known.topics.is_empty() {
        // A folder of an earlier run may have other topics only.
        return match store.op().topic(&topic(BILLING)).view().await {
            Ok(_) => Ok(DemoState::Earlier),
            Err(TopicError::NotFound(_)) => Ok(DemoState::Absent),
            Err(TopicError::Table(error)) => Err(error.into()),
        };
    }
    for (name, settings, ..) in DEMOS {
        let settings = TopicChange::parse(settings.as_bytes()).expect("the demo's own settings");
        store.op().topic(&topic(name)).put(&settings).await?;
    }
    Ok(DemoState::New)
}

/// Writes the events of the demo topics.
pub(crate) async fn write_events(store: &Store) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let now = store.now();
    for (name, _, events_a_day, event) in DEMOS {
        let mut events: Vec<NewEvent> = (0..DAYS * events_a_day)
            .map(|_| {
                let ago = random.u64(60_000..DAYS * DAY_MILLIS);
                NewEvent { at: Some(now.saturating_sub(ago)), ..event(&mut random) }
            })
            .collect();
        events.sort_by_key(|event| event.at);
        for batch in events.chunks(BATCH_EVENTS) {
            let submission = Submission { may_import: true, ..Submission::new(batch.to_vec()) };
            store.op().topic(&topic(name)).write(submission).await?;
        }
    }
    Ok(())
}

/// Makes the demo's users follow each other. A follow adds a source's latest events to the feed, so this runs after
/// fan-out has handled the created events.
pub(crate) async fn follow(store: &Store) -> Result<()> {
    for (user, sources) in FOLLOWS {
        let user = user.parse().expect("a demo's user");
        for source in sources {
            let source = source.parse().expect("a demo's source");
            store.op().user(&user).follow(&source, Backfill::default()).await?;
        }
    }
    Ok(())
}

/// Adds events to the reported topic, with pauses, until it is stopped.
pub(crate) async fn go_on(store: Store) {
    let mut random = fastrand::Rng::with_seed(store.now().get());
    loop {
        tokio::time::sleep(Duration::from_millis(random.u64(PAUSE_MILLIS))).await;
        let submission = Submission::new(vec![billing(&mut random)]);
        if let Err(error) = store.op().topic(&topic(BILLING)).write(submission).await {
            tracing::warn!(%error, "a demo event could not be written");
        }
    }
}

fn event(event_type: &str, actor: &str, subject: Option<&str>, data: &str) -> NewEvent {
    NewEvent {
        event_type: event_type.parse().expect("a demo's type"),
        actor: actor.parse().expect("a demo's actor"),
        subject: subject.map(|subject| subject.parse().expect("a demo's subject")),
        data: Some(data.parse().expect("a demo's data is JSON")),
        at: None,
    }
}
