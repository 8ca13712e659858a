//! A consumer's checkpoint: the position up to which it has read.
//!
//! ```text
//! table   pk  CONSUMER#{topic}#{name}    sk  CHECKPOINT
//!   incarnation N (the unix microseconds of its creation), revision N, settle N (seconds)
//!   start S (an id: no event at or before it is ever given), position S (all events at or before it are committed)
//!   passed S? (an id: the consumer may have passed the events up to it without waiting for `settle`)
//!   log L (2 N: the place in the topic's late log), mode S? (polls | runs, from the first use on)
//!   running S? (the end of the run under way), last S? (the batch that was committed last), deleting BOOL?
//!   the outstanding batch:  batch S, upto S (an id), late B (ids, 16 bytes each), log_after L (2 N)
//! ```
//!
//! It shares a partition with the consumer's report runs ([`RunKey`](crate::RunKey)).
//!
//! A writer replaces the whole item under its revision. A writer that loses reads the item and decides again, so every
//! decision must be safe to make twice.

use lately_keys::{Consumer, EventId, Topic, UnixMillis};
use lately_model::{BatchToken, Revision, SettleSeconds};

use crate::key::key;
use crate::late_log::LatePlace;
use crate::record::record;

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
        /// The consumer may have passed the events up to this one without waiting for `settle`.
        pub passed: Option<EventId> = optional("passed"),
        /// The consumer's place in the topic's late log.
        pub log: LatePlace = required("log"),
        /// The end of the run under way.
        pub running: Option<EventId> = optional("running"),
        /// The batch that was given out.
        pub outstanding: Option<Outstanding> = part_if("batch"),
        /// The batch that was committed last.
        pub last: Option<BatchToken> = optional("last"),
        /// True if the consumer is being deleted.
        pub deleting: bool = flag(DELETING = "deleting"),
    }
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
        /// The consumer's place in the late log once the batch is committed.
        pub log_after: LatePlace = required("log_after"),
    }
}

impl Checkpoint {
    /// A consumer that is being created. `log_end` is the number of the last item of the topic's late log: the events
    /// that the log names up to there are stored already.
    pub fn new(
        consumer: &ConsumerKey,
        start: EventId,
        settle: SettleSeconds,
        log_end: u64,
        incarnation: Revision,
    ) -> Self {
        Self {
            consumer: consumer.clone(),
            incarnation,
            revision: incarnation,
            settle,
            start,
            position: start,
            mode: None,
            passed: None,
            log: LatePlace::after(log_end),
            running: None,
            outstanding: None,
            last: None,
            deleting: false,
        }
    }

    /// The consumer, which may have passed the events up to this one without waiting.
    pub fn having_passed(self, id: EventId) -> Self {
        let passed = self.passed.max(Some(id));
        Self { passed, ..self }
    }

    /// The consumer with another settle time. If it is longer, events that the consumer has passed by now had less time.
    pub fn with_settle(self, settle: SettleSeconds) -> Self {
        let is_longer = settle > self.settle;
        let changed = Self { settle, ..self };
        if !is_longer {
            return changed;
        }
        let upto = changed.outstanding.as_ref().map(|outstanding| outstanding.upto);
        let reached = upto.max(changed.running).max(Some(changed.position)).unwrap_or(changed.position);
        changed.having_passed(reached)
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
        Checkpoint::new(&nightly(), EventId::MIN, SettleSeconds::default(), 5, Revision::new(7))
    }

    /// Asserts that a checkpoint is stored as an item, and read back.
    fn assert_stored(checkpoint: &Checkpoint, item: &Item) {
        assert_eq!(checkpoint.encode(), *item);
        assert_eq!(Checkpoint::decode(item).as_ref(), Ok(checkpoint));
    }

    #[test]
    fn golden_bytes() {
        let before_all = "00000000-0000-7000-8000-000000000000";
        let new = Item::from([("pk", "CONSUMER#billing#nightly"), ("sk", "CHECKPOINT")])
            .with("incarnation", 7_u64)
            .with("revision", 7_u64)
            .with("settle", 10_u64)
            .with("start", before_all)
            .with("position", before_all)
            .with("log", Value::list([5_u64, 0]));
        assert_stored(&checkpoint(), &new);
        let runs = Checkpoint { mode: Some(ConsumerMode::Runs), ..checkpoint() };
        assert_stored(&runs, &new.clone().with("mode", "runs"));

        let id: EventId = ID.parse().unwrap();
        let all = Checkpoint {
            mode: Some(ConsumerMode::Polls),
            passed: Some(id),
            running: Some(id),
            last: Some(BatchToken::new(Revision::new(7), Revision::new(8))),
            deleting: true,
            outstanding: Some(Outstanding {
                batch: BatchToken::new(Revision::new(7), Revision::new(9)),
                upto: id,
                late: vec![id],
                log_after: LatePlace { number: 6, ids: 3 },
            }),
            ..checkpoint()
        };
        let bytes =
            [0x01, 0x90, 0xa4, 0xcd, 0xd3, 0xe7, 0x72, 0x22, 0x9f, 0x99, 0xfd, 0xb7, 0x4f, 0xee, 0xe7, 0x52];
        let stored = new
            .with("mode", "polls")
            .with("passed", ID)
            .with("running", ID)
            .with("last", "7-8")
            .with("deleting", true)
            .with("batch", "7-9")
            .with("upto", ID)
            .with("late", Value::bytes(bytes))
            .with("log_after", Value::list([6_u64, 3]));
        assert_stored(&all, &stored);
    }

    #[test]
    fn an_item_with_a_wrong_attribute_is_corrupt() {
        for (name, value) in [
            ("settle", Value::from(3_601_u64)),
            ("mode", "both".into()),
            ("log", Value::list([0_u64; 3])),
            ("position", "x".into()),
            ("batch", "1-1".into()),
        ] {
            Checkpoint::decode(&checkpoint().encode().with(name, value)).unwrap_err();
        }
    }
}
