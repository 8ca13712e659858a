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

use lately_keys::{
    Actor, Bucket, BucketWidth, ErasureId, EventId, Key, Shard, Source, TableKey, Topic, UnixMillis, User,
};
use lately_model::ErasureCounts;

use crate::erasure::{ErasedNames, ErasureStepKey};
use crate::item::{Corrupt, Item, Value};
use crate::work::{FINISHED, Step, StepName};

/// The parts of an erasure, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErasureStage {
    /// The issues that the user opened.
    OfUser,
    /// The issues that the actor opened: their events name them, and are erased.
    OfActor,
    /// The user's feed.
    Feed,
    /// The sources that the user follows.
    Follows,
    /// The user's profile and sessions.
    Records,
    /// The events that the actor's timeline lists.
    Timeline,
    /// The topics whose events it may not list.
    Topics,
    /// The followers of the actor.
    Followers,
    /// The entries that the actor's timeline still lists.
    Left,
    /// The receipt is made.
    Finish,
}

impl ErasureStage {
    /// The first stage.
    pub const FIRST: Self = Self::OfUser;

    const ALL: [(Self, &'static str); 10] = [
        (Self::OfUser, "issues of the user"),
        (Self::OfActor, "issues of the actor"),
        (Self::Feed, "feed"),
        (Self::Follows, "follows"),
        (Self::Records, "records"),
        (Self::Timeline, "timeline"),
        (Self::Topics, "topics"),
        (Self::Followers, "followers"),
        (Self::Left, "left"),
        (Self::Finish, "finish"),
    ];

    fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(stage, _)| *stage == self).map_or("", |(_, text)| text)
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| *known == text).map(|(stage, _)| stage)
    }

    /// The stage after this one. The last one has none.
    pub fn next(self) -> Self {
        let place = Self::ALL.iter().position(|(stage, _)| *stage == self);
        place.and_then(|place| Self::ALL.get(place + 1)).map_or(Self::Finish, |(stage, _)| *stage)
    }
}

/// The place at which a step begins to look for what is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasurePlace {
    /// The stage.
    pub stage: ErasureStage,
    /// The topic that is walked through, or the last topic that was.
    pub topic: Option<Topic>,
    /// The bucket of the topic; `None` if the topic is done.
    pub bucket: Option<Bucket>,
    /// The shard of the bucket, or of the followers.
    pub shard: Shard,
    /// The last event or entry that was looked at.
    pub behind: Option<EventId>,
    /// The last follower that was looked at.
    pub after: Option<User>,
}

impl ErasurePlace {
    /// The beginning of a stage.
    pub fn of(stage: ErasureStage) -> Self {
        Self { stage, topic: None, bucket: None, shard: Shard::from(0), behind: None, after: None }
    }
}

/// Events of one topic that are erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedEvents {
    /// The topic.
    pub topic: Topic,
    /// The width of the topic's buckets.
    pub width: BucketWidth,
    /// True if they were written under idempotency keys. Then a note keeps retries from writing them again.
    pub is_keyed: bool,
    /// The events.
    pub ids: Vec<EventId>,
}

/// The items that the next step removes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasureList {
    /// Events.
    pub events: Vec<ListedEvents>,
    /// Entries of the user's feed.
    pub feed: Vec<EventId>,
    /// The keys of other items.
    pub keys: Vec<Key>,
    /// The sources that the user follows.
    pub follows: Vec<Source>,
    /// The followers of the actor.
    pub followers: Vec<User>,
    /// The keys of issues that the person opened.
    pub issues: Vec<Key>,
}

impl ErasureList {
    /// True if nothing is listed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The end of an erasure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasureEnd {
    /// When it was done.
    pub at: UnixMillis,
    /// The hash of the erased ids.
    pub ids_sha256: String,
}

/// The next step of an erasure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasureStep {
    /// The erasure.
    pub erasure: ErasureId,
    /// The hash of the names.
    pub names: ErasedNames,
    /// The actor; none once the erasure is done.
    pub actor: Option<Actor>,
    /// The user; none once the erasure is done.
    pub user: Option<User>,
    /// The step's name.
    pub name: StepName,
    /// The place at which the step begins to look.
    pub at: ErasurePlace,
    /// True if the last look at the actor's timeline has found something, and must be repeated.
    pub again: bool,
    /// The items that the step removes first.
    pub listed: ErasureList,
    /// Some entries and copies of the events that were removed last. The step waits until fan-out has removed them.
    pub awaited: Vec<Key>,
    /// Since when it waits.
    pub waiting_since: Option<UnixMillis>,
    /// The items that were listed so far.
    pub counts: ErasureCounts,
    /// The end, once the erasure is done.
    pub finished: Option<ErasureEnd>,
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

    /// The key of an erasure's step.
    pub fn key_of(erasure: ErasureId) -> Key {
        ErasureStepKey { erasure }.encode()
    }

    /// The step after this one, with nothing listed yet.
    pub fn next(&self) -> Self {
        Self { name: self.name.next(), listed: ErasureList::default(), ..self.clone() }
    }
}

impl Step for ErasureStep {
    fn key(&self) -> Key {
        Self::key_of(self.erasure)
    }

    fn name(&self) -> Option<StepName> {
        Some(self.name)
    }

