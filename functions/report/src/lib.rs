//! Report: what is new in a topic since the last report, each event exactly once.
//!
//! It is invoked by a schedule, and begins a consumer's next run or goes on with the one under way; and with records of
//! the table's stream when a run had to be left for lack of time, so that it goes on at once.
//!
//! | for | see |
//! | --- | --- |
//! | what it is invoked with | `event.rs` |
//! | a run, from its beginning to its end | `run.rs`; the table's part is the store's `run/` |
//! | what an attempt writes | `attempt.rs`, `segment.rs`, `summary.rs`, `decimal.rs` |
//! | final names | `publish.rs`, `names.rs` |
//! | whether an event was reported | `look_up.rs`, `ids.rs` |
//! | the place where all this is written | `output.rs`, `bucket.rs`, `https.rs`, `upload.rs` |

use std::time::Duration;

use lately_keys::UnixMillis;
use lately_kit::metrics::{Measured, Measures, Metric};
use lately_store::Store;
use serde::Serialize;

mod attempt;
pub mod bucket;
mod decimal;
mod event;
mod https;
mod ids;
pub mod limits;
mod look_up;
mod names;
mod output;
mod publish;
mod run;
mod segment;
mod summary;
mod upload;

pub use decimal::Decimal;
pub use event::EventError;
pub use output::{OpenError, Output, OutputError, Place, PlaceError};
pub use run::{Outcome, Report, ReportError, go_on, run};
pub use summary::{Counted, Group, Summary, SummaryHead};

use event::Event;

/// The answer: how it ended, for each consumer that the event was about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The outcomes.
    pub outcomes: Vec<Outcome>,
}

/// By its one outcome: the mapping gives runs one by one.
impl Measured for Answer {
    fn outcome(&self) -> &'static str {
        match self.outcomes.first() {
            None | Some(Outcome::Nothing) => "nothing",
            Some(Outcome::Busy { .. }) => "busy",
            Some(Outcome::Unfinished { .. }) => "unfinished",
            Some(Outcome::Finished { .. }) => "finished",
        }
    }

    fn measures(&self, now: UnixMillis) -> Measures {
        let measures = Measures::default();
        match self.outcomes.first() {
            Some(Outcome::Finished { to, events, late, .. }) => measures
                .count(Metric::ReportsUpToDate, 1)
                .count(Metric::ReportedEvents, *events)
                .count(Metric::ReportedLateEvents, *late)
                .time(Metric::ReportLag, Duration::from_millis(now.get().saturating_sub(to.at().get()))),
            Some(Outcome::Nothing) => measures.count(Metric::ReportsUpToDate, 1),
            None | Some(Outcome::Busy { .. } | Outcome::Unfinished { .. }) => measures,
        }
    }
}

/// Why an event was not handled to its end.
#[derive(Debug, thiserror::Error)]
pub enum HandleError {
    /// It is no event of ours.
    #[error(transparent)]
    Event(#[from] EventError),
    /// A run could not go on.
    #[error(transparent)]
    Report(#[from] ReportError),
}

/// Handles an event within a time. Of a batch's runs one after the other: the mapping gives them one by one, so that each
/// has the whole time.
///
/// # Errors
/// If the event is none of ours, or a run could not go on: a further invocation goes on with it.
pub async fn handle(
    store: &Store,
    output: &Output,
    event: &[u8],
    time: Duration,
) -> Result<Answer, HandleError> {
    let end = store.ambient().monotonic() + time;
    let outcomes = match Event::parse(event)? {
        Event::Due(report) => vec![run(store, output, &report, time).await?],
        Event::Left(consumers) => {
            let mut outcomes = Vec::new();
            for consumer in consumers {
                let left = end.saturating_sub(store.ambient().monotonic());
                outcomes.push(go_on(store, output, &consumer, left).await?);
            }
            outcomes
        }
    };
    Ok(Answer { outcomes })
}
