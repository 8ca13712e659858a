//! The next step of an erasure, and its receipt.
//!
//! ```text
//! table   pk  JOB#ERASURE#{id}    sk  STEP
//!   names S (the SHA-256 of the names), begun N (milliseconds), step N (its number), stage S, counts L of 7 N
//!   until the erasure is done: actor S?, user S?
//!   where the step begins to look: topic S?, bucket S? (a label), shard N, behind S? (an id), after S? (a user)
//!   what the step removes first:
//!     events L? of M: o S (topic), b S (bucket width), k BOOL? (written under an idempotency key), e B (ids)
//!     feed B? (ids of entries of the user's feed), keys L? of S (pk and sk of other items, in turn)
//!     follows L? of S (sources), followers L? of S (users), issues L? of S (pk and sk, in turn)
//!   what the step waits for: awaited L? of S (pk and sk of entries and copies, in turn), waiting N? (milliseconds, since when)
//!   again BOOL? (the look that ends the search has found something)
//!   once it is done: finished N (milliseconds), ids_sha256 S
//! ```
//!
//! The list is durable before its items are removed, and items are counted when they are listed. So each item is counted
//! once, however often a step is repeated.

use aws_sdk_dynamodb::types::AttributeValue;
use lately_keys::{
    Actor, Bucket, BucketWidth, ErasureId, EventId, Key, Shard, Source, Topic, UnixMillis, User,
};
use lately_model::ErasureCounts;

use crate::attribute::{Attribute, stored_as};
use crate::erasure::{ErasedNames, ErasureStepKey};
use crate::item::Item;
use crate::record::{Record, maps, record};
use crate::work::StepName;

lately_keys::words! {
    /// The parts of an erasure, in their order.
    pub enum ErasureStage {
        /// The issues that the user opened.
        OfUser = "issues of the user",
        /// The issues that the actor opened: their events name them, and are erased.
        OfActor = "issues of the actor",
        /// The user's feed.
        Feed = "feed",
        /// The sources that the user follows.
        Follows = "follows",
        /// The user's profile and sessions.
        Records = "records",
        /// The events that the actor's timeline lists.
        Timeline = "timeline",
        /// The topics whose events it may not list.
        Topics = "topics",
        /// The followers of the actor.
        Followers = "followers",
        /// The entries that the actor's timeline still lists.
        Left = "left",
        /// The receipt is made.
        Finish = "finish",
    }
}

impl ErasureStage {
    /// The first stage.
    pub const FIRST: Self = Self::OfUser;

    /// The stage after this one. The last one has none.
    pub fn next(self) -> Self {
        Self::ALL.into_iter().skip_while(|stage| *stage != self).nth(1).unwrap_or(Self::Finish)
    }
}

record! {
    /// The place at which a step begins to look for what is left.
    pub struct ErasurePlace {
        /// The stage.
        pub stage: ErasureStage = required("stage"),
        /// The topic that is walked through, or the last topic that was.
        pub topic: Option<Topic> = optional("topic"),
        /// The bucket of the topic; `None` if the topic is done.
        pub bucket: Option<Bucket> = optional("bucket"),
        /// The shard of the bucket, or of the followers.
        pub shard: Shard = required("shard"),
        /// The last event or entry that was looked at.
        pub behind: Option<EventId> = optional("behind"),
        /// The last follower that was looked at.
        pub after: Option<User> = optional("after"),
    }
}

impl ErasurePlace {
    /// The beginning of a stage.
    pub fn of(stage: ErasureStage) -> Self {
        Self { stage, topic: None, bucket: None, shard: Shard::from(0), behind: None, after: None }
    }
}

record! {
    /// Events of one topic that are erased.
    pub struct ListedEvents {
        /// The topic.
        pub topic: Topic = required("o"),
        /// The width of the topic's buckets.
        pub width: BucketWidth = required("b"),
        /// True if they were written under idempotency keys. Then a note keeps retries from writing them again.
        pub is_keyed: bool = flag("k"),
        /// The events.
        pub ids: Vec<EventId> = required("e"),
    }
}

maps! {
    ListedEvents;
}

