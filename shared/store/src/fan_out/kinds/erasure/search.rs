//! The search for what an erasure removes, stage by stage. Each look makes a few queries, lists what it found, and notes
//! where the next look begins.

use std::collections::{BTreeMap, HashMap, HashSet};

use lately_items::event::{ACTOR, ENTRY_PARTS, SIZED_PARTS, TYPE, decode, is_keyed};
use lately_items::issue::OPENED_BY;
use lately_items::limits::{ENDING_MARK_SECONDS, ENTRY_BYTES};
use lately_items::session::keys_of_listed;
use lately_items::{
    EXPIRES_AT, ErasurePlace, ErasureStage, ErasureStep, EventKey, EventPartition, FeedEntryKey, FollowKey,
    FollowerCountKey, FollowerCounts, IssueKey, ListedEvents, ProfileKey, RepositoryKey, SourceEntryKey,
    TimelineEntry, UserSessionKey, place_in_feed, places_at_source,
};
use lately_keys::{Actor, Key, Shard, Source, TableKey, Topic, UnixMillis, User};
use lately_model::{ISSUES_TOPIC, PageSize, reported_issue};
use lately_table::{Condition, Item, Query, TableError, Update};

use crate::at_once::{collect_all, run_each};
use crate::fan_out::batch::FanOut;
use crate::fan_out::removal::Removal;
use crate::lane::LanePage;
use crate::limits::{
    AWAITED_PLACES, ENDING_PAUSE, ERASED_EVENTS_PER_STEP, ERASED_FOLLOWS_PER_STEP, WRITES_AT_ONCE,
};
use crate::op::Op;
use crate::scan::{partitions, rest_of};

/// The most sessions, or notes of live timelines, that one step of an erasure deletes. A session is three items.
const ERASED_SESSIONS_PER_STEP: u32 = 25;

/// The most bytes of events that one step of an erasure deletes in one partition, which takes as many in a second. A walk
/// through a topic needs no such limit: its query reads no more.
const ERASED_BYTES_PER_PARTITION: usize = 1_000_000;

/// Large events whose sizes an erasure reads at the same time: 4 MB at most.
const LARGE_EVENTS_AT_ONCE: usize = 16;

/// Topics that one look of an erasure looks at.
const TOPICS_AT_ONCE: PageSize = match PageSize::new(25) {
    Ok(size) => size,
    Err(_) => unreachable!(),
};

/// The type of the event that reports a new issue.
const OPENED: &str = "issue.opened";

/// Looks for more after a step, from the place of the next step on. Returns false if nothing remains of the stage.
pub(super) async fn look(
    fan_out: FanOut<'_>,
    step: &ErasureStep,
    next: &mut ErasureStep,
) -> Result<bool, TableError> {
    let op = fan_out.op;
    match (next.at.stage, &step.actor, &step.user) {
        (ErasureStage::OfUser, _, Some(user)) => look_for_issues(op, &Actor::from(user), next).await,
        (ErasureStage::OfActor, Some(actor), _) => look_for_issues(op, actor, next).await,
        (ErasureStage::Feed, _, Some(user)) => look_at_feed(op, user, next).await,
        (ErasureStage::Follows, _, Some(user)) => look_for_follows(op, user, next).await,
        (ErasureStage::Records, _, Some(user)) => look_for_records(op, user, next).await,
        (ErasureStage::Timeline, Some(actor), _) => Ok(list_timeline(op, actor, next).await?.1),
        (ErasureStage::Topics, Some(actor), _) => look_in_topics(op, actor, next).await,
        (ErasureStage::Followers, Some(actor), _) => look_for_followers(op, actor, next).await,
        (ErasureStage::Left, Some(actor), _) => clear_timeline(fan_out, actor, next).await,
        _ => Ok(false),
    }
}

/// Looks at what the actor's timeline still lists: events that were written meanwhile, and entries of events that are gone,
/// because they expired or because fan-out is behind. It looks until it finds nothing.
async fn clear_timeline(
    fan_out: FanOut<'_>,
    actor: &Actor,
    next: &mut ErasureStep,
) -> Result<bool, TableError> {
    let op = fan_out.op;
    let (entries, more) = list_timeline(op, actor, next).await?;
    let there: HashSet<_> = next.listed.events.iter().flat_map(|events| &events.ids).copied().collect();
    let gone = entries.iter().filter(|entry| !there.contains(&entry.id));
    let now = op.now();
    run_each(WRITES_AT_ONCE, gone.map(async |entry| Removal::of(fan_out, entry, now).await)).await?;
    next.again |= !entries.is_empty();
    if more {
        return Ok(true);
    }
    if !next.again {
        op.source(&Source::Actor(actor.clone())).expire().await?;
        return Ok(false);
    }
    (next.at, next.again) = (ErasurePlace::of(ErasureStage::Left), false);
    tokio::time::sleep(ENDING_PAUSE).await;
    Ok(true)
}

