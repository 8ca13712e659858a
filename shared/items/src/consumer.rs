//! A consumer's checkpoint: the position up to which it has read.
//!
//! ```text
//! table   pk  CONSUMER#{topic}#{name}    sk  CHECKPOINT
//!   incarnation N (the unix microseconds of its creation), revision N, settle N (seconds)
//!   start S (an id: no event at or before it is ever given), position S (all events at or before it are committed)
//!   mode S? (polls | runs, from the first use on), known L (16 N: the ledger's counters that are dealt with)
//!   running S? (the end of the run under way), last S? (the batch that was committed last), deleting BOOL?
//!   the outstanding batch:  batch S, upto S (an id), late B (ids, 16 bytes each), noted B? (likewise), dealt L (16 N)
//!   sweeps L? of M: shard N, count N, behind S (an id): a partition that was looked through in part
//! ```
//!
//! It shares a partition with the consumer's report runs ([`RunKey`](crate::RunKey)).
//!
//! A writer replaces the whole item under its revision. A writer that loses reads the item and decides again, so every
//! decision must be safe to make twice.

use lately_keys::limits::LATE_SHARDS;
use lately_keys::{Consumer, EventId, Topic, UnixMillis};
use lately_model::{BatchToken, Revision, SettleSeconds};

use crate::key::key;
use crate::ledger_counters::LedgerCounters;
use crate::record::{Record, maps, record};

key! {
    /// The item of a consumer. Its text is the partition of the consumer and its runs.
    pub struct ConsumerKey {
        /// The topic that it reads.
        pub topic: Topic,
        /// Its name.
        pub name: Consumer,
    }
    text "CONSUMER#{topic}#{name}"
    Table: pk text sk "CHECKPOINT"
}

lately_keys::words! {
    /// The use of a consumer, from its first use on.
    pub enum ConsumerMode {
        /// Clients poll its events, in batches.
        Polls = "polls",
        /// Runs report its events.
        Runs = "runs",
    }
}

record! {
    /// A consumer as it is stored.
    pub struct Checkpoint {
        /// The consumer.
        pub consumer: ConsumerKey = key,
        /// Tells this consumer from the others that ever had its name.
        pub incarnation: Revision = required("incarnation"),
        /// The revision of this state.
        pub revision: Revision = required("revision"),
        /// The time that an event has to land, before the consumer reads past it.
        pub settle: SettleSeconds = required("settle"),
        /// No event at or before it is ever given. The beginning of the topic is [`EventId::MIN`]: it excludes this id alone.
        pub start: EventId = required("start"),
        /// All events at or before it are committed.
        pub position: EventId = required("position"),
        /// The use of the consumer.
        pub mode: Option<ConsumerMode> = optional("mode"),
        /// The ledger's counters that are dealt with.
        pub known: LedgerCounters = required("known"),
        /// The end of the run under way.
        pub running: Option<EventId> = optional("running"),
        /// The batch that was given out.
        pub outstanding: Option<Outstanding> = part_if("batch"),
        /// At most one for each partition.
        pub sweeps: Vec<Sweep> = list("sweeps"),
        /// The batch that was committed last.
        pub last: Option<BatchToken> = optional("last"),
        /// True if the consumer is being deleted.
        pub deleting: bool = flag(DELETING = "deleting"),
    }
}

record! {
    /// A partition of the late ledger that is too long to be looked through at once.
    pub struct Sweep {
        /// The partition.
        pub shard: u8 = required("shard"),
        /// The partition's counter when the sweep began at the first entry.
        pub count: u64 = required("count"),
        /// All entries at or before this id that had landed by then are settled.
        pub behind: EventId = required("behind"),
    }
}

maps! {
    Sweep if |sweep| sweep.shard < LATE_SHARDS;
}

record! {
    /// A batch that was given out and is not committed.
    pub struct Outstanding {
        /// The batch's name.
        pub batch: BatchToken = required("batch"),
        /// The batch goes up to this event.
        pub upto: EventId = required("upto"),
        /// Its events from behind the position, oldest first.
        pub late: Vec<EventId> = required("late"),
        /// Its other events that were in the ledger when the batch was made, oldest first.
        pub noted: Vec<EventId> = list("noted"),
        /// The counters that are dealt with once the batch is committed.
        pub dealt: LedgerCounters = required("dealt"),
    }
}

