//! The lags of events, read from the stream's records: when each event was written, put into a timeline, and put into a
//! feed.

use std::collections::BTreeMap;

use lately_engine::stream::EventName;
use lately_items::AnyKey;
use lately_items::event::ACTOR;
use lately_keys::EventId;

use crate::overload::writers::{BUSY, QUIET, READER};
use crate::topic::{Bench, TABLE};

/// The times of the events, in milliseconds.
#[derive(Default)]
pub(super) struct StreamTimes {
    /// When each event of the busy source was written.
    pub(super) busy: BTreeMap<EventId, u64>,
    /// When each event of a quiet source was written.
    pub(super) quiet: BTreeMap<EventId, u64>,
    /// When each event was put into a timeline.
    pub(super) listed: BTreeMap<EventId, u64>,
    /// When each event was put into its follower's feed.
    pub(super) in_feeds: BTreeMap<EventId, u64>,
}

impl StreamTimes {
    pub(super) fn of(bench: &Bench) -> Self {
        let mut times = Self::default();
        let stream = bench.engine.stream(TABLE).expect("the table has a stream");
        for record in stream.all() {
            if record.event != EventName::Insert {
                continue;
            }
            let keys = record.keys();
            let pk = keys["pk"].as_s().expect("keys are text");
            let sk = keys["sk"].as_s().expect("keys are text");
            let at = record.at_micros / 1000;
            match AnyKey::decode(pk, sk) {
                Some(AnyKey::Event(key)) => {
                    let image = record.new_image().expect("an insert has a new image");
                    let actor = image[ACTOR].as_s().expect("an actor is text");
                    if actor == BUSY {
                        times.busy.insert(key.id(), at);
                    } else if actor.starts_with(QUIET) {
                        times.quiet.insert(key.id(), at);
                    }
                }
                Some(AnyKey::SourceEntry(key)) => {
                    times.listed.insert(key.id, at);
                }
                Some(AnyKey::FeedEntry(key)) if key.user.as_str().starts_with(READER) => {
                    times.in_feeds.insert(key.id, at);
                }
                _ => {}
            }
        }
        times
    }

    /// The lags of the quiet sources' events that were written at a time or later, in milliseconds, sorted. An event that is in no feed
    /// by `end` has the lag until then.
    pub(super) fn quiet_lags(&self, from: u64, end: u64) -> Vec<u64> {
        let mut lags = Vec::new();
        for (id, written) in &self.quiet {
            if *written >= from {
                let arrived = self.in_feeds.get(id).copied().unwrap_or(end);
                lags.push(arrived.saturating_sub(*written));
            }
        }
        lags.sort_unstable();
        lags
    }
}

/// The lag that `permille` of a thousand events do not exceed.
///
/// # Panics
/// If there are no lags.
pub(super) fn permille(sorted: &[u64], permille: usize) -> u64 {
    sorted[(sorted.len() * permille).div_ceil(1000) - 1]
}
