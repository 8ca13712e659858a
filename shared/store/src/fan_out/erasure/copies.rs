//! The count of the entries and copies that listed events have: under their sources, in feeds, and in late ledgers.
//!
//! The count is made while the events still exist, and before fan-out removes their entries. It looks at the places
//! where fan-out puts copies, so a copy costs one read unit. A large audience is counted in several steps.
//!
//! A follower of two sources of an event has one copy. So a follower of the actor counts only for the actor.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;

use lately_keys::table::{EventKey, LateEventKey};
use lately_keys::{EventId, Key, Shard, Source, TableKey, User};
use lately_model::ErasureCounts;
use lately_table::TableError;

use crate::entry::{TimelineEntry, own_feed, place_in_feed, places_at_source};
use crate::erasure::step::{CountPlace, ErasureStep, ListedEvents};
use crate::fan_out::erasure::ErasureRun;
use crate::follow::{Edge, Follower, FollowerRange};
use crate::limits::{AWAITED_PLACES, COUNTED_PLACES_PER_SOURCE, COUNTED_PLACES_PER_STEP};
use crate::source::StoredSource;

/// The attributes of an event that its entries follow from, without its data.
const PARTS: &str = "pk, sk, t, a, s, v";

/// The counts of a step, and its room for more places.
struct Counting<'a> {
    counts: &'a mut ErasureCounts,
    awaited: &'a mut Vec<Key>,
    room: usize,
}

