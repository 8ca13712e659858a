//! The next step of an erasure, and its receipt.
//!
//! ```text
//! JOB#ERASURE#{id} / STEP
//!   names S (the SHA-256 of the names), begun N (milliseconds), step N (its number), stage S, counts L of 12 N
//!   until the erasure is done: actor S?, user S?
//!   where the step begins to look: topic S?, bucket S? (a label), shard N, behind S? (an id), after S? (a user)
//!   what the step removes first:
//!     events L? of M: o S (topic), b S (bucket width), k BOOL? (written under an idempotency key), e B (ids)
//!     feed B? (ids of entries of the user's feed), keys L? of S (pk and sk of other items, in turn)
//!     follows L? of S (sources), followers L? of S (users), issues L? of S (pk and sk, in turn)
//!   where the count of the listed events' copies goes on: source S?, at N? (a follower shard), last S? (a user)
//!   what the step waits for: awaited L? of S (pk and sk of entries and copies, in turn), waiting N? (milliseconds, since when)
//!   again BOOL? (topics were created meanwhile), landed N (how often ids were added at the end)
//!   once it is done: finished N (milliseconds), ids_sha256 S
//! ```
//!
//! The list is durable before its items are removed, and items are counted when they are listed. So each item is counted
//! once, however often a step is repeated.

use lately_keys::table::{ErasedNames, ErasureId, ErasureStepKey};
use lately_keys::{Actor, Bucket, BucketWidth, EventId, Key, Shard, Source, Topic, UnixMillis, User};
use lately_model::{Erasure, ErasureCounts, ErasureState};
use lately_table::{Condition, Corrupt, Item, Value};

use crate::consumer::checkpoint::{decode_ids, encode_ids};

/// The parts of an erasure, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The mark is put in every topic.
    Mark,
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
    /// Notes for those who follow the actor or the feed live.
    Live,
    /// The mark is put in topics that were created meanwhile.
    MarkAgain,
    /// Entries in the actor's timeline that fan-out has not removed yet.
    Left,
    /// The marks get an expiry.
    Unmark,
    /// The receipt is made.
    Finish,
}

impl Stage {
    const ALL: [(Self, &'static str); 14] = [
        (Self::Mark, "mark"),
        (Self::OfUser, "issues of the user"),
        (Self::OfActor, "issues of the actor"),
        (Self::Feed, "feed"),
        (Self::Follows, "follows"),
        (Self::Records, "records"),
        (Self::Timeline, "timeline"),
        (Self::Topics, "topics"),
        (Self::Followers, "followers"),
        (Self::Live, "live"),
        (Self::MarkAgain, "mark again"),
        (Self::Left, "left"),
        (Self::Unmark, "unmark"),
        (Self::Finish, "finish"),
    ];

    fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(stage, _)| *stage == self).map_or("", |(_, text)| text)
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| *known == text).map(|(stage, _)| stage)
    }

    /// The stage after this one. The last one has none.
    pub(crate) fn next(self) -> Self {
        let place = Self::ALL.iter().position(|(stage, _)| *stage == self);
        place.and_then(|place| Self::ALL.get(place + 1)).map_or(Self::Finish, |(stage, _)| *stage)
    }
}

/// The place at which a step begins to look for what is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) stage: Stage,
    /// The topic that is walked through, or the last topic that was.
    pub(crate) topic: Option<Topic>,
    /// The bucket of the topic; `None` if the topic is done.
    pub(crate) bucket: Option<Bucket>,
    pub(crate) shard: Shard,
    /// The last event or entry that was looked at.
    pub(crate) behind: Option<EventId>,
    /// The last follower that was looked at.
    pub(crate) after: Option<User>,
}

impl Place {
    /// The beginning of a stage.
    pub(crate) fn of(stage: Stage) -> Self {
        Self { stage, topic: None, bucket: None, shard: Shard::from(0), behind: None, after: None }
    }
}