/// Walks on through the actor's timeline, and lists the events. Returns the entries, and whether there may be more.
async fn list_timeline(
    op: &Op,
    actor: &Actor,
    next: &mut ErasureStep,
) -> Result<(Vec<TimelineEntry>, bool), TableError> {
    let begin = next.at.clone();
    let (mut entries, mut more) = walk_timeline(op, actor, &mut next.at).await?;
    let (events, entries_within) = events_within(op, &entries).await?;
    if entries_within < entries.len() {
        entries.truncate(entries_within);
        next.at = ErasurePlace { behind: entries.last().map(|last| last.id), ..begin };
        more = true;
    }
    list(op, actor, events, next).await?;
    Ok((entries, more))
}

/// The events of the first entries, as many as a step may delete, and the number of these entries: at least one.
///
/// An event whose entry is a copy is small. The other events are read with their data, some at a time, for their sizes.
async fn events_within(op: &Op, entries: &[TimelineEntry]) -> Result<(Vec<Item>, usize), TableError> {
    let mut keys = Vec::with_capacity(entries.len());
    let mut large = Vec::new();
    for entry in entries {
        let key = op.topic(&entry.topic).event_key(entry).await?;
        if entry.pointer().is_some() {
            large.extend(key.clone());
        }
        keys.push(key);
    }
    let mut unread = large.chunks(LARGE_EVENTS_AT_ONCE);
    let mut read: HashSet<&Key> = HashSet::new();
    let mut events: HashMap<Key, Item> = HashMap::new();
    let mut small: Vec<Key> = Vec::new();
    let mut partitions: HashMap<&str, usize> = HashMap::new();
    let mut within = 0;
    for (entry, key) in entries.iter().zip(&keys) {
        // A topic that does not exist has no events.
        if let Some(key) = key {
            let is_large = entry.pointer().is_some();
            if is_large && !read.contains(key) {
                let next = unread.next().unwrap_or_default();
                read.extend(next);
                for event in op.table.get_parts(next, SIZED_PARTS).await? {
                    events.insert(event.key()?, event);
                }
            }
            let size = if is_large { events.get(key).map_or(0, Item::stored_bytes) } else { ENTRY_BYTES };
            let bytes = partitions.entry(&key.pk).or_default();
            if *bytes > 0 && *bytes + size > ERASED_BYTES_PER_PARTITION {
                break;
            }
            *bytes += size;
            if !is_large {
                small.push(key.clone());
            }
        }
        within += 1;
    }
    let within_keys: HashSet<&Key> = keys.iter().take(within).flatten().collect();
    let mut found = op.table.get_parts(&small, ENTRY_PARTS).await?;
    found.extend(events.into_iter().filter(|(key, _)| within_keys.contains(key)).map(|(_, event)| event));
    Ok((found, within))
}

/// Lists the events of the actor among some events. Those that do not exist are being removed already.
async fn list(op: &Op, actor: &Actor, events: Vec<Item>, next: &mut ErasureStep) -> Result<(), TableError> {
    let mut groups: BTreeMap<(Topic, bool), ListedEvents> = BTreeMap::new();
    let mut entries = Vec::new();
    for item in events {
        if item.optional(ACTOR)?.as_ref() != Some(actor) {
            continue;
        }
        let (key, is_keyed): (EventKey, _) = (item.key_as()?, is_keyed(&item)?);
        entries.extend(TimelineEntry::of(&key, &item)?);
        let (topic, width) = (key.partition().topic.clone(), key.partition().bucket.width());
        let empty = ListedEvents { topic: topic.clone(), width, is_keyed, ids: Vec::new() };
        groups.entry((topic, is_keyed)).or_insert(empty).ids.push(key.id());
    }
    next.listed.events = groups.into_values().collect();
    next.listed.events.iter_mut().for_each(|events| events.ids.sort_unstable());
    next.awaited = awaited_of(op, &entries).await?;
    Ok(())
}

