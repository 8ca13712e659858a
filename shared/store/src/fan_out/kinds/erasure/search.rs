//! The search for what an erasure removes, stage by stage. Each look makes a few queries, lists what it found, and notes
//! where the next look begins.

use std::collections::{BTreeMap, HashSet};

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_items::event::{ACTOR, ENTRY_PARTS, TYPE, decode, is_keyed};
use lately_items::issue::OPENED_BY;
use lately_items::limits::ENDING_MARK_SECONDS;
use lately_items::session::keys_of_listed;
use lately_items::{
    BEFORE_ENTRIES, DirectoryEntry, EXPIRES_AT, ErasurePlace, ErasureStage, ErasureStep, EventKey,
    EventPartition, FeedEntryKey, FollowKey, FollowerCountKey, FollowerCounts, IssueKey, ListedEvents,
    ProfileKey, RepositoryKey, SourcePartition, TimelineEntry, UserSessionKey, place_in_feed,
    places_at_source,
};
use lately_keys::{Actor, Key, Shard, SortKey, Source, TableKey, Topic, UnixMillis, User};
use lately_model::{ISSUES_TOPIC, reported_issue};
use lately_table::{Condition, Item, Query, TableError, Update};

use crate::directory::Directory;
use crate::fan_out::entries::Entries;
use crate::fan_out::removal::Removal;
use crate::follow::FollowerRange;
use crate::limits::{
    AWAITED_PLACES, ENDING_PAUSE, ERASED_EVENTS_PER_STEP, ERASED_FOLLOWS_PER_STEP, ERASURE_TOPICS_AT_ONCE,
    WRITES_AT_ONCE,
};
use crate::op::Op;
use crate::topic::error::TopicError;

/// The most sessions, or notes of live timelines, that one step of an erasure deletes. A session is three items.
const ERASED_SESSIONS_PER_STEP: u32 = 25;

/// The search of an erasure.
#[derive(Clone, Copy)]
pub(super) struct Search<'a> {
    pub(super) entries: Entries<'a>,
    pub(super) actor: Option<&'a Actor>,
    pub(super) user: Option<&'a User>,
}

