//! Report runs as lists show them, and the names of their files.

use lately_keys::{Consumer, EventId, Topic, UnixMillis};
use serde::{Deserialize, Serialize};

use crate::revision::Revision;
use crate::run_spec::{GroupBy, SumField};

/// The final names of a run's files, relative to the folder of the reports.
///
/// ```text
/// {topic}/{consumer}/{incarnation}/{from}--{to}.ndjson | .summary.json | .ids
/// ```
///
/// The names contain the range's ends as times. A run's `to` is the last id of its millisecond, so no two runs of a
/// consumer share a name. A consumer that is deleted and created again has another incarnation, so it writes to another
/// folder.
///
/// ```
/// use lately_keys::EventId;
/// use lately_model::{Revision, RunFiles};
///
/// let (topic, consumer) = ("billing".parse()?, "nightly".parse()?);
/// let end = |at: &str| at.parse().map(EventId::last_of);
/// let (from, to) = (end("2026-11-21T03:00:00Z")?, end("2026-11-21T03:15:00Z")?);
/// let files = RunFiles::new(&topic, &consumer, Revision::new(7), from, to);
/// assert_eq!(files.events(), "billing/nightly/7/20261121T030000.000Z--20261121T031500.000Z.ndjson");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunFiles {
    stem: String,
}

impl RunFiles {
    /// The files of a consumer's run over (`from`, `to`].
    pub fn new(
        topic: &Topic,
        consumer: &Consumer,
        incarnation: Revision,
        from: EventId,
        to: EventId,
    ) -> Self {
        let time = |id: EventId| id.at().to_string().replace(['-', ':'], "");
        Self { stem: format!("{topic}/{consumer}/{incarnation}/{}--{}", time(from), time(to)) }
    }

    /// The events, oldest first, one per line.
    pub fn events(&self) -> String {
        format!("{}.ndjson", self.stem)
    }

    /// The counts and sums.
    pub fn summary(&self) -> String {
        format!("{}.summary.json", self.stem)
    }

    /// The ids of the events, to look up whether the run contains an event.
    pub fn ids(&self) -> String {
        format!("{}.ids", self.stem)
    }
}

/// A report run: its range, its counting and, once it is committed, its counts and files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = Run))]
pub struct RunView {
    /// The run reports the events after this id.
    pub from: EventId,
    /// The run reports the events up to this id, included.
    pub to: EventId,
    /// The time at which the run began.
    pub announced_at: UnixMillis,
    /// The time at which the run was committed; null until then, like the counts.
    #[cfg_attr(feature = "document", schema(required))]
    pub committed_at: Option<UnixMillis>,
    /// The number of events that the run reports, late events included.
    #[cfg_attr(feature = "document", schema(required))]
    pub events: Option<u64>,
    /// The number of these events that arrived too late for the run that covers their time.
    #[cfg_attr(feature = "document", schema(required))]
    pub late: Option<u64>,
    /// The size of the events' file in bytes.
    #[cfg_attr(feature = "document", schema(required))]
    pub bytes: Option<u64>,
    /// The field by which its summary groups events.
    pub group_by: GroupBy,
    /// The field of `data` that the summary adds up.
    #[cfg_attr(feature = "document", schema(required))]
    pub sum: Option<SumField>,
    /// The names of the run's files, below the location of the reports: the events and the summary. The files appear a
    /// moment after the run is committed.
    pub files: Vec<String>,
}

/// A page of a consumer's runs, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct RunList {
    /// The runs.
    pub runs: Vec<RunView>,
    /// The cursor of the next page; null at the end.
    #[cfg_attr(feature = "document", schema(required, value_type = Option<crate::schemas::Cursor>))]
    pub next: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runs_files_differ_only_in_their_endings() {
        let (topic, consumer) = ("billing".parse().unwrap(), "nightly".parse().unwrap());
        let (from, to) = (EventId::MIN, EventId::MAX);
        let files = RunFiles::new(&topic, &consumer, Revision::new(42), from, to);
        let stem = "billing/nightly/42/19700101T000000.000Z--99991231T235959.999Z";
        assert_eq!(files.events(), format!("{stem}.ndjson"));
        assert_eq!(files.summary(), format!("{stem}.summary.json"));
        assert_eq!(files.ids(), format!("{stem}.ids"));
    }

    #[test]
    fn a_run_under_way_has_no_counts_yet() {
        let id: EventId = "0190868b-57e7-7000-80c0-0dd011ec70b5".parse().unwrap();
        let view = RunView {
            from: id,
            to: id,
            announced_at: UnixMillis::MIN,
            committed_at: None,
            events: None,
            late: None,
            bytes: None,
            group_by: GroupBy::default(),
            sum: None,
            files: vec![],
        };
        let json = format!(
            r#"{{"from":"{id}","to":"{id}","announced_at":"1970-01-01T00:00:00.000Z","committed_at":null,"events":null,"late":null,"bytes":null,"group_by":"actor","sum":null,"files":[]}}"#
        );
        assert_eq!(serde_json::to_string(&view).unwrap(), json);
    }
}
