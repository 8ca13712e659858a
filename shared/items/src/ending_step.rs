//! The next step of a deletion, or of a change of the retention.
//!
//! ```text
//! table   pk  JOB#DELETION#{topic}     sk  STEP
//!   begun N (milliseconds), step N (its number), bucket S (the width of the topic's buckets)
//!   listed B (16 bytes for each event that the step deletes), over S? (labels of the buckets that it deletes then)
//!   awaited L? of S (some of the listed or deleted events, each with a source), since N? (when they were deleted)
//!   at S?, shard N? (of the bucket with this label, this many shards hold no more events)
//!   events N, buckets N (deleted so far, those listed included), consumers N (that the topic had)
//!   finished N? (milliseconds), expires_at N? (once nothing is left)
//!         pk  JOB#RETENTION#{topic}    sk  STEP
//!   begun N (milliseconds), step N (its number), retention_days N? (the new retention; forever if absent)
//!   floor N (milliseconds: all older events are deleted), events N (handled so far)
//!   open L? of S (the partitions that the step goes on with: bucket, shard, and the id after which it goes on)
//!   rest S (all, from or none: the partitions that are not begun), at S?, shard N? (from this bucket and shard on)
//! ```

use crate::attribute::stored_as;
use crate::ending::{Ending, EndingStepKey};
use crate::item::{Corrupt, Item};
use crate::record::{Record, record};
use crate::work::StepName;
use lately_keys::{Bucket, BucketWidth, EventId, Shard, Source, Topic, UnixMillis};
use lately_model::{EndingState, RetentionDays, TopicDeletion};

record! {
    /// The next step of a topic's deletion.
    pub struct DeletionStep {
        /// The topic.
        pub topic: Topic = of_key,
        /// The step's name.
        pub name: StepName = part,
        /// The width of the topic's buckets.
        pub width: BucketWidth = required("bucket"),
        /// The step begins with the deletion of these events …
        pub listed: Vec<EventId> = required("listed"),
        /// … and then of the directory's entries for these buckets.
        pub over: Vec<Bucket> = list("over"),
        /// Some of the events that were deleted, each with a source. The step waits until fan-out has removed their entries.
        pub awaited: Vec<(EventId, Source)> = list("awaited"),
        /// When they were deleted.
        pub waiting_since: Option<UnixMillis> = optional("since"),
        /// A bucket, and the number of its shards that hold no more events.
        pub at: Option<(Bucket, u16)> = part_if("at"),
        /// The events that are deleted so far, those listed included.
        pub events: u64 = required("events"),
        /// The buckets whose entries are deleted so far, those listed included.
        pub buckets: u64 = required("buckets"),
        /// The consumers that the topic had.
        pub consumers: u64 = required("consumers"),
        /// When the topic's name is free; `None` while something is left.
        pub finished: Option<UnixMillis> = optional("finished"),
        /// When the item expires, in unix seconds.
        pub expires_at: Option<u64> = optional("expires_at"),
    }
    key EndingStepKey { topic, .. }
}

stored_as! {
    (EventId, Source) as String: |(id, source)| format!("{id} {source}"), |text| {
        let (id, source) = text.split_once(' ')?;
        Some((id.parse().ok()?, source.parse().ok()?))
    };
}

/// A bucket, and the number of a shard or of shards.
impl Record for (Bucket, u16) {
    fn add_to(&self, item: Item) -> Item {
        item.with("at", &self.0).with("shard", self.1)
    }

    fn decode(item: &Item) -> Result<Self, Corrupt> {
        Ok((item.get("at")?, item.get("shard")?))
    }
}

impl DeletionStep {
    /// The first step.
    pub const fn first(topic: Topic, begun: UnixMillis, width: BucketWidth) -> Self {
        Self {
            topic,
            name: StepName::first(begun),
            width,
            listed: Vec::new(),
            over: Vec::new(),
            awaited: Vec::new(),
            waiting_since: None,
            at: None,
            events: 0,
            buckets: 0,
            consumers: 0,
            finished: None,
            expires_at: None,
        }
    }

