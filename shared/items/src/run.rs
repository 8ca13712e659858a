//! A report run: a range of a topic that was reported or is being reported, and the late events that it reports.
//!
//! ```text
//! table   pk  CONSUMER#{topic}#{name}    sk  RUN#{id of the range's end}
//!   incarnation N, from S (an id), announced_at N (milliseconds), group_by S, sum S?
//!   log_from N, log_to N (the run reads the items of the topic's late log after the first number, up to the second)
//!   lease N (the end of the lease, in milliseconds; 0 if any process may continue at once), holder N (random bits)
//!   while it is under way:  progress S? (an object's name), progress_at S? (an id), progress_events N?
//!   once it is committed:   attempt S, events N, late N, bytes N, committed_at N
//!                                        sk  LATE#{end of an earlier run}#{end of this run}#{page, 8 digits}
//!   incarnation N, ids B (16 bytes each), expires_at N
//! ```
//!
//! A run never expires: an import into the past looks up the run that covers an event, however old.
//!
//! The id is not inverted, so runs sort by their ends, oldest first. The run that covers an id is the first run at or
//! after the id.
//!
//! The second item lists events that this run reports, although an earlier run covers them. So a later run that finds
//! such an event in the late log again sees that it is reported. They expire once no record of the stream can come again.

use lately_keys::{EventId, UnixMillis};
use lately_model::{Revision, RunFiles, RunSpec, RunView};

use crate::ConsumerKey;
use crate::form::EightDigits;
use crate::item::{EXPIRES_AT, Item};
use crate::key::key;
use crate::record::{Record, record};

key! {
    /// The item of a report run.
    pub struct RunKey {
        /// The run's consumer.
        pub consumer: ConsumerKey,
        /// The last id that it covers.
        pub to: EventId,
    }
    Table: pk "{consumer}" sk "RUN#{to}"
    const PREFIX
    fn sort_key(to: EventId)
}

record! {
    /// A report run.
    pub struct Run {
        /// The consumer.
        pub consumer: ConsumerKey = of_key,
        /// The incarnation of the consumer.
        pub incarnation: Revision = required("incarnation"),
        /// The run reports the events after this id …
        pub from: EventId = required("from"),
        /// … up to this id.
        pub to: EventId = of_key,
        /// When the run was announced, by the clock of the process that did.
        pub announced_at: UnixMillis = required("announced_at"),
        /// The grouping and the sum of the run's summary.
        pub spec: RunSpec = part,
        /// The run's progress, if a process has stored any.
        pub progress: Option<Progress> = part_if("progress"),
        /// The run's result, once it is committed.
        pub committed: Option<CommittedRun> = part_if("attempt"),
        /// The end of the lease. At 1970, any process may continue the run at once.
        pub lease: UnixMillis = required(LEASE = "lease"),
        /// Random bits of the process that holds the lease.
        pub holder: u64 = required(HOLDER = "holder"),
        /// The run reads the items of the topic's late log after this number …
        pub log_from: u64 = required("log_from"),
        /// … up to this number.
        pub log_to: u64 = required("log_to"),
    }
    key RunKey { consumer, to }
}

record! {
    RunSpec {
        group_by: required("group_by"),
        sum: optional("sum"),
    }
}

record! {
    /// The progress of a run, and the object that holds the intermediate result.
    pub struct Progress {
        /// The object's name.
        pub object: String = required(OBJECT = "progress"),
        /// All events up to this one are processed.
        pub position: EventId = required(POSITION = "progress_at"),
        /// The number of processed events.
        pub events: u64 = required(EVENTS = "progress_events"),
    }
}

record! {
    /// The result of a committed run.
    pub struct CommittedRun {
        /// The attempt whose files are the run's.
        pub attempt: String = required(ATTEMPT = "attempt"),
        /// The number of events that the run reports, late ones included.
        pub events: u64 = required("events"),
        /// The number of late events among them.
        pub late: u64 = required("late"),
        /// The size of the events' file.
        pub bytes: u64 = required("bytes"),
        /// When the run was committed, by the clock of the process that did.
        pub committed_at: UnixMillis = required("committed_at"),
    }
}

impl Run {
    /// The key of the run.
    pub fn key(&self) -> RunKey {
        RunKey { consumer: self.consumer.clone(), to: self.to }
    }

    /// The run's item.
    pub fn encode(&self) -> Item {
        self.add_to(Item::at(&self.key()))
    }

    /// The run as clients see it.
    pub fn view(self) -> RunView {
        let Self { from, to, announced_at, spec, committed, .. } = self;
        let files = RunFiles::new(&self.consumer.topic, &self.consumer.name, self.incarnation, from, to);
        let files = committed.iter().flat_map(|_| [files.events(), files.summary()]).collect();
        let result = |of: fn(&CommittedRun) -> u64| committed.as_ref().map(of);
        RunView {
            from,
            to,
            announced_at,
            committed_at: committed.as_ref().map(|committed| committed.committed_at),
            events: result(|committed| committed.events),
            late: result(|committed| committed.late),
            bytes: result(|committed| committed.bytes),
            group_by: spec.group_by,
            sum: spec.sum,
            files,
        }
    }
}