/// Events of one topic that are erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedEvents {
    pub(crate) topic: Topic,
    pub(crate) width: BucketWidth,
    /// True if they were written under idempotency keys. Then a note keeps retries from writing them again.
    pub(crate) is_keyed: bool,
    pub(crate) ids: Vec<EventId>,
}

/// The place at which the count of copies goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CountPlace {
    pub(crate) source: Source,
    /// The follower shard, and the last follower in it that was looked at; `None` at the source's beginning.
    pub(crate) at: Option<(Shard, Option<User>)>,
}

/// The items that the next step removes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) events: Vec<ListedEvents>,
    /// Entries of the user's feed.
    pub(crate) feed: Vec<EventId>,
    pub(crate) keys: Vec<Key>,
    /// The sources that the user follows.
    pub(crate) follows: Vec<Source>,
    /// The followers of the actor.
    pub(crate) followers: Vec<User>,
    pub(crate) issues: Vec<Key>,
}

impl Listed {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The end of an erasure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finished {
    pub(crate) at: UnixMillis,
    pub(crate) ids_sha256: String,
}

/// The next step of an erasure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ErasureStep {
    pub(crate) erasure: ErasureId,
    pub(crate) names: ErasedNames,
    pub(crate) actor: Option<Actor>,
    pub(crate) user: Option<User>,
    pub(crate) begun: UnixMillis,
    pub(crate) number: u32,
    /// The number of times that ids were added while the receipt was made, or later.
    pub(crate) landed: u64,
    pub(crate) at: Place,
    /// True if the erasure must look for events once more, because topics were created meanwhile.
    pub(crate) again: bool,
    pub(crate) listed: Listed,
    /// The listed events' copies are still being counted, from there.
    pub(crate) counting: Option<CountPlace>,
    /// Some entries and copies of the events that were removed last. The step waits until fan-out has removed them.
    pub(crate) awaited: Vec<Key>,
    pub(crate) waiting_since: Option<UnixMillis>,
    pub(crate) counts: ErasureCounts,
    pub(crate) finished: Option<Finished>,
}

impl ErasureStep {
    pub(crate) fn first(
        erasure: ErasureId,
        actor: Option<Actor>,
        user: Option<User>,
        begun: UnixMillis,
    ) -> Self {
        Self {
            erasure,
            names: ErasedNames::of(actor.as_ref(), user.as_ref()),
            actor,
            user,
            begun,
            number: 0,
            landed: 0,
            at: Place::of(Stage::Mark),
            again: false,
            listed: Listed::default(),
            counting: None,
            awaited: Vec::new(),
            waiting_since: None,
            counts: ErasureCounts::default(),
            finished: None,
        }
    }

    /// The step after this one, with nothing listed yet.
    pub(crate) fn next(&self) -> Self {
        Self { number: self.number + 1, listed: Listed::default(), counting: None, ..self.clone() }
    }

    /// The condition that the stored step is this one.
    pub(crate) fn is_stored(&self) -> Condition {
        Condition::equals("step", self.number).and(Condition::equals("landed", self.landed))
    }

    /// True if the erasure erases an event that landed at this time, in whole seconds, rounded down.
    pub(crate) fn covers(&self, landed_at: UnixMillis) -> bool {
        self.finished.as_ref().is_none_or(|finished| landed_at < finished.at)
    }