    /// The step after this one, with nothing listed yet.
    pub fn next(&self) -> Self {
        Self { name: self.name.next(), listed: Vec::new(), over: Vec::new(), ..self.clone() }
    }

    /// The step's item.
    pub fn encode(&self) -> Item {
        self.add_to(Item::at(&Ending::Deletion.step_of(&self.topic)))
    }

    /// The deletion as a client sees it.
    pub fn view(&self, now: UnixMillis) -> TopicDeletion {
        let finished_at = self.finished.filter(|finished| *finished <= now);
        let state = if finished_at.is_some() { EndingState::Done } else { EndingState::Deleting };
        let Self { events, buckets, consumers, .. } = *self;
        let begun_at = self.name.begun;
        let topic = self.topic.clone();
        TopicDeletion { topic, state, begun_at, finished_at, events, buckets, consumers }
    }
}

record! {
    /// The next step of a change of the retention.
    pub struct RetentionStep {
        /// The topic.
        pub topic: Topic = of_key,
        /// The step's name.
        pub name: StepName = part,
        /// The new retention.
        pub days: Option<RetentionDays> = optional("retention_days"),
        /// All older events are deleted.
        pub floor: UnixMillis = required("floor"),
        /// The partitions that the step goes on with.
        pub open: Vec<RetentionPlace> = list("open"),
        /// The partitions after those.
        pub rest: RestOfTopic = part,
        /// The events that earlier steps have handled.
        pub events: u64 = required("events"),
    }
    key EndingStepKey { topic, .. }
}

/// A place in a partition of a topic's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionPlace {
    /// The bucket.
    pub bucket: Bucket,
    /// The shard.
    pub shard: Shard,
    /// The events after this one are left.
    pub after: Option<EventId>,
}

/// The partitions of a topic that a walk has not begun yet, on its way from the newest bucket to the oldest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestOfTopic {
    /// All partitions.
    All,
    /// Those of this bucket from this shard on, and those of older buckets.
    From(Bucket, Shard),
    /// None.
    None,
}

impl RetentionStep {
    /// The first step.
    pub const fn first(
        topic: Topic,
        begun: UnixMillis,
        days: Option<RetentionDays>,
        floor: UnixMillis,
    ) -> Self {
        let name = StepName::first(begun);
        Self { topic, name, days, floor, open: Vec::new(), rest: RestOfTopic::All, events: 0 }
    }

    /// The step after this one.
    pub fn next(&self, open: Vec<RetentionPlace>, rest: RestOfTopic, events: u64) -> Self {
        Self { name: self.name.next(), open, rest, events: self.events + events, ..self.clone() }
    }

    /// The step's item.
    pub fn encode(&self) -> Item {
        self.add_to(Item::at(&Ending::Retention.step_of(&self.topic)))
    }

    /// The bucket that the steps have come to; `None` at their beginning and at their end.
    pub fn bucket(&self) -> Option<Bucket> {
        match self.rest {
            RestOfTopic::From(bucket, _) => Some(bucket),
            RestOfTopic::All | RestOfTopic::None => self.open.last().map(|place| place.bucket),
        }
    }
}

impl Record for RestOfTopic {
    fn add_to(&self, item: Item) -> Item {
        match self {
            Self::All => item.with("rest", "all"),
            Self::From(bucket, shard) => item.with("rest", "from").with("at", bucket).with("shard", shard),
            Self::None => item.with("rest", "none"),
        }
    }

    fn decode(item: &Item) -> Result<Self, Corrupt> {
        match item.text("rest")? {
            "all" => Ok(Self::All),
            "none" => Ok(Self::None),
            "from" => Ok(Self::From(item.get("at")?, item.get("shard")?)),
            _ => Err(item.corrupt("rest")),
        }
    }
}

