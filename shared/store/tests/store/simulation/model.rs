//! A model of the settled table: for each feed and event, whether the feed must show the event, may, or must not.
//!
//! The model knows only the events and follows, and the order in which they were written. That order leaves some cases
//! open:
//!
//! - A backfill finds more or fewer older events, depending on when it runs.
//! - An event whose record is delivered again is pushed to all who follow by then.
//! - If a user unfollows and follows again at once, entries of the ended follow may remain.
//! - A follow is half visible for a moment before it is acknowledged. Fan-out may push an older event in that moment.

use std::collections::{BTreeMap, BTreeSet};

use lately_engine::Engine;
use lately_engine::stream::EventName;
use lately_items::AnyKey;
use lately_keys::{EventId, Shard, Source, Topic, UnixMillis, User};

use crate::scene::key;
use crate::support::{Item, TABLE};

/// An event that exists or existed.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) topic: Topic,
    pub(super) actor: String,
    pub(super) subject: Option<String>,
    pub(super) data: Option<String>,
    pub(super) exists: bool,
    fans_out: bool,
    is_import: bool,
    /// For each source that lists the event, the sequence number at which the event's entry appeared.
    landed: BTreeMap<Source, u64>,
    /// The last sequence number at which the event was pushed. Users who followed before it may have an entry.
    pushed_until: u64,
}

/// A follow that exists or existed.
#[derive(Debug)]
struct Follow {
    /// The sequence number of the change that made the follower visible.
    began: u64,
    /// The sequence number of the change by which the shard's count includes the follower too.
    whole: u64,
    since: UnixMillis,
    backfill: usize,
    ended: bool,
}

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) events: BTreeMap<EventId, Known>,
    follows: BTreeMap<(User, Source), Vec<Follow>>,
}

/// The rule for an event in a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    Must,
    May,
    Never,
}

/// The followers of a shard: the number of puts, the number that its count includes, and those that it lacks.
#[derive(Debug, Default)]
struct Counted {
    came: u64,
    counted: u64,
    waiting: Vec<(u64, User, usize)>,
}

fn number(item: &Item, name: &str) -> u64 {
    item[name].as_n().unwrap().parse().unwrap()
}

fn text(item: &Item, name: &str) -> Option<String> {
    item.get(name).map(|text| text.as_s().unwrap().clone())
}

impl Model {
    /// Builds the model from all changes that the table ever had.
    pub(super) fn of(engine: &Engine, pushed: &BTreeMap<EventId, u64>) -> Self {
        let mut model = Self::default();
        let mut shards: BTreeMap<(Source, Shard), Counted> = BTreeMap::new();
        for record in engine.stream(TABLE).unwrap().all() {
            let sequence = record.sequence.0;
            match (key(&record.keys()), record.event) {
                (AnyKey::Event(key), EventName::Insert) => {
                    let item = record.new_image().unwrap();
                    let landed_at = record.at_micros / 1_000_000 * 1_000;
                    let known = Known {
                        topic: key.partition().topic.clone(),
                        actor: text(&item, "a").unwrap(),
                        subject: text(&item, "s"),
                        data: text(&item, "d"),
                        exists: true,
                        fans_out: item["v"].as_s().unwrap().contains('f'),
                        is_import: landed_at.saturating_sub(key.id().at().get()) > 60_000,
                        landed: BTreeMap::new(),
                        pushed_until: pushed.get(&key.id()).copied().unwrap_or(0),
                    };
                    model.events.insert(key.id(), known);
                }
                (AnyKey::Event(key), EventName::Remove) => {
                    model.events.get_mut(&key.id()).unwrap().exists = false;
                }
                (AnyKey::SourceEntry(key), EventName::Insert) => {
                    let event = model.events.get_mut(&key.id).unwrap();
                    event.landed.entry(key.source).or_insert(sequence);
                }
                (AnyKey::Follower(key), EventName::Insert) => {
                    let item = record.new_image().unwrap();
                    let follow = Follow {
                        began: sequence,
                        whole: sequence,
                        since: UnixMillis::new(number(&item, "since")).unwrap(),
                        backfill: usize::try_from(number(&item, "k")).unwrap(),
                        ended: false,
                    };
                    let shard = shards.entry((key.source.clone(), key.shard)).or_default();
                    shard.came += 1;
                    let follows = model.follows.entry((key.user.clone(), key.source)).or_default();
                    if shard.came > shard.counted {
                        shard.waiting.push((shard.came, key.user, follows.len()));
                    }
                    follows.push(follow);
                }
                (AnyKey::FollowerCount(key), EventName::Insert | EventName::Modify) => {
                    let here = |item: Option<Item>| item.map_or(0, |item| number(&item, "here"));
                    if here(record.new_image()) <= here(record.old_image()) {
                        continue;
                    }
                    let shard = shards.entry((key.source.clone(), key.shard)).or_default();
                    shard.counted += 1;
                    let counted = shard.counted;
                    for (_, user, index) in shard.waiting.extract_if(.., |(nth, ..)| *nth <= counted) {
                        model.follows.get_mut(&(user, key.source.clone())).unwrap()[index].whole = sequence;
                    }
                }
                (AnyKey::Follower(key), EventName::Remove) => {
                    let follows = model.follows.get_mut(&(key.user, key.source)).unwrap();
                    follows.last_mut().unwrap().ended = true;
                }
                _ => {}
            }
        }
        model
    }

