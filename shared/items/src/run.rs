//! A report run: a range of a topic that was reported or is being reported, and the late events that it reports.
//!
//! ```text
//! table   pk  CONSUMER#{topic}#{name}    sk  RUN#{id of the range's end}
//!   incarnation N, from S (an id), announced_at N (milliseconds), group_by S, sum S?
//!   seen L, known L (16 N each: the ledger's counters when the run was announced, and those that were dealt with then)
//!   lease N (the end of the lease, in milliseconds; 0 if any process may continue at once), holder N (random bits)
//!   while it is under way:  progress S? (an object's name), progress_at S? (an id), progress_events N?
//!   once it is committed:   attempt S, events N, late N, bytes N, committed_at N
//!                                        sk  LATE#{id of the range's end}#{page, 8 digits}
//!   incarnation N, ids B? (16 bytes each), last BOOL? (this is the last page)
//! ```
//!
//! A run never expires: an import into the past looks up the run that covers an event, however old.
//!
//! The id is not inverted, so runs sort by their ends, oldest first. The run that covers an id is the first run at or
//! after the id.
//!
//! The pages of the late events that a run reports are fixed before the run reports their events. Pages sort by number,
//! so one query reads a run's whole list.

use lately_keys::{EventId, UnixMillis};
use lately_model::{Revision, RunFiles, RunSpec, RunView};

use crate::ConsumerKey;
use crate::form::EightDigits;
use crate::item::{INCARNATION, Item};
use crate::key::key;
use crate::ledger_counters::LedgerCounters;
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
        /// The ledger's counters when the run was announced.
        pub seen: LedgerCounters = required("seen"),
        /// The ledger's counters that were dealt with then.
        pub known: LedgerCounters = required("known"),
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

    /// The partitions of the ledger that this run looks at.
    pub fn touched(&self) -> Vec<u8> {
        self.seen.risen_since(&self.known)
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
    /// The item that holds a page of a run's late events.
    pub struct LatePageKey {
        /// The run's consumer.
        pub consumer: ConsumerKey,
        /// The run's end.
        pub to: EventId,
        /// The page's number. A run has at most some fifty pages.
        pub page: u32 as EightDigits,
    }
    Table: pk "{consumer}" sk "LATE#{to}#{page}"
    const PREFIX
}

impl LatePageKey {
    /// The prefix of one run's pages' sort keys.
    pub fn prefix_of(to: EventId) -> String {
        format!("LATE#{to}#")
    }

    /// The item of a page.
    pub fn item(&self, incarnation: Revision, ids: &[EventId], last: bool) -> Item {
        let page = LatePage { page: self.page, ids: ids.to_vec(), last };
        page.add_to(Item::at(self)).with(INCARNATION, &incarnation)
    }
}

record! {
    /// A page of a run's late events.
    pub struct LatePage {
        /// The page's number, counted from 0.
        pub page: u32 = of_key,
        /// The late events.
        pub ids: Vec<EventId> = list("ids"),
        /// True if no page comes after it.
        pub last: bool = flag("last"),
    }
    key LatePageKey { page, .. }
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
            seen: LedgerCounters::default(),
            known: LedgerCounters::default(),
        }
    }

    #[test]
    fn golden_bytes() {
        let zeros = || Value::list([0_u64; 16]);
        let expected = Item::from([("pk", "CONSUMER#billing#nightly"), ("sk", format!("RUN#{ID}").as_str())])
            .with("incarnation", 7_u64)
            .with("from", "00000000-0000-7000-8000-000000000000")
            .with("announced_at", 8_u64)
            .with("group_by", "type")
            .with("sum", "amount")
            .with("seen", zeros())
            .with("known", zeros())
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
    fn golden_bytes_of_late_pages() {
        let key = |page| LatePageKey { consumer: nightly(), to: ID.parse().unwrap(), page };
        let stored = |page: &str| {
            Item::from([("pk", "CONSUMER#billing#nightly"), ("sk", format!("LATE#{ID}#{page}").as_str())])
                .with("incarnation", 7_u64)
        };
        let bytes =
            [0x01, 0x90, 0xa4, 0xcd, 0xd3, 0xe7, 0x72, 0x22, 0x9f, 0x99, 0xfd, 0xb7, 0x4f, 0xee, 0xe7, 0x52];
        let full = stored("00000003").with("ids", Value::bytes(bytes));
        let ids = vec![ID.parse().unwrap()];
        assert_eq!(key(3).item(Revision::new(7), &ids, false), full);
        assert_eq!(LatePage::decode(&full), Ok(LatePage { page: 3, ids, last: false }));
        let last = stored("00000000").with("last", true);
        assert_eq!(key(0).item(Revision::new(7), &[], true), last);
        assert_eq!(LatePage::decode(&last), Ok(LatePage { page: 0, ids: vec![], last: true }));
    }
}
