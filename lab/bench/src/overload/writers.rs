//! The writers of events: one busy source, and many quiet sources that write one event a second each.

use std::time::Duration;

use lately_model::NewEvent;
use lately_store::{Submission, WriteError};
use tokio::task::JoinSet;

use crate::topic::Bench;

/// The busy source's actor.
pub(super) const BUSY: &str = "busy";

/// The quiet sources' actors begin with this, and end with their number.
pub(super) const QUIET: &str = "quiet-";

/// The followers of all these sources begin with this.
pub(super) const READER: &str = "reader-";

/// The most batches of the busy source in a second.
const BATCHES_A_SECOND: u32 = 20;

/// The sources' rates.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteRate {
    /// The events a second of the busy source.
    pub(super) busy: u32,
    /// The number of quiet sources.
    pub(super) quiet: u32,
    /// The length of the run.
    pub(super) seconds: u32,
}

impl WriteRate {
    /// Each source gets a follower of its own.
    pub(super) async fn follow_all(self, bench: &Bench) {
        bench.follow(&format!("{READER}{BUSY}"), &format!("actor:{BUSY}")).await;
        for number in 0..self.quiet {
            bench.follow(&format!("{READER}{number}"), &format!("actor:{QUIET}{number}")).await;
        }
    }

    /// Writes the events of all sources. Returns the number of events that were not accepted.
    pub(super) async fn write_all(self, bench: &Bench) -> u64 {
        let mut writers = JoinSet::new();
        for number in 0..self.quiet {
            writers.spawn(self.write_quiet(bench.clone(), number));
        }
        let each = self.busy.div_ceil(BATCHES_A_SECOND);
        for _ in 0..(self.seconds * self.busy).checked_div(each).unwrap_or(0) {
            writers.spawn(write(bench.clone(), BUSY.to_owned(), each));
            tokio::time::sleep(Duration::from_secs(1) * each / self.busy).await;
        }
        writers.join_all().await.into_iter().sum()
    }

    /// Writes one event a second of a quiet source. The sources begin at different times.
    async fn write_quiet(self, bench: Bench, number: u32) -> u64 {
        tokio::time::sleep(Duration::from_secs(1) * number / self.quiet).await;
        let mut refused = 0;
        for _ in 0..self.seconds {
            refused += write(bench.clone(), format!("{QUIET}{number}"), 1).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        refused
    }
}

/// Writes events of an actor. Returns the number of those that were not accepted.
pub(super) async fn write(bench: Bench, actor: String, events: u32) -> u64 {
    submit(&bench, vec![note(&actor); events as usize]).await
}

/// A small event of an actor.
pub(super) fn note(actor: &str) -> NewEvent {
    NewEvent {
        event_type: "note".parse().expect("a type"),
        actor: actor.parse().expect("an actor"),
        subject: None,
        data: None,
        at: None,
    }
}

/// Writes events, which may be imports. Returns the number of those that were not accepted.
pub(super) async fn submit(bench: &Bench, events: Vec<NewEvent>) -> u64 {
    let number = events.len() as u64;
    let submission = Submission { may_import: true, ..Submission::new(events) };
    match bench.store.op().topic(&bench.topic).write(submission).await {
        Ok(_) => 0,
        Err(WriteError::Partly { rejected, .. }) => rejected.len() as u64,
        Err(WriteError::Table(_)) => number,
        Err(error) => panic!("the events are valid: {error}"),
    }
}