    /// The ids that a source's timeline lists.
    pub(super) fn timeline(&self, source: &Source) -> BTreeSet<EventId> {
        let listed = self.events.iter().filter(|(_, event)| event.exists && event.sources().contains(source));
        listed.map(|(id, _)| *id).collect()
    }

    /// A user's follows, those that ended included.
    pub(super) fn story(&self, user: &User) -> String {
        let follows = self.follows.iter().filter(|((of, _), _)| of == user);
        format!("{:?}", follows.map(|((_, source), follows)| (source, follows)).collect::<Vec<_>>())
    }

    /// The time since which a user follows a source.
    pub(super) fn since(&self, user: &User, source: &Source) -> Option<UnixMillis> {
        self.follow(user, source).map(|follow| follow.since)
    }

    fn follow(&self, user: &User, source: &Source) -> Option<&Follow> {
        let follows = self.follows.get(&(user.clone(), source.clone()))?;
        follows.last().filter(|follow| !follow.ended)
    }

    fn ever_followed(&self, user: &User, source: &Source) -> usize {
        self.follows.get(&(user.clone(), source.clone())).map_or(0, Vec::len)
    }

    /// The rule for an event in a user's feed. `pulled` is true if one of the feed's pull markers brings the event.
    pub(super) fn shows(&self, user: &User, id: EventId, pulled: bool) -> Shows {
        let event = &self.events[&id];
        if !event.exists || !event.fans_out {
            return Shows::Never;
        }
        let is_own = event.actor == user.as_str();
        if is_own && !event.is_import {
            return Shows::Must;
        }
        let ever: usize = event.sources().iter().map(|source| self.ever_followed(user, source)).sum();
        // A user's own event stays in the feed, whichever source brought it.
        let mut shows = if pulled || is_own && ever > 0 { Shows::May } else { Shows::Never };
        for source in event.sources() {
            let Some(follow) = self.follow(user, &source) else { continue };
            let landed_behind = |change: u64| event.landed.get(&source).is_none_or(|landed| *landed > change);
            let is_older = id.at() < follow.since;
            let landed_after = landed_behind(if is_older { follow.whole } else { follow.began });
            // The numbers of newer events that the backfill may have copied before this one, and must have copied.
            let newer = |counts: &dyn Fn(&Known) -> bool| {
                let newer = self.events.range(id..).skip(1);
                let newer =
                    newer.filter(|(id, event)| event.fans_out && id.at() < follow.since && counts(event));
                newer.filter(|(_, event)| event.landed.contains_key(&source)).count()
            };
            let at_most = newer(&|_| true);
            let at_least = newer(&|event| {
                event.exists && event.landed.get(&source).is_some_and(|landed| *landed < follow.began)
            });
            let must = if landed_after { !event.is_import } else { !is_older || at_most < follow.backfill };
            if must {
                return Shows::Must;
            }
            // An entry of a follow that ended stays if another follow allows it.
            let was_pushed = !event.is_import && event.pushed_until > follow.began;
            if !is_older
                || at_least < follow.backfill
                || was_pushed
                || landed_behind(follow.began)
                || ever > 1
            {
                shows = Shows::May;
            }
        }
        shows
    }
}

impl Known {
    pub(super) fn sources(&self) -> Vec<Source> {
        let actor = Source::Actor(self.actor.parse().unwrap());
        let subject = self.subject.as_ref().map(|subject| Source::Subject(subject.parse().unwrap()));
        std::iter::once(actor).chain(subject).collect()
    }
}