impl Checkpoint {
    /// A consumer that is being created.
    pub fn new(consumer: &ConsumerKey, start: EventId, settle: SettleSeconds, incarnation: Revision) -> Self {
        Self {
            consumer: consumer.clone(),
            incarnation,
            revision: incarnation,
            settle,
            start,
            position: start,
            mode: None,
            known: LedgerCounters::default(),
            running: None,
            outstanding: None,
            sweeps: Vec::new(),
            last: None,
            deleting: false,
        }
    }

    /// The last id whose event has had the time to land.
    pub fn watermark(&self, now: UnixMillis) -> EventId {
        EventId::last_of(now.saturating_sub(self.settle.millis()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::Value;
    use crate::item::Item;
    use crate::tests::{ID, nightly};

    fn checkpoint() -> Checkpoint {
        Checkpoint::new(&nightly(), EventId::MIN, SettleSeconds::default(), Revision::new(7))
    }

    /// Asserts that a checkpoint is stored as an item, and read back.
    fn assert_stored(checkpoint: &Checkpoint, item: &Item) {
        assert_eq!(checkpoint.encode(), *item);
        assert_eq!(Checkpoint::decode(item).as_ref(), Ok(checkpoint));
    }

    #[test]
    fn golden_bytes() {
        let zeros = || Value::list([0_u64; 16]);
        let before_all = "00000000-0000-7000-8000-000000000000";
        let new = Item::from([("pk", "CONSUMER#billing#nightly"), ("sk", "CHECKPOINT")])
            .with("incarnation", 7_u64)
            .with("revision", 7_u64)
            .with("settle", 10_u64)
            .with("start", before_all)
            .with("position", before_all)
            .with("known", zeros());
        assert_stored(&checkpoint(), &new);
        let runs = Checkpoint { mode: Some(ConsumerMode::Runs), ..checkpoint() };
        assert_stored(&runs, &new.clone().with("mode", "runs"));

        let id: EventId = ID.parse().unwrap();
        let all = Checkpoint {
            mode: Some(ConsumerMode::Polls),
            running: Some(id),
            last: Some(BatchToken::new(Revision::new(7), Revision::new(8))),
            deleting: true,
            outstanding: Some(Outstanding {
                batch: BatchToken::new(Revision::new(7), Revision::new(9)),
                upto: id,
                late: vec![id],
                noted: vec![id],
                dealt: LedgerCounters::default(),
            }),
            sweeps: vec![Sweep { shard: 3, count: 17, behind: id }],
            ..checkpoint()
        };
        let bytes =
            [0x01, 0x90, 0xa4, 0xcd, 0xd3, 0xe7, 0x72, 0x22, 0x9f, 0x99, 0xfd, 0xb7, 0x4f, 0xee, 0xe7, 0x52];
        let sweep = Item::new().with("shard", 3_u64).with("count", 17_u64).with("behind", ID);
        let stored = new
            .with("mode", "polls")
            .with("running", ID)
            .with("last", "7-8")
            .with("deleting", true)
            .with("batch", "7-9")
            .with("upto", ID)
            .with("late", Value::bytes(bytes))
            .with("noted", Value::bytes(bytes))
            .with("dealt", zeros())
            .with("sweeps", Value::list([sweep]));
        assert_stored(&all, &stored);
    }

    #[test]
    fn an_item_with_a_wrong_attribute_is_corrupt() {
        for (name, value) in [
            ("settle", Value::from(3_601_u64)),
            ("mode", "both".into()),
            ("known", Value::list([0_u64; 0])),
            ("position", "x".into()),
            ("batch", "1-1".into()),
            ("sweeps", Value::list([1_u64])),
        ] {
            Checkpoint::decode(&checkpoint().encode().with(name, value)).unwrap_err();
        }
    }
}