    pub(crate) fn encode(&self) -> Item {
        let Self { at, listed, .. } = self;
        let texts = |texts: Vec<String>| (!texts.is_empty()).then(|| Value::list(texts));
        let keys =
            |keys: &[Key]| texts(keys.iter().flat_map(|key| [key.pk.clone(), key.sk.clone()]).collect());
        let names = |names: &mut dyn Iterator<Item = String>| texts(names.collect());
        let events = listed.events.iter().map(ListedEvents::encode);
        let counted = self.counting.as_ref().and_then(|counting| counting.at.as_ref());
        Item::at(&ErasureStepKey { erasure: self.erasure })
            .with("names", self.names.to_string())
            .with("begun", self.begun.get())
            .with("step", self.number)
            .with("landed", self.landed)
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
            .with_some("feed", (!listed.feed.is_empty()).then(|| encode_ids(&listed.feed)))
            .with_some("keys", keys(&listed.keys))
            .with_some("follows", names(&mut listed.follows.iter().map(ToString::to_string)))
            .with_some("followers", names(&mut listed.followers.iter().map(ToString::to_string)))
            .with_some("issues", keys(&listed.issues))
            .with_some("awaited", keys(&self.awaited))
            .with_some("waiting", self.waiting_since.map(UnixMillis::get))
            .with_some("source", self.counting.as_ref().map(|counting| counting.source.to_string()))
            .with_some("at", counted.map(|(shard, _)| shard.get()))
            .with_some("last", counted.and_then(|(_, last)| last.as_ref()).map(User::as_str))
            .with_some("finished", self.finished.as_ref().map(|finished| finished.at.get()))
            .with_some("ids_sha256", self.finished.as_ref().map(|finished| finished.ids_sha256.as_str()))
    }

    pub(crate) fn decode(item: &Item) -> Result<Self, Corrupt> {
        let ErasureStepKey { erasure } = item.key_as()?;
        let at = Place {
            stage: Stage::parse(item.text("stage")?).ok_or_else(|| item.corrupt("stage"))?,
            topic: item.optional_parsed("topic")?,
            bucket: item.optional_parsed("bucket")?,
            shard: item.number::<u8>("shard")?.into(),
            behind: item.optional_parsed("behind")?,
            after: item.optional_parsed("after")?,
        };
        let listed = Listed {
            events: item.map_list("events")?.iter().map(ListedEvents::decode).collect::<Result<_, _>>()?,
            feed: if item.has("feed") { decode_ids(item, "feed")? } else { Vec::new() },
            keys: keys_of(item, "keys")?,
            follows: parsed_list(item, "follows")?,
            followers: parsed_list(item, "followers")?,
            issues: keys_of(item, "issues")?,
        };
        let counting = match item.optional_parsed("source")? {
            Some(source) => {
                let shard = item.optional_number::<u8>("at")?;
                let last = item.optional_parsed("last")?;
                Some(CountPlace { source, at: shard.map(|shard| (shard.into(), last)) })
            }
            None => None,
        };
        let finished = match item.has("finished") {
            true => Some(Finished {
                at: item.millis("finished")?,
                ids_sha256: item.text("ids_sha256")?.to_owned(),
            }),
            false => None,
        };
        Ok(Self {
            erasure,
            names: item.parsed("names")?,
            actor: item.optional_parsed("actor")?,
            user: item.optional_parsed("user")?,
            begun: item.millis("begun")?,
            number: item.number("step")?,
            landed: item.number("landed")?,
            at,
            again: item.flag("again"),
            listed,
            counting,
            awaited: keys_of(item, "awaited")?,
            waiting_since: match item.has("waiting") {
                true => Some(item.millis("waiting")?),
                false => None,
            },
            counts: decode_counts(item)?,
            finished,
        })
    }

    /// The erasure as a client sees it.
    pub(super) fn view(&self, now: UnixMillis) -> Erasure {
        let finished = self.finished.as_ref().filter(|finished| finished.at <= now);
        Erasure {
            id: self.erasure,
            state: if finished.is_some() { ErasureState::Done } else { ErasureState::Erasing },
            counts: self.counts,
            ids_sha256: finished.map(|finished| finished.ids_sha256.clone()),
            started_at: self.begun,
            finished_at: finished.map(|finished| finished.at),
            not_covered: NOT_COVERED.map(str::to_owned).to_vec(),
        }
    }
}

/// The data that an erasure does not reach, as its receipt says.
const NOT_COVERED: [&str; 7] = [
    "report files",
    "backups, point-in-time recovery and exports of the table",
    "stream records that fan-out gave up on, until they are redriven or expire",
    "idempotency records, notes of deleted events, quotas, notes of live timelines and pages of fan-out jobs: they expire \
     within two days",
    "notes of unfollows, and the numbers of followers of an erased actor: they expire within 100 days",
    "the shards of an erased actor's timeline and followers, if it was busy: numbers alone",
    "data of others that mentions the person",
];