stored_as! {
    RetentionPlace as String: |place| {
        let after = place.after.map(|after| format!(" {after}")).unwrap_or_default();
        format!("{} {}{after}", place.bucket, place.shard)
    }, |text| {
        let mut parts = text.split(' ');
        let (bucket, shard) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let after = parts.next().map(str::parse).transpose().ok()?;
        parts.next().is_none().then_some(Self { bucket, shard, after })
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::Value;
    use crate::tests::{ID, millis};

    #[test]
    fn golden_bytes_of_a_deletion() {
        let first = DeletionStep::first("posts".parse().unwrap(), millis(1_000_500), BucketWidth::Day);
        let step = DeletionStep {
            listed: vec![ID.parse().unwrap()],
            over: vec!["2024-07-12".parse().unwrap(), "2024-07-11".parse().unwrap()],
            awaited: vec![(ID.parse().unwrap(), "subject:repo:octo:hello".parse().unwrap())],
            waiting_since: Some(millis(1_000_600)),
            at: Some(("2024-07-10".parse().unwrap(), 3)),
            events: 7,
            buckets: 2,
            consumers: 1,
            ..first.next()
        };
        let bytes = ID.parse::<EventId>().unwrap().as_uuid().as_bytes().to_vec();
        let expected = Item::from([("pk", "JOB#DELETION#posts"), ("sk", "STEP"), ("bucket", "day")])
            .with("begun", 1_000_500_u64)
            .with("step", 1_u64)
            .with("listed", Value::bytes(bytes))
            .with("over", "2024-07-12 2024-07-11")
            .with("awaited", Value::list([format!("{ID} subject:repo:octo:hello")]))
            .with("since", 1_000_600_u64)
            .with("at", "2024-07-10")
            .with("shard", 3_u64)
            .with("events", 7_u64)
            .with("buckets", 2_u64)
            .with("consumers", 1_u64);
        assert_eq!(step.encode(), expected);
        let done = DeletionStep { finished: Some(millis(2_000_000)), expires_at: Some(9), ..step.next() };
        for step in [first, step, done.clone()] {
            assert_eq!(DeletionStep::decode(&step.encode()), Ok(step));
        }
        let state = |now| done.view(millis(now)).state;
        assert_eq!((state(1_999_999), state(2_000_000)), (EndingState::Deleting, EndingState::Done));
    }

    #[test]
    fn golden_bytes_of_a_retention() {
        let first =
            |days| RetentionStep::first("posts".parse().unwrap(), millis(1_000_500), days, millis(500));
        let (first, forever) = (first(RetentionDays::new(7).ok()), first(None));
        let (bucket, older) = ("2024-07-12".parse().unwrap(), "2024-07-11".parse().unwrap());
        let place = |shard: u8, after| RetentionPlace { bucket, shard: shard.into(), after };
        let open = vec![place(3, Some(ID.parse().unwrap())), place(4, None)];
        let step = first.next(open, RestOfTopic::From(older, 5.into()), 900);
        let expected = Item::from([("pk", "JOB#RETENTION#posts"), ("sk", "STEP"), ("at", "2024-07-11")])
            .with("begun", 1_000_500_u64)
            .with("step", 1_u64)
            .with("retention_days", 7_u64)
            .with("floor", 500_u64)
            .with("open", Value::list([format!("2024-07-12 3 {ID}"), "2024-07-12 4".to_owned()]))
            .with("rest", "from")
            .with("shard", 5_u64)
            .with("events", 900_u64);
        assert_eq!(step.encode(), expected);
        let rests = [RestOfTopic::All, RestOfTopic::None, RestOfTopic::From(older, 0.into())];
        let others = rests.map(|rest| RetentionStep { rest, ..forever.clone() });
        for step in others.into_iter().chain([first, step, forever]) {
            assert_eq!(RetentionStep::decode(&step.encode()), Ok(step));
        }
    }
}