key! {
    /// The item that lists late events of an earlier run's range that a run reports.
    pub struct ReportedLateKey {
        /// The consumer.
        pub consumer: ConsumerKey,
        /// The end of the earlier run, whose range covers the events.
        pub covering: EventId,
        /// The end of the run that reports them.
        pub to: EventId,
        /// The page's number. A run has at most some hundred pages.
        pub page: u32 as EightDigits,
    }
    Table: pk "{consumer}" sk "LATE#{covering}#{to}#{page}"
    const PREFIX
}

impl ReportedLateKey {
    /// The prefix of the sort keys of all late events of one run's range.
    pub fn prefix_of(covering: EventId) -> String {
        format!("{}{covering}#", Self::PREFIX)
    }

    /// The item of a page. It expires at this time, in unix seconds.
    pub fn item(&self, incarnation: Revision, ids: &[EventId], expires_at: u64) -> Item {
        let page = ReportedLate { to: self.to, incarnation, ids: ids.to_vec() };
        page.add_to(Item::at(self)).with(EXPIRES_AT, expires_at)
    }
}

record! {
    /// Late events that a run reports.
    pub struct ReportedLate {
        /// The end of the run that reports them.
        pub to: EventId = of_key,
        /// The incarnation of the consumer.
        pub incarnation: Revision = required("incarnation"),
        /// The events.
        pub ids: Vec<EventId> = required("ids"),
    }
    key ReportedLateKey { to, .. }
}

#[cfg(test)]
mod tests {
    use lately_model::GroupBy;

    use super::*;
    use crate::attribute::Value;
    use crate::tests::{ID, millis, nightly};

    fn run() -> Run {
        Run {
            consumer: nightly(),
            incarnation: Revision::new(7),
            from: EventId::MIN,
            to: ID.parse().unwrap(),
            announced_at: millis(8),
            spec: RunSpec { group_by: GroupBy::Type, sum: Some("amount".parse().unwrap()) },
            progress: None,
            committed: None,
            lease: millis(9),
            holder: u64::MAX,
            log_from: 3,
            log_to: 5,
        }
    }

    #[test]
    fn golden_bytes() {
        let expected = Item::from([("pk", "CONSUMER#billing#nightly"), ("sk", format!("RUN#{ID}").as_str())])
            .with("incarnation", 7_u64)
            .with("from", "00000000-0000-7000-8000-000000000000")
            .with("announced_at", 8_u64)
            .with("group_by", "type")
            .with("sum", "amount")
            .with("log_from", 3_u64)
            .with("log_to", 5_u64)
            .with("lease", 9_u64)
            .with("holder", u64::MAX);
        assert_eq!(run().encode(), expected);
        assert_eq!(Run::decode(&expected), Ok(run()));
    }

    #[test]
    fn progress_and_commit_are_decoded() {
        let mut item = run()
            .encode()
            .with("progress", "a/b")
            .with("progress_at", ID)
            .with("progress_events", 5_u64)
            .with("attempt", "0123")
            .with("events", 6_u64)
            .with("late", 2_u64)
            .with("bytes", 99_u64)
            .with("committed_at", 10_u64);
        let progress = Progress { object: "a/b".to_owned(), position: ID.parse().unwrap(), events: 5 };
        let committed_at = millis(10);
        let committed =
            CommittedRun { attempt: "0123".to_owned(), events: 6, late: 2, bytes: 99, committed_at };
        let expected = Run { progress: Some(progress), committed: Some(committed), ..run() };
        assert_eq!(Run::decode(&item), Ok(expected));
        item.remove("progress_at");
        Run::decode(&item).unwrap_err();
    }

    #[test]
    fn golden_bytes_of_reported_late_events() {
        let covering: EventId = ID.parse().unwrap();
        let key = ReportedLateKey { consumer: nightly(), covering, to: EventId::MAX, page: 3 };
        let bytes =
            [0x01, 0x90, 0xa4, 0xcd, 0xd3, 0xe7, 0x72, 0x22, 0x9f, 0x99, 0xfd, 0xb7, 0x4f, 0xee, 0xe7, 0x52];
        let sk = format!("LATE#{ID}#{}#00000003", EventId::MAX);
        let stored = Item::from([("pk", "CONSUMER#billing#nightly"), ("sk", sk.as_str())])
            .with("incarnation", 7_u64)
            .with("ids", Value::bytes(bytes))
            .with("expires_at", 100_u64);
        assert_eq!(key.item(Revision::new(7), &[covering], 100), stored);
        let reported = ReportedLate { to: EventId::MAX, incarnation: Revision::new(7), ids: vec![covering] };
        assert_eq!(ReportedLate::decode(&stored), Ok(reported));
    }
}