/// Some entries and copies of two of the listed events. The erasure goes on when fan-out has removed them. The copy of
/// the last follower is removed last.
async fn awaited_of(op: &Op, entries: &[TimelineEntry]) -> Result<Vec<Key>, TableError> {
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

/// Walks on through an actor's timeline. Returns entries, and whether there may be more.
async fn walk_timeline(
    op: &Op,
    actor: &Actor,
    at: &mut ErasurePlace,
) -> Result<(Vec<TimelineEntry>, bool), TableError> {
    let source = Source::Actor(actor.clone());
    let coverage = op.source(&source).stored().await?.coverage;
    let partition = SourceEntryKey::partition(&source, at.shard);
    let query = rest_of(partition, at.behind, ERASED_EVENTS_PER_STEP);
    let page = LanePage::read(op, &query, TimelineEntry::decode).await?;
    at.behind = page.stopped_at;
    if at.behind.is_some() {
        return Ok((page.items, true));
    }
    let shards = coverage.shards_within(UnixMillis::MIN, UnixMillis::MAX).into_iter();
    let next = shards.filter(|shard| *shard > at.shard).min();
    at.shard = next.unwrap_or(at.shard);
    Ok((page.items, next.is_some()))
}

/// The keys of the entries' events. The deletion of a topic removes the topic's events.
async fn events_of(op: &Op, entries: &[TimelineEntry]) -> Result<Vec<Key>, TableError> {
    let mut events = Vec::new();
    for entry in entries {
        events.extend(op.topic(&entry.topic).event_key(entry).await?);
    }
    Ok(events)
}

/// Walks on through the topics whose events the actor's timeline may not list.
async fn look_in_topics(op: &Op, actor: &Actor, next: &mut ErasureStep) -> Result<bool, TableError> {
    if next.at.bucket.is_some() {
        let keys = walk_topic(op, Condition::equals(ACTOR, actor.as_str()), &mut next.at).await?;
        list(op, actor, op.table.get_parts(&keys, ENTRY_PARTS).await?, next).await?;
        return Ok(true);
    }
    let (topics, more) = op.topics().all(next.at.topic.take(), TOPICS_AT_ONCE).await?;
    let stored = topics.iter().map(async |topic| op.topic(&topic.topic).find().await);
    let stored = collect_all(WRITES_AT_ONCE, stored).await?;
    for (topic, stored) in topics.into_iter().zip(stored) {
        let is_walked = stored.is_some_and(|stored| !stored.lists_by_actor && stored.deleting.is_none());
        if is_walked && enter(op, &topic.topic, &mut next.at).await? {
            return Ok(true);
        }
        next.at.topic = Some(topic.topic);
    }
    Ok(more && next.at.topic.is_some())
}

/// Goes to the newest bucket of a topic. Returns false if there is none.
async fn enter(op: &Op, topic: &Topic, at: &mut ErasurePlace) -> Result<bool, TableError> {
    let newest = op.directory(topic).remaining(None, 1).await?.entries.pop();
    let bucket = newest.map(|entry| entry.bucket);
    *at = ErasurePlace { topic: Some(topic.clone()), bucket, ..ErasurePlace::of(at.stage) };
    Ok(bucket.is_some())
}

/// Walks on through a topic, one query of one shard. Returns the keys of the events for which a condition holds.
/// After the last bucket, the place has none.
async fn walk_topic(op: &Op, is_wanted: Condition, at: &mut ErasurePlace) -> Result<Vec<Key>, TableError> {
    let Some((topic, begin)) = at.topic.clone().zip(at.bucket) else { return Ok(Vec::new()) };
    let page = op.directory(&topic).remaining(Some(begin), 2).await?;
    let mut rest =
        partitions(&page.entries, Some((begin, at.shard))).map(|(entry, shard)| (entry.bucket, shard));
    let (mut keys, mut behind, mut next) = (Vec::new(), None, rest.next());
    if let Some((bucket, shard)) = next {
        // The bucket's entry may have expired, with all events of the bucket.
        let behind_known = at.behind.filter(|_| (bucket, shard) == (begin, at.shard));
        let partition = EventPartition { topic: topic.clone(), bucket, shard }.to_string();
        let query =
            rest_of(partition, behind_known, ERASED_EVENTS_PER_STEP).filter(is_wanted).parts("pk, sk");
        let found = LanePage::read(op, &query, Item::key).await?;
        (keys, behind) = (found.items, found.stopped_at);
        if behind.is_none() {
            next = rest.next();
        }
    }
    let (bucket, shard) = next.unzip();
    let shard = shard.unwrap_or(0.into());
    *at = ErasurePlace { topic: Some(topic), bucket, shard, behind, ..ErasurePlace::of(at.stage) };
    Ok(keys)
}

/// Lists issues that an actor opened. Their events name them.
async fn look_for_issues(op: &Op, actor: &Actor, next: &mut ErasureStep) -> Result<bool, TableError> {
    let topic: Topic = ISSUES_TOPIC.parse().expect("the constant is a topic's name");
    let Some(stored) = op.topic(&topic).find().await?.filter(|stored| stored.deleting.is_none()) else {
        return Ok(false);
    };
    let (events, more) = if stored.lists_by_actor {
        let (mut entries, more) = walk_timeline(op, actor, &mut next.at).await?;
        entries.retain(|entry| entry.topic == topic && entry.event_type.as_str() == OPENED);
        (events_of(op, &entries).await?, more)
    } else {
        if next.at.topic.is_none() && !enter(op, &topic, &mut next.at).await? {
            return Ok(false);
        }
        let opened = Condition::equals(ACTOR, actor.as_str()).and(Condition::equals(TYPE, OPENED));
        (walk_topic(op, opened, &mut next.at).await?, next.at.bucket.is_some())
    };
    let mut issues: Vec<Key> = Vec::new();
    for event in &op.table.get_many(&events, true).await? {
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
async fn look_at_feed(op: &Op, user: &User, next: &mut ErasureStep) -> Result<bool, TableError> {
    let query = Query::partition(FeedEntryKey::partition(user)).parts("pk, sk").consistent(true);
    let query = query.limit(ERASED_EVENTS_PER_STEP);
    let query = match next.at.behind {
        Some(behind) => query.after(behind.sort_key().to_string()),
        None => query,
    };
    let page = op.table.query_items(&query).await?;
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
async fn look_for_follows(op: &Op, user: &User, next: &mut ErasureStep) -> Result<bool, TableError> {
    let query = Query::partition(ProfileKey::partition(user)).begins_with(FollowKey::PREFIX).consistent(true);
    for item in &op.table.query(&query.limit(ERASED_FOLLOWS_PER_STEP)).await?.items {
        next.listed.follows.push(item.key_as::<FollowKey>()?.source);
    }
    next.counts.follows += next.listed.follows.len() as u64;
    Ok(!next.listed.follows.is_empty())
}

/// Lists the user's profile and some of the user's sessions. They are deleted before the next look.
async fn look_for_records(op: &Op, user: &User, next: &mut ErasureStep) -> Result<bool, TableError> {
    let profile = op.table.existing(&[ProfileKey { user: user.clone() }.encode()]).await?;
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
async fn look_for_followers(op: &Op, actor: &Actor, next: &mut ErasureStep) -> Result<bool, TableError> {
    let source = Source::Actor(actor.clone());
    let shards = op.source(&source).stored().await?.shards;
    let (shard, after) = (next.at.shard, next.at.after.take());
    let page = op.source(&source).followers_of(shard, after, ERASED_FOLLOWS_PER_STEP as usize, true).await?;
    next.listed.followers = page.users().cloned().collect();
    next.counts.followers += next.listed.followers.len() as u64;
    next.at.after = next.listed.followers.last().cloned();
    if page.more {
        return Ok(true);
    }
    let after = shards.shards().filter(|after: &Shard| *after > shard).min();
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

/// Lets the numbers of a source's followers expire, where nobody follows any more.
async fn expire_counts(op: &Op, source: &Source) -> Result<(), TableError> {
    let shards = op.source(source).stored().await?.shards;
    for (shard, counts) in op.source(source).counts(shards).await? {
        if counts.here == 0 && counts.left > 0 {
            let update = Update::of(&FollowerCountKey { source: source.clone(), shard })
                .set(EXPIRES_AT, op.now().get() / 1000 + ENDING_MARK_SECONDS)
                .only_if(Condition::equals(FollowerCounts::HERE, 0_u64));
            op.table.update(&update).await?;
        }
    }
    Ok(())
}