impl ListedEvents {
    fn encode(&self) -> Item {
        Item::new()
            .with("o", self.topic.as_str())
            .with("b", self.width.as_str())
            .with_flag("k", self.is_keyed)
            .with("e", encode_ids(&self.ids))
    }

    fn decode(map: &Item) -> Result<Self, Corrupt> {
        let (topic, width) = (map.parsed("o")?, map.parsed("b")?);
        Ok(Self { topic, width, is_keyed: map.flag("k"), ids: decode_ids(map, "e")? })
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
const fn numbers(counts: &ErasureCounts) -> [u64; 12] {
    let ErasureCounts { events, entries, copies, follows, followers, profile, .. } = *counts;
    let ErasureCounts { sessions, feed, idempotency, late, jobs, issues, .. } = *counts;
    [events, entries, copies, follows, followers, profile, sessions, feed, idempotency, late, jobs, issues]
}

fn decode_counts(item: &Item) -> Result<ErasureCounts, Corrupt> {
    let numbers = <[u64; 12]>::try_from(item.number_list("counts")?).map_err(|_| item.corrupt("counts"))?;
    let [events, entries, copies, follows, followers, profile, rest @ ..] = numbers;
    let [sessions, feed, idempotency, late, jobs, issues] = rest;
    let counts =
        ErasureCounts { events, entries, copies, follows, followers, profile, ..ErasureCounts::default() };
    Ok(ErasureCounts { sessions, feed, idempotency, late, jobs, issues, ..counts })
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
            .with("landed", 0_u64);
        let base = base.with("names", names);
        let expected =
            base.clone().with("step", 0_u64).with("stage", "mark").with("counts", Value::list([0_u64; 12]));
        assert_eq!(first().encode(), expected);

        let id: EventId = ID.parse().unwrap();
        let bytes = || Value::bytes(id.as_uuid().as_bytes().to_vec());
        let key = || Key { pk: "a".to_owned(), sk: "b".to_owned() };
        let (topic, shard): (Topic, _) = ("posts".parse().unwrap(), Shard::from(7));
        let step = ErasureStep {
            at: Place {
                stage: Stage::Topics,
                topic: Some(topic.clone()),
                bucket: "2024-07-12".parse().ok(),
                shard,
                behind: Some(id),
                after: "cy".parse().ok(),
            },
            again: true,
            listed: Listed {
                events: vec![ListedEvents { topic, width: BucketWidth::Day, is_keyed: true, ids: vec![id] }],
                feed: vec![id],
                keys: vec![key()],
                follows: vec!["actor:ada".parse().unwrap()],
                followers: vec!["cy".parse().unwrap()],
                issues: vec![key()],
            },
            counting: Some(CountPlace {
                source: "subject:s".parse().unwrap(),
                at: Some((Shard::from(3), "dee".parse().ok())),
            }),
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
            .with("source", "subject:s")
            .with("at", 3_u64)
            .with("last", "dee")
            .with("counts", Value::list([7_u64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12]));
        assert_eq!(step.encode(), expected);
        let finished = Finished { at: millis(2_000_000), ids_sha256: "ab".repeat(32) };
        let done = ErasureStep { actor: None, user: None, finished: Some(finished), ..first().next() };
        for step in [first(), step, done.clone()] {
            assert_eq!(ErasureStep::decode(&step.encode()), Ok(step));
        }
        let state = |now| done.view(millis(now)).state;
        assert_eq!((state(1_999_999), state(2_000_000)), (ErasureState::Erasing, ErasureState::Done));
        assert!(done.covers(millis(1_999_000)) && !done.covers(millis(2_000_000)));
    }

    #[test]
    fn every_stage_has_a_text_and_a_next_one() {
        let mut stage = Stage::Mark;
        for (known, text) in Stage::ALL {
            assert_eq!((stage, Stage::parse(text)), (known, Some(known)));
            stage = stage.next();
        }
        assert_eq!(stage, Stage::Finish);
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