    fn encode(&self) -> Item {
        let Self { at, listed, .. } = self;
        let texts = |texts: Vec<String>| (!texts.is_empty()).then(|| Value::list(texts));
        let keys =
            |keys: &[Key]| texts(keys.iter().flat_map(|key| [key.pk.clone(), key.sk.clone()]).collect());
        let names = |names: &mut dyn Iterator<Item = String>| texts(names.collect());
        let events = listed.events.iter().map(ListedEvents::encode);
        self.name
            .add_to(Item::at(&ErasureStepKey { erasure: self.erasure }))
            .with("names", self.names.to_string())
            .with("counts", Value::list(numbers(&self.counts)))
            .with("stage", at.stage.as_str())
            .with("shard", at.shard.get())
            .with_some("actor", self.actor.as_ref().map(Actor::as_str))
            .with_some("user", self.user.as_ref().map(User::as_str))
            .with_some("topic", at.topic.as_ref().map(Topic::as_str))
            .with_some("bucket", at.bucket.map(|bucket| bucket.to_string()))
            .with_some("behind", at.behind.map(|id| id.to_string()))
            .with_some("after", at.after.as_ref().map(User::as_str))
            .with_flag("again", self.again)
            .with_some("events", (!listed.events.is_empty()).then(|| Value::list(events)))
            .with_some("feed", (!listed.feed.is_empty()).then(|| Value::ids(&listed.feed)))
            .with_some("keys", keys(&listed.keys))
            .with_some("follows", names(&mut listed.follows.iter().map(ToString::to_string)))
            .with_some("followers", names(&mut listed.followers.iter().map(ToString::to_string)))
            .with_some("issues", keys(&listed.issues))
            .with_some("awaited", keys(&self.awaited))
            .with_some("waiting", self.waiting_since.map(UnixMillis::get))
            .with_some(FINISHED, self.finished.as_ref().map(|finished| finished.at.get()))
            .with_some("ids_sha256", self.finished.as_ref().map(|finished| finished.ids_sha256.as_str()))
    }

    fn decode(item: &Item) -> Result<Self, Corrupt> {
        let ErasureStepKey { erasure } = item.key_as()?;
        let at = ErasurePlace {
            stage: ErasureStage::parse(item.text("stage")?).ok_or_else(|| item.corrupt("stage"))?,
            topic: item.optional_parsed("topic")?,
            bucket: item.optional_parsed("bucket")?,
            shard: item.number::<u8>("shard")?.into(),
            behind: item.optional_parsed("behind")?,
            after: item.optional_parsed("after")?,
        };
        let listed = ErasureList {
            events: item.map_list("events")?.iter().map(ListedEvents::decode).collect::<Result<_, _>>()?,
            feed: if item.has("feed") { item.ids("feed")? } else { Vec::new() },
            keys: keys_of(item, "keys")?,
            follows: parsed_list(item, "follows")?,
            followers: parsed_list(item, "followers")?,
            issues: keys_of(item, "issues")?,
        };
        let finished = match item.has(FINISHED) {
            true => Some(ErasureEnd {
                at: item.millis(FINISHED)?,
                ids_sha256: item.text("ids_sha256")?.to_owned(),
            }),
            false => None,
        };
        Ok(Self {
            erasure,
            names: item.parsed("names")?,
            actor: item.optional_parsed("actor")?,
            user: item.optional_parsed("user")?,
            name: StepName::of(item)?,
            at,
            again: item.flag("again"),
            listed,
            awaited: keys_of(item, "awaited")?,
            waiting_since: match item.has("waiting") {
                true => Some(item.millis("waiting")?),
                false => None,
            },
            counts: decode_counts(item)?,
            finished,
        })
    }
}

impl ListedEvents {
    fn encode(&self) -> Item {
        Item::new()
            .with("o", self.topic.as_str())
            .with("b", self.width.as_str())
            .with_flag("k", self.is_keyed)
            .with("e", Value::ids(&self.ids))
    }

    fn decode(map: &Item) -> Result<Self, Corrupt> {
        let (topic, width) = (map.parsed("o")?, map.parsed("b")?);
        Ok(Self { topic, width, is_keyed: map.flag("k"), ids: map.ids("e")? })
    }
}

fn parsed_list<T: std::str::FromStr>(item: &Item, name: &'static str) -> Result<Vec<T>, Corrupt> {
    let texts = item.text_list(name)?.into_iter();
    texts.map(|text| text.parse().map_err(|_| item.corrupt(name))).collect()
}

fn keys_of(item: &Item, name: &'static str) -> Result<Vec<Key>, Corrupt> {
    let texts: Vec<String> = parsed_list(item, name)?;
    let (pairs, []) = texts.as_chunks::<2>() else { return Err(item.corrupt(name)) };
    Ok(pairs.iter().map(|[pk, sk]| Key { pk: pk.clone(), sk: sk.clone() }).collect())
}

/// The counts in the order in which they are stored.
const fn numbers(counts: &ErasureCounts) -> [u64; 7] {
    let ErasureCounts { events, follows, followers, profile, sessions, feed, issues } = *counts;
    [events, follows, followers, profile, sessions, feed, issues]
}

fn decode_counts(item: &Item) -> Result<ErasureCounts, Corrupt> {
    let numbers = <[u64; 7]>::try_from(item.number_list("counts")?).map_err(|_| item.corrupt("counts"))?;
    let [events, follows, followers, profile, sessions, feed, issues] = numbers;
    Ok(ErasureCounts { events, follows, followers, profile, sessions, feed, issues })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0190a4cd-d3e7-7222-9f99-fdb74feee752";

    fn millis(millis: u64) -> UnixMillis {
        UnixMillis::new(millis).unwrap()
    }

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
        for (known, text) in ErasureStage::ALL {
            assert_eq!((stage, ErasureStage::parse(text)), (known, Some(known)));
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