impl ErasureRun<'_> {
    /// Counts some of the places that hold something of the next step's events. Returns where the step behind it goes
    /// on.
    pub(super) async fn count_copies(
        self,
        next: &mut ErasureStep,
        from: Option<&CountPlace>,
    ) -> Result<Option<CountPlace>, TableError> {
        let ErasureStep { counts, awaited, listed, .. } = next;
        let (events, counting) =
            (&listed.events, &mut Counting { counts, awaited, room: COUNTED_PLACES_PER_STEP });
        let op = self.fan_out.op;
        let entries = self.entries_of(events).await?;
        if from.is_none() {
            counting.counts.late += self.late_keys(events).await?.len() as u64;
            let own = entries.iter().filter(|entry| entry.fans_out);
            let own = own.filter_map(|entry| Some(place_in_feed(entry.id, &own_feed(&entry.actor)?)));
            counting.counts.copies += self.count_places(own.collect(), counting.awaited).await?;
        }
        let mut by_source: BTreeMap<Source, Vec<&TimelineEntry>> = BTreeMap::new();
        for entry in &entries {
            for source in entry.sources() {
                by_source.entry(source).or_default().push(entry);
            }
        }
        let first = from.map_or(Bound::Unbounded, |from| Bound::Included(from.source.clone()));
        for (source, entries) in by_source.range((first, Bound::Unbounded)) {
            let place = |at| Some(CountPlace { source: source.clone(), at });
            if counting.room == 0 {
                return Ok(place(None));
            }
            counting.room = counting.room.saturating_sub(COUNTED_PLACES_PER_SOURCE);
            let begun = from.filter(|from| from.source == *source).and_then(|from| from.at.clone());
            let stored = op.source(source).stored().await?;
            if begun.is_none() {
                let places =
                    entries.iter().flat_map(|entry| places_at_source(entry.id, source, &stored.coverage));
                counting.counts.entries += self.count_places(places.collect(), counting.awaited).await?;
            }
            let entries: Vec<_> = entries.iter().copied().filter(|entry| entry.fans_out).collect();
            let begun = begun.unwrap_or((Shard::from(0), None));
            if let Some(at) = self.count_feeds(source, &stored, &entries, begun, counting).await? {
                return Ok(place(Some(at)));
            }
        }
        Ok(None)
    }

    /// Counts the copies in the feeds of a source's followers, while there is room. Returns the follower behind whom the
    /// next step goes on.
    async fn count_feeds(
        self,
        source: &Source,
        stored: &StoredSource,
        entries: &[&TimelineEntry],
        (first, mut after): (Shard, Option<User>),
        counting: &mut Counting<'_>,
    ) -> Result<Option<(Shard, Option<User>)>, TableError> {
        if entries.is_empty() {
            return Ok(None);
        }
        let op = self.fan_out.op;
        let audience = op.source(source).counts(stored.shards).await?;
        let held = audience.into_iter().filter(|(shard, counts)| *shard >= first && counts.here > 0);
        for (shard, _) in held {
            after = after.filter(|_| shard == first);
            loop {
                if counting.room == 0 {
                    return Ok(Some((shard, after)));
                }
                let limit = (counting.room / entries.len()).max(1);
                let range = FollowerRange { shard, after };
                let page = op.source(source).followers_of(&range, limit, true).await?;
                counting.room = counting.room.saturating_sub((page.followers.len() * entries.len()).max(1));
                let copies = self.copies_of(source, stored, entries, &page.followers).await?;
                counting.counts.copies += self.count_places(copies, counting.awaited).await?;
                after = page.followers.last().map(|last| last.user.clone()).filter(|_| page.more);
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(None)
    }

    /// The number of places that hold something. Some of them are awaited.
    async fn count_places(self, places: Vec<Key>, awaited: &mut Vec<Key>) -> Result<u64, TableError> {
        let there = self.fan_out.op.table.existing(&places).await?;
        let apart = there.len().div_ceil(2).max(1);
        awaited.extend(places.into_iter().filter(|place| there.contains(place)).step_by(apart));
        awaited.drain(..awaited.len().saturating_sub(AWAITED_PLACES));
        Ok(there.len() as u64)
    }

    /// The places at which some followers of a source may have copies of some events.
    async fn copies_of(
        self,
        source: &Source,
        stored: &StoredSource,
        entries: &[&TimelineEntry],
        followers: &[Follower],
    ) -> Result<Vec<Key>, TableError> {
        let followed_twice = self.followers_of_actors(source, entries, followers).await?;
        let mut places = Vec::new();
        for Follower { user, since, .. } in followers {
            for entry in entries {
                let is_held = stored.may_have_pushed(entry.id) || entry.id < EventId::first_of(*since);
                let is_own = own_feed(&entry.actor).as_ref() == Some(user);
                let by_actor = entry.sources().next().filter(|first| first != source);
                let counts_there = by_actor.is_some_and(|actor| followed_twice.contains(&(user, actor)));
                if is_held && !is_own && !counts_there {
                    places.push(place_in_feed(entry.id, user));
                }
            }
        }
        Ok(places)
    }

    /// The followers among these who also follow the actors of the events.
    async fn followers_of_actors<'u>(
        self,
        source: &Source,
        entries: &[&TimelineEntry],
        followers: &'u [Follower],
    ) -> Result<BTreeSet<(&'u User, Source)>, TableError> {
        let actors: BTreeSet<Source> = entries
            .iter()
            .filter_map(|entry| entry.sources().next())
            .filter(|actor| actor != source)
            .collect();
        let mut asked: HashMap<Key, (&User, Source)> = HashMap::new();
        for actor in &actors {
            asked.extend(followers.iter().map(|it| (Edge::key(&it.user, actor), (&it.user, actor.clone()))));
        }
        let keys: Vec<_> = asked.keys().cloned().collect();
        let edges = self.fan_out.op.table.existing(&keys).await?;
        Ok(edges.iter().filter_map(|key| asked.get(key).cloned()).collect())
    }

    /// The entries of events that exist, as timelines list them, without their data.
    async fn entries_of(self, events: &[ListedEvents]) -> Result<Vec<TimelineEntry>, TableError> {
        let keys = events.iter().flat_map(ListedEvents::keys);
        let by_key: HashMap<Key, EventKey> = keys.map(|key| (key.encode(), key)).collect();
        let wanted: Vec<_> = by_key.keys().cloned().collect();
        let mut entries = Vec::new();
        for item in self.fan_out.op.table.get_parts(&wanted, PARTS).await? {
            if let Some(key) = by_key.get(&item.key()?) {
                entries.extend(TimelineEntry::of(key, &item)?);
            }
        }
        entries.sort_by_key(|entry| entry.id);
        Ok(entries)
    }

    /// The keys of the events' notes in the late ledgers of the topics' consumers.
    pub(super) async fn late_keys(self, events: &[ListedEvents]) -> Result<Vec<Key>, TableError> {
        let op = self.fan_out.op;
        let mut keys = Vec::new();
        for ListedEvents { topic, ids, .. } in events {
            for announced in op.topic(topic).announcements().await? {
                let consumer = announced.consumer;
                keys.extend(
                    ids.iter().map(|id| LateEventKey { consumer: consumer.clone(), id: *id }.encode()),
                );
            }
        }
        Ok(op.table.existing(&keys).await?.into_iter().collect())
    }
}

impl ListedEvents {
    /// The keys of the events.
    pub(super) fn keys(&self) -> impl Iterator<Item = EventKey> {
        self.ids.iter().map(|id| EventKey::new(self.topic.clone(), self.width, *id))
    }
}