record! {
    /// The items that the next step removes.
    #[derive(Default)]
    pub struct ErasureList {
        /// Events.
        pub events: Vec<ListedEvents> = list("events"),
        /// Entries of the user's feed.
        pub feed: Vec<EventId> = list("feed"),
        /// The keys of other items.
        pub keys: Vec<Key> = list("keys"),
        /// The sources that the user follows.
        pub follows: Vec<Source> = list("follows"),
        /// The followers of the actor.
        pub followers: Vec<User> = list("followers"),
        /// The keys of issues that the person opened.
        pub issues: Vec<Key> = list("issues"),
    }
}

/// A key's two texts. A list of keys is a list of these texts in turn.
impl Attribute for Key {
    fn write_list(keys: &[Self]) -> AttributeValue {
        String::write_list(&keys.iter().flat_map(|key| [key.pk.clone(), key.sk.clone()]).collect::<Vec<_>>())
    }

    fn read_list(value: &AttributeValue) -> Option<Vec<Self>> {
        let texts = String::read_list(value)?;
        let (pairs, []) = texts.as_chunks::<2>() else { return None };
        Some(pairs.iter().map(|[pk, sk]| Self { pk: pk.clone(), sk: sk.clone() }).collect())
    }
}

record! {
    /// The end of an erasure.
    pub struct ErasureEnd {
        /// When it was done.
        pub at: UnixMillis = required("finished"),
        /// The hash of the erased ids.
        pub ids_sha256: String = required("ids_sha256"),
    }
}

record! {
    /// The next step of an erasure.
    pub struct ErasureStep {
        /// The erasure.
        pub erasure: ErasureId = of_key,
        /// The hash of the names.
        pub names: ErasedNames = required("names"),
        /// The actor; none once the erasure is done.
        pub actor: Option<Actor> = optional(ACTOR = "actor"),
        /// The user; none once the erasure is done.
        pub user: Option<User> = optional(USER = "user"),
        /// The step's name.
        pub name: StepName = part,
        /// The place at which the step begins to look.
        pub at: ErasurePlace = part,
        /// True if the last look at the actor's timeline has found something, and must be repeated.
        pub again: bool = flag("again"),
        /// The items that the step removes first.
        pub listed: ErasureList = part,
        /// Some entries and copies of the events that were removed last. The step waits until fan-out has removed them.
        pub awaited: Vec<Key> = list("awaited"),
        /// Since when it waits.
        pub waiting_since: Option<UnixMillis> = optional("waiting"),
        /// The items that were listed so far.
        pub counts: ErasureCounts = required("counts"),
        /// The end, once the erasure is done.
        pub finished: Option<ErasureEnd> = part_if("finished"),
    }
    key ErasureStepKey { erasure }
}

stored_as! {
    // The counts in the order in which they are stored.
    ErasureCounts as Vec<u64>: |counts| {
        let Self { events, follows, followers, profile, sessions, feed, issues } = *counts;
        vec![events, follows, followers, profile, sessions, feed, issues]
    }, |numbers| {
        let [events, follows, followers, profile, sessions, feed, issues] = numbers.try_into().ok()?;
        Some(Self { events, follows, followers, profile, sessions, feed, issues })
    };
}

impl ErasureStep {
    /// The first step.
    pub fn first(erasure: ErasureId, actor: Option<Actor>, user: Option<User>, begun: UnixMillis) -> Self {
        Self {
            erasure,
            names: ErasedNames::of(actor.as_ref(), user.as_ref()),
            actor,
            user,
            name: StepName::first(begun),
            at: ErasurePlace::of(ErasureStage::FIRST),
            again: false,
            listed: ErasureList::default(),
            awaited: Vec::new(),
            waiting_since: None,
            counts: ErasureCounts::default(),
            finished: None,
        }
    }

    /// The step's item.
    pub fn encode(&self) -> Item {
        self.add_to(Item::at(&ErasureStepKey { erasure: self.erasure }))
    }

