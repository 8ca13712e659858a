//! Report: writes the events of a topic since the last report to files, each event exactly once.
//!
//! The schedule invokes it to begin a consumer's next run, or to continue an unfinished one. The table's stream invokes
//! it when a run is unfinished for lack of time, so that the run continues at once.
//!
//! | for | see |
//! | --- | --- |
//! | the events that invoke it | `event.rs` |
//! | why a run could not continue | `error.rs` |
//! | a run, from its beginning to its end | `run.rs`; the table's part is the store's `run/` |
//! | the objects of an attempt | `attempt.rs`, `segment.rs`, `summary.rs`, `decimal.rs` |
//! | final names | `publish.rs`, `names.rs` |
//! | looking up whether an event was reported | `look_up.rs`, `ids.rs` |
//! | writing to a bucket or a folder | `output.rs`, `bucket.rs`, `https.rs`, `upload.rs` |

use std::time::Duration;

use lately_keys::UnixMillis;
use lately_kit::metrics::{Measured, Measures, Metric};
use lately_store::Store;
use serde::Serialize;

mod attempt;
pub mod bucket;
mod decimal;
mod error;
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
pub use error::ReportError;
pub use event::{EventError, Report};
pub use output::{OpenError, Output, OutputError, OutputUrl, OutputUrlError};
pub use run::{Outcome, go_on, run};
pub use summary::{Counted, Group, Summary, SummaryHead};

use event::Event;

/// The response: an outcome for each consumer that the event named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The outcomes.
    pub outcomes: Vec<Outcome>,
}

/// Measures the first outcome, because the mapping sends runs one by one.
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

/// Handles an event within the given time. The runs of a batch are handled one after the other. The mapping sends them
/// one by one, so that each has the whole time.
///
/// # Errors
/// If the event is not one of ours, or if a run could not continue; a later invocation continues it.
pub async fn handle(
    store: &Store,
    output: &Output,
    event: &[u8],
    time: Duration,
) -> Result<Answer, ReportError> {
    let end = store.ambient().monotonic() + time;
    let outcomes = match Event::parse(event)? {
        Event::Due(report) => vec![run(store, output, &report, time).await?],
        Event::Unfinished(consumers) => {
            let mut outcomes = Vec::new();
            for consumer in consumers {
                let remaining = end.saturating_sub(store.ambient().monotonic());
                outcomes.push(go_on(store, output, &consumer, remaining).await?);
            }
            outcomes
        }
    };
    Ok(Answer { outcomes })
}