impl Search<'_> {
    /// Looks for more, from the place of the next step on. Returns false if nothing remains of the stage.
    pub(super) async fn look(self, next: &mut ErasureStep) -> Result<bool, TableError> {
        match (next.at.stage, self.actor, self.user) {
            (ErasureStage::OfUser, _, Some(user)) => self.look_for_issues(&Actor::from(user), next).await,
            (ErasureStage::OfActor, Some(actor), _) => self.look_for_issues(actor, next).await,
            (ErasureStage::Feed, _, Some(user)) => self.look_at_feed(user, next).await,
            (ErasureStage::Follows, _, Some(user)) => self.look_for_follows(user, next).await,
            (ErasureStage::Records, _, Some(user)) => self.look_for_records(user, next).await,
            (ErasureStage::Timeline, Some(actor), _) => {
                let (found, more) = self.walk_timeline(actor, &mut next.at, |_| true).await?;
                let keys: Vec<_> = found.into_iter().map(|(key, _)| key).collect();
                self.list(actor, &keys, next).await?;
                Ok(more)
            }
            (ErasureStage::Topics, Some(actor), _) => self.look_in_topics(actor, next).await,
            (ErasureStage::Followers, Some(actor), _) => self.look_for_followers(actor, next).await,
            (ErasureStage::Left, Some(actor), _) => self.clear_timeline(actor, next).await,
            _ => Ok(false),
        }
    }

    /// Lists the events of the actor among some keys. Those that do not exist are being removed already.
    async fn list(self, actor: &Actor, keys: &[EventKey], next: &mut ErasureStep) -> Result<(), TableError> {
        let by_key: BTreeMap<(String, String), &EventKey> =
            keys.iter().map(|key| (key.encode(), key)).map(|(text, key)| ((text.pk, text.sk), key)).collect();
        let wanted: Vec<_> = keys.iter().map(TableKey::encode).collect();
        let mut groups: BTreeMap<(&Topic, bool), ListedEvents> = BTreeMap::new();
        let mut entries = Vec::new();
        for item in self.entries.fan_out.op.table.get_parts(&wanted, ENTRY_PARTS).await? {
            let Key { pk, sk } = item.key()?;
            let Some(key) =
                by_key.get(&(pk, sk)).filter(|_| item.text(ACTOR).is_ok_and(|a| a == actor.as_str()))
            else {
                continue;
            };
            entries.extend(TimelineEntry::of(key, &item)?);
            let (topic, width) = (&key.partition().topic, key.partition().bucket.width());
            let is_keyed = is_keyed(&item)?;
            let empty = || ListedEvents { topic: topic.clone(), width, is_keyed, ids: Vec::new() };
            groups.entry((topic, is_keyed)).or_insert_with(empty).ids.push(key.id());
        }
        next.listed.events = groups.into_values().collect();
        next.listed.events.iter_mut().for_each(|events| events.ids.sort_unstable());
        next.awaited = self.awaited_of(&entries).await?;
        Ok(())
    }

    /// Some entries and copies of two of the listed events. The erasure goes on when fan-out has removed them. The copy of
    /// the last follower is removed last.
    async fn awaited_of(self, entries: &[TimelineEntry]) -> Result<Vec<Key>, TableError> {
        let op = self.entries.fan_out.op;
        let (first, last) = (entries.first(), entries.last().filter(|_| entries.len() > 1));
        let mut places: Vec<Key> = Vec::new();
        for entry in first.into_iter().chain(last) {
            for source in entry.sources() {
                let stored = op.source(&source).stored().await?;
                places.extend(places_at_source(entry.id, &source, &stored.coverage));
                if entry.fans_out {
                    let last = op.source(&source).last_follower(stored.shards).await?;
                    let place = last.map(|last| place_in_feed(entry.id, &last));
                    // A user may be the last follower of both sources.
                    places.extend(place.filter(|place| !places.contains(place)));
                }
            }
        }
        let there = op.table.existing(&places).await?;
        places.retain(|place| there.contains(place));
        places.truncate(AWAITED_PLACES);
        Ok(places)
    }

    /// Walks on through an actor's timeline. Returns the wanted entries, each with the key of its event, and whether
    /// there may be more.
    async fn walk_timeline(
        self,
        actor: &Actor,
        at: &mut ErasurePlace,
        is_wanted: impl Fn(&TimelineEntry) -> bool,
    ) -> Result<(Vec<(EventKey, TimelineEntry)>, bool), TableError> {
        let op = self.entries.fan_out.op;
        let source = Source::Actor(actor.clone());
        let coverage = op.source(&source).stored().await?.coverage;
        let partition = SourcePartition { source, shard: at.shard }.to_string();
        let after = at.behind.map_or(BEFORE_ENTRIES.to_owned(), |behind| behind.sort_key().to_string());
        let query = Query::partition(partition).after(after).limit(ERASED_EVENTS_PER_STEP).consistent(true);
        let page = op.lane_page(&query, TimelineEntry::decode).await?;
        let mut found = Vec::new();
        for entry in page.items.into_iter().filter(is_wanted) {
            let key = match entry.pointer() {
                Some(key) => Some(key),
                None => match op.topic(&entry.topic).settings().await {
                    Ok(settings) => Some(EventKey::new(entry.topic.clone(), settings.bucket, entry.id)),
                    // The topic's deletion removes the event.
                    Err(TopicError::NotFound(_)) => None,
                    Err(TopicError::Table(error)) => return Err(error),
                },
            };
            found.extend(key.map(|key| (key, entry)));
        }
        at.behind = page.stopped_at;
        if at.behind.is_some() {
            return Ok((found, true));
        }
        let shards = coverage.shards_within(UnixMillis::MIN, UnixMillis::MAX).into_iter();
        let next = shards.filter(|shard| *shard > at.shard).min();
        at.shard = next.unwrap_or(at.shard);
        Ok((found, next.is_some()))
    }

    /// Looks at what the actor's timeline still lists: events that were written meanwhile, and entries of events that are
    /// gone, because they expired or because fan-out is behind. It looks until it finds nothing.
    async fn clear_timeline(self, actor: &Actor, next: &mut ErasureStep) -> Result<bool, TableError> {
        let (found, more) = self.walk_timeline(actor, &mut next.at, |_| true).await?;
        let keys: Vec<_> = found.iter().map(|(key, _)| key.clone()).collect();
        self.list(actor, &keys, next).await?;
        let there: HashSet<_> = next.listed.events.iter().flat_map(|events| &events.ids).copied().collect();
        let gone = found.iter().map(|(_, entry)| entry).filter(|entry| !there.contains(&entry.id));
        let now = self.entries.fan_out.op.now();
        let cleared: Vec<_> = gone.map(async |entry| Removal::of(self.entries, entry, now).await).collect();
        stream::iter(cleared).buffer_unordered(WRITES_AT_ONCE).try_collect::<()>().await?;
        next.again |= !found.is_empty();
        if more {
            return Ok(true);
        }
        if !next.again {
            self.entries.fan_out.op.source(&Source::Actor(actor.clone())).expire().await?;
            return Ok(false);
        }
        (next.at, next.again) = (ErasurePlace::of(ErasureStage::Left), false);
        tokio::time::sleep(ENDING_PAUSE).await;
        Ok(true)
    }

    /// Walks on through the topics whose events the actor's timeline may not list.
    async fn look_in_topics(self, actor: &Actor, next: &mut ErasureStep) -> Result<bool, TableError> {
        let op = self.entries.fan_out.op;
        if let (Some(topic), Some(_)) = (next.at.topic.clone(), next.at.bucket) {
            let by_actor = Condition::equals(ACTOR, actor.as_str());
            let keys = self.walk_topic(&topic, by_actor, &mut next.at).await?;
            self.list(actor, &keys, next).await?;
            return Ok(true);
        }
        let (topics, more) = op.topics().all(next.at.topic.take(), ERASURE_TOPICS_AT_ONCE).await?;
        let stored = topics.iter().map(async |topic| op.topic(&topic.topic).find().await);
        let stored: Vec<_> =
            stream::iter(stored.collect::<Vec<_>>()).buffered(WRITES_AT_ONCE).try_collect().await?;
        for (topic, stored) in topics.into_iter().zip(stored) {
            let is_walked = stored.is_some_and(|stored| !stored.lists_by_actor && stored.deleting.is_none());
            if is_walked && self.enter(&topic.topic, &mut next.at).await? {
                return Ok(true);
            }
            next.at.topic = Some(topic.topic);
        }
        Ok(more && next.at.topic.is_some())
    }

    /// Goes to the newest bucket of a topic. Returns false if there is none.
    async fn enter(self, topic: &Topic, at: &mut ErasurePlace) -> Result<bool, TableError> {
        let newest = Directory::of(self.entries.fan_out.op, topic).remaining(None, 1).await?.entries.pop();
        let stage = at.stage;
        *at = ErasurePlace {
            topic: Some(topic.clone()),
            bucket: newest.map(|entry| entry.bucket),
            ..ErasurePlace::of(stage)
        };
        Ok(at.bucket.is_some())
    }

    /// Walks on through a topic, one query of one shard. Returns the keys of the events for which a condition holds.
    /// After the last bucket, the place has none.
    async fn walk_topic(
        self,
        topic: &Topic,
        is_wanted: Condition,
        at: &mut ErasurePlace,
    ) -> Result<Vec<EventKey>, TableError> {
        let op = self.entries.fan_out.op;
        let page = Directory::of(op, topic).remaining(at.bucket, 2).await?;
        let newest = page.entries.first();
        let Some(entry) = newest.filter(|entry| Some(entry.bucket) == at.bucket) else {
            // The entry has expired, with all events of its bucket.
            enter_older(at, newest);
            return Ok(Vec::new());
        };
        let older = page.entries.get(1);
        let shards = entry.shards();
        let Some(shard) = shards.iter().copied().filter(|shard| *shard >= at.shard).min() else {
            enter_older(at, older);
            return Ok(Vec::new());
        };
        let partition = EventPartition { topic: topic.clone(), bucket: entry.bucket, shard };
        let query = Query::partition(partition.to_string()).filter(is_wanted).keys_only();
        let query = query.limit(ERASED_EVENTS_PER_STEP).consistent(true);
        let query = match at.behind {
            Some(behind) => query.after(behind.sort_key().to_string()),
            None => query,
        };
        let found = op.table.query(&query).await?;
        op.table.meter().items(found.read);
        let keys = found.items.iter().map(Item::key_as).collect::<Result<_, _>>()?;
        at.behind = found.next.map(|key| key.get::<SortKey>("sk")).transpose()?.map(SortKey::id);
        at.shard = shard;
        if at.behind.is_none() {
            match shards.iter().copied().filter(|other| *other > shard).min() {
                Some(other) => at.shard = other,
                None => enter_older(at, older),
            }
        }
        Ok(keys)
    }

    /// Lists issues that an actor opened. Their events name them.
    async fn look_for_issues(self, actor: &Actor, next: &mut ErasureStep) -> Result<bool, TableError> {
        let op = self.entries.fan_out.op;
        let topic: Topic = ISSUES_TOPIC.parse().expect("the constant is a topic's name");
        let Some(stored) = op.topic(&topic).find().await?.filter(|stored| stored.deleting.is_none()) else {
            return Ok(false);
        };
        let (keys, more) = if stored.lists_by_actor {
            let opened = |entry: &TimelineEntry| entry.topic == topic && entry.event_type.as_str() == OPENED;
            let (found, more) = self.walk_timeline(actor, &mut next.at, opened).await?;
            (found.into_iter().map(|(key, _)| key).collect(), more)
        } else {
            if next.at.topic.is_none() && !self.enter(&topic, &mut next.at).await? {
                return Ok(false);
            }
            let opened = Condition::equals(ACTOR, actor.as_str()).and(Condition::equals(TYPE, OPENED));
            let keys = self.walk_topic(&topic, opened, &mut next.at).await?;
            (keys, next.at.bucket.is_some())
        };
        let events: Vec<_> = keys.iter().map(TableKey::encode).collect();
        let events = op.table.get_many(&events, true).await?;
        let mut issues: Vec<Key> = Vec::new();
        for event in &events {
            let issue = reported_issue(&decode(event)?).map(|(owner, repo, number)| {
                IssueKey { repository: RepositoryKey { owner, repo }, number }.encode()
            });
            issues.extend(issue.filter(|key| !issues.contains(key)));
        }
        for issue in op.table.get_parts(&issues, "pk, sk, opened_by").await? {
            if issue.optional(OPENED_BY)?.as_ref() == Some(actor) {
                next.listed.issues.push(issue.key()?);
            }
        }
        next.counts.issues += next.listed.issues.len() as u64;
        Ok(more)
    }

    /// Lists items of the user's feed, newest first.
    async fn look_at_feed(self, user: &User, next: &mut ErasureStep) -> Result<bool, TableError> {
        let query = Query::partition(FeedEntryKey::partition(user)).keys_only().consistent(true);
        let query = query.limit(ERASED_EVENTS_PER_STEP);
        let query = match next.at.behind {
            Some(behind) => query.after(behind.sort_key().to_string()),
            None => query,
        };
        let page = self.entries.fan_out.op.table.query(&query).await?;
        self.entries.fan_out.op.table.meter().items(page.read);
        for item in &page.items {
            match item.key_as::<FeedEntryKey>() {
                Ok(entry) => next.listed.feed.push(entry.id),
                Err(_) => next.listed.keys.push(item.key()?),
            }
        }
        next.counts.feed += page.items.len() as u64;
        next.at.behind = next.listed.feed.last().copied().filter(|_| page.next.is_some());
        Ok(page.next.is_some())
    }

    /// Lists some of the sources that the user follows. They are unfollowed before the next look.
    async fn look_for_follows(self, user: &User, next: &mut ErasureStep) -> Result<bool, TableError> {
        let query =
            Query::partition(ProfileKey::partition(user)).begins_with(FollowKey::PREFIX).consistent(true);
        let page = self.entries.fan_out.op.table.query(&query.limit(ERASED_FOLLOWS_PER_STEP)).await?;
        for item in &page.items {
            next.listed.follows.push(item.key_as::<FollowKey>()?.source);
        }
        next.counts.follows += page.items.len() as u64;
        Ok(!page.items.is_empty())
    }

    /// Lists the user's profile and some of the user's sessions. They are deleted before the next look.
    async fn look_for_records(self, user: &User, next: &mut ErasureStep) -> Result<bool, TableError> {
        let op = self.entries.fan_out.op;
        let profile = ProfileKey { user: user.clone() }.encode();
        let profile = op.table.existing(&[profile]).await?;
        next.counts.profile += profile.len() as u64;
        next.listed.keys.extend(profile);
        let sessions = Query::partition(UserSessionKey::partition(user)).consistent(true);
        let page = op.table.query(&sessions.limit(ERASED_SESSIONS_PER_STEP)).await?;
        for item in &page.items {
            next.listed.keys.extend(keys_of_listed(item)?);
        }
        next.counts.sessions += page.items.len() as u64;
        Ok(!next.listed.keys.is_empty())
    }

    /// Lists some of the actor's followers.
    async fn look_for_followers(self, actor: &Actor, next: &mut ErasureStep) -> Result<bool, TableError> {
        let op = self.entries.fan_out.op;
        let source = Source::Actor(actor.clone());
        let shards = op.source(&source).stored().await?.shards;
        let range = FollowerRange { shard: next.at.shard, after: next.at.after.take() };
        let page = op.source(&source).followers_of(&range, ERASED_FOLLOWS_PER_STEP as usize, true).await?;
        next.listed.followers = page.followers.into_iter().map(|follower| follower.user).collect();
        next.counts.followers += next.listed.followers.len() as u64;
        next.at.after = next.listed.followers.last().cloned();
        if page.more {
            return Ok(true);
        }
        let after = shards.shards().filter(|shard: &Shard| *shard > next.at.shard).min();
        if after.is_none() && next.listed.followers.is_empty() {
            expire_counts(op, &source).await?;
            return Ok(false);
        }
        // The last shard is looked at once more, after its last followers have unfollowed.
        if let Some(shard) = after {
            (next.at.shard, next.at.after) = (shard, None);
        }
        Ok(true)
    }
}

/// Lets the numbers of a source's followers expire, where nobody follows any more.
async fn expire_counts(op: &Op, source: &Source) -> Result<(), TableError> {
    for (shard, counts) in op.source(source).counts(op.source(source).stored().await?.shards).await? {
        if counts.here == 0 && counts.left > 0 {
            let expires_at = op.now().get() / 1000 + ENDING_MARK_SECONDS;
            let update = Update::of(&FollowerCountKey { source: source.clone(), shard })
                .set(EXPIRES_AT, expires_at)
                .only_if(Condition::equals(FollowerCounts::HERE, 0_u64));
            op.table.update(&update).await?;
        }
    }
    Ok(())
}

/// Goes to an older bucket of the same topic, or ends the walk through the topic.
fn enter_older(at: &mut ErasurePlace, older: Option<&DirectoryEntry>) {
    *at = ErasurePlace {
        topic: at.topic.take(),
        bucket: older.map(|entry| entry.bucket),
        ..ErasurePlace::of(at.stage)
    };
}

/// The type of the event that reports a new issue.
const OPENED: &str = "issue.opened";