    /// The step after this one, with nothing listed yet.
    pub fn next(&self) -> Self {
        Self { name: self.name.next(), listed: ErasureList::default(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::Value;
    use crate::item::Item;
    use crate::tests::{ID, millis};

    fn first() -> ErasureStep {
        let (actor, user) = ("ada".parse().ok(), "bob".parse().ok());
        ErasureStep::first(ID.parse().unwrap(), actor, user, millis(1_000_500))
    }

    #[test]
    fn golden_bytes() {
        // printf 'actor:ada\nuser:bob\n' | sha256sum
        let names = "5ff6f2cb408f4e1a74017aa1ca45fde92efaf09109402870551231c5c78ff4d6";
        let pk = format!("JOB#ERASURE#{ID}");
        let base = Item::from([("pk", &*pk), ("sk", "STEP"), ("actor", "ada"), ("user", "bob")])
            .with("begun", 1_000_500_u64)
            .with("shard", 0_u64)
            .with("names", names);
        let expected = base
            .clone()
            .with("step", 0_u64)
            .with("stage", "issues of the user")
            .with("counts", Value::list([0_u64; 7]));
        assert_eq!(first().encode(), expected);

        let id: EventId = ID.parse().unwrap();
        let bytes = || Value::bytes(id.as_uuid().as_bytes().to_vec());
        let key = || Key { pk: "a".to_owned(), sk: "b".to_owned() };
        let (topic, shard): (Topic, _) = ("posts".parse().unwrap(), Shard::from(7));
        let step = ErasureStep {
            at: ErasurePlace {
                stage: ErasureStage::Topics,
                topic: Some(topic.clone()),
                bucket: "2024-07-12".parse().ok(),
                shard,
                behind: Some(id),
                after: "cy".parse().ok(),
            },
            again: true,
            listed: ErasureList {
                events: vec![ListedEvents { topic, width: BucketWidth::Day, is_keyed: true, ids: vec![id] }],
                feed: vec![id],
                keys: vec![key()],
                follows: vec!["actor:ada".parse().unwrap()],
                followers: vec!["cy".parse().unwrap()],
                issues: vec![key()],
            },
            awaited: vec![key()],
            waiting_since: Some(millis(1_000_700)),
            counts: ErasureCounts { events: 7, issues: 12, ..ErasureCounts::default() },
            ..first().next()
        };
        let events = Item::from([("o", "posts"), ("b", "day")]).with("k", true).with("e", bytes());
        let expected = base
            .with("step", 1_u64)
            .with("stage", "topics")
            .with("topic", "posts")
            .with("bucket", "2024-07-12")
            .with("shard", 7_u64)
            .with("behind", ID)
            .with("after", "cy")
            .with("again", true)
            .with("events", Value::list([events]))
            .with("feed", bytes())
            .with("keys", Value::list(["a", "b"]))
            .with("follows", Value::list(["actor:ada"]))
            .with("followers", Value::list(["cy"]))
            .with("issues", Value::list(["a", "b"]))
            .with("awaited", Value::list(["a", "b"]))
            .with("waiting", 1_000_700_u64)
            .with("counts", Value::list([7_u64, 0, 0, 0, 0, 0, 12]));
        assert_eq!(step.encode(), expected);
        let finished = ErasureEnd { at: millis(2_000_000), ids_sha256: "ab".repeat(32) };
        let done = ErasureStep { actor: None, user: None, finished: Some(finished), ..first().next() };
        for step in [first(), step, done.clone()] {
            assert_eq!(ErasureStep::decode(&step.encode()), Ok(step));
        }
    }

    #[test]
    fn every_stage_has_a_text_and_a_next_one() {
        let mut stage = ErasureStage::FIRST;
        for known in ErasureStage::ALL {
            assert_eq!((stage, known.as_str().parse()), (known, Ok(known)));
            stage = stage.next();
        }
        assert_eq!(stage, ErasureStage::Finish);
    }

    #[test]
    fn an_item_with_a_wrong_attribute_is_corrupt() {
        for (name, value) in [
            ("stage", Value::from("x")),
            ("names", "x".into()),
            ("counts", 1_u64.into()),
            ("feed", Value::bytes([1; 17])),
            ("keys", Value::list(["a"])),
            ("follows", Value::list(["a"])),
        ] {
            ErasureStep::decode(&first().encode().with(name, value)).unwrap_err();
        }
    }
}
