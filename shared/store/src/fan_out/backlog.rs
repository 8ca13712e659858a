//! Backlogs: writes to a partition that takes no more of them now.
//!
//! ```text
//! JOB#BACKLOG#SOURCE#{source} or JOB#BACKLOG#FEED#{user} / {id}
//!   o S?, b S? (topic and bucket width of events that were written; absent: the events were deleted)
//!   e B (for each event 21 bytes: its id, when it was changed in unix seconds, 1 if its topic fans out)
//!   step N (how often the item was put)
//! ```
//!
//! A timeline and a feed are one partition each, which takes 1,000 writes a second. An actor or a feed that gets more
//! must not hold up all others whose records are in the same lane of the stream. So after some attempts (`writer.rs`)
//! a batch leaves such writes: for each busy partition it puts one item that lists the events, and is then done. The
//! item's own stream record begins a *step*: the oldest items are read, their events are handled as if their records
//! had come again, finished items are deleted, and what is left is put back, which makes the next stream record.
//!
//! What must hold:
//! - An item is put before the batch is answered, and deleted after its events are handled. A step that dies is
//!   repeated, and everything it does may be done twice.
//! - Only the record of the oldest item begins a step: many items make many records, and each step holds up their lane. A
//!   step that leaves anything behind puts the oldest item back, which makes its next record. One that leaves nothing
//!   looks once more after it has deleted the items: an item may have been put, and told of in vain, before.
//! - An event is looked up when its turn comes. One that is gone by then is removed, not written.
//!
//! All records of a backlog are in one lane of the stream, so its steps do not run side by side. A step begins nothing
//! more after a fifth of a second, since records of others wait behind it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_keys::table::{Backlog, BacklogKey, EventKey};
use lately_keys::{BucketWidth, EventId, Key, Place, Source, TableKey, Topic, UnixMillis, User};

use crate::entry::{TimelineEntry, own_feed, place_in_feed};
use crate::error::TableError;
use crate::fan_out::writer::Write;
use crate::fan_out::{FanOut, count, fresh_id};
use crate::item::{Corrupt, Fields, Item, keyed, number, text};
use crate::limits::{
    BACKLOG_EVENTS_AT_ONCE, BACKLOG_EVENTS_PER_ITEM, BACKLOG_EVENTS_PER_STEP, BACKLOG_ITEMS_PER_STEP,
    BACKLOG_STEP_TIME, RAILS_AT_ONCE, WRITES_AT_ONCE,
};
use crate::op::Op;

/// An event in a backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LeftEvent {
    pub(super) id: EventId,
    /// When it was written or deleted, in whole seconds.
    pub(super) at: UnixMillis,
    /// Whether its topic fans out: if not, it is in no feed.
    pub(super) fans_out: bool,
}

/// What events of an item have in common: where they are, or nothing if they were deleted.
pub(super) type LeftIn = Option<(Topic, BucketWidth)>;

/// An event to write or to remove later.
#[derive(Clone, Debug)]
pub(super) struct Later {
    pub(super) written: LeftIn,
    pub(super) event: LeftEvent,
}

impl Later {
    /// An event that was written.
    pub(super) fn write(key: &EventKey, at: UnixMillis, fans_out: bool) -> Self {
        let written = Some((key.partition().topic.clone(), key.partition().bucket.width()));
        Self { written, event: LeftEvent { id: key.id(), at, fans_out } }
    }

    /// An event that was deleted.
    pub(super) const fn remove(id: EventId, at: UnixMillis, fans_out: bool) -> Self {
        Self { written: None, event: LeftEvent { id, at, fans_out } }
    }
}

/// What a batch, or a step, leaves to backlogs.
#[derive(Debug, Default)]
pub(super) struct LeftWork(Mutex<BTreeMap<(Backlog, LeftIn), LeftEvents>>);

/// Events, and the places in the batch of the records that they follow from.
#[derive(Debug, Default)]
struct LeftEvents {
    events: BTreeSet<LeftEvent>,
    places: BTreeSet<usize>,
}

impl LeftWork {
    fn add(&self, backlog: Backlog, later: Later, place: usize) {
        let mut all = self.all();
        let left = all.entry((backlog, later.written)).or_default();
        left.events.insert(later.event);
        left.places.insert(place);
    }

    /// The events that are left to one backlog, which then has none.
    fn take(&self, backlog: &Backlog) -> Vec<(LeftIn, Vec<LeftEvent>)> {
        let mut all = self.all();
        let (ours, others) = std::mem::take(&mut *all).into_iter().partition(|((of, _), _)| of == backlog);
        *all = others;
        let ours: BTreeMap<_, LeftEvents> = ours;
        ours.into_iter().map(|((_, written), left)| (written, left.events.into_iter().collect())).collect()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<(Backlog, LeftIn), LeftEvents>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An item of a backlog.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BacklogItem {
    key: BacklogKey,
    written: LeftIn,
    events: Vec<LeftEvent>,
    step: u64,
}

/// An event's bytes: its id, four of its time, one more.
const EVENT_BYTES: usize = 16 + 4 + 1;

impl BacklogItem {
    fn encode(&self) -> Item {
        let mut item = keyed(Place::Table, self.key.encode());
        if let Some((topic, width)) = &self.written {
            item.insert("o".to_owned(), text(topic.as_str()));
            item.insert("b".to_owned(), text(width.as_str()));
        }
        let mut bytes = Vec::with_capacity(self.events.len() * EVENT_BYTES);
        for LeftEvent { id, at, fans_out } in &self.events {
            bytes.extend(id.as_uuid().as_bytes());
            bytes.extend(u32::try_from(at.get() / 1000).unwrap_or(u32::MAX).to_be_bytes());
            bytes.push(u8::from(*fans_out));
        }
        item.insert("e".to_owned(), AttributeValue::B(Blob::new(bytes)));
        item.insert("step".to_owned(), number(self.step));
        item
    }

    fn decode(item: &Item) -> Result<Self, Corrupt> {
        let fields = Fields(item);
        let key = BacklogKey::decode(fields.text("pk")?, fields.text("sk")?);
        let topic = fields.optional_parsed("o")?;
        let written = topic.map(|topic| Ok((topic, fields.parsed("b")?))).transpose()?;
        let bytes = fields.bytes("e")?;
        let events: Option<Vec<_>> = bytes.chunks(EVENT_BYTES).map(left_event).collect();
        Ok(Self {
            key: key.ok_or_else(|| fields.corrupt("sk"))?,
            written,
            events: events.ok_or_else(|| fields.corrupt("e"))?,
            step: fields.number("step")?,
        })
    }
}

fn left_event(bytes: &[u8]) -> Option<LeftEvent> {
    let bytes: &[u8; EVENT_BYTES] = bytes.try_into().ok()?;
    let (id, rest) = bytes.split_first_chunk::<16>()?;
    let (seconds, rest) = rest.split_first_chunk::<4>()?;
    let id = EventId::from_slice(id)?;
    let at = UnixMillis::new(u64::from(u32::from_be_bytes(*seconds)) * 1000).ok()?;
    Some(LeftEvent { id, at, fans_out: rest == [1] })
}

impl FanOut<'_> {
    /// Writes what can be written now, and leaves writes to busy partitions to their backlogs; the keys of these.
    pub(super) async fn write_or_leave(
        &self,
        writes: Vec<Write>,
        later: impl Fn(&Key) -> Later,
    ) -> Result<HashSet<Key>, TableError> {
        let (mut left, mut asked) = (Vec::new(), Vec::new());
        for write in writes {
            let key = write.key()?;
            let is_ours = || Backlog::of(&key).as_ref() == self.backlog;
            match self.op.store.is_busy(&key.pk) && !is_ours() {
                true => left.push(key),
                false => asked.push(write),
            }
        }
        for key in self.writer.write_or_refuse(asked).await? {
            self.op.store.note_busy(&key.pk);
            left.push(key);
        }
        for key in &left {
            let backlog = Backlog::of(key).ok_or_else(|| Corrupt::new(&key.pk, "sk"))?;
            self.left.add(backlog, later(key), self.place);
        }
        Ok(left.into_iter().collect())
    }

    /// Puts what is left to backlogs. The places of the records for which that could not be done.
    pub(super) async fn put_left(&self, left: &LeftWork) -> BTreeSet<usize> {
        let left = std::mem::take(&mut *left.all());
        let puts: Vec<_> = left
            .into_iter()
            .map(async |((backlog, written), LeftEvents { events, places })| {
                let events: Vec<_> = events.into_iter().collect();
                match self.put_to(backlog, written, &events).await {
                    Ok(()) => BTreeSet::new(),
                    Err(error) => {
                        tracing::warn!(%error, "events were not put into a backlog");
                        places
                    }
                }
            })
            .collect();
        let failed = stream::iter(puts).buffer_unordered(WRITES_AT_ONCE).collect::<Vec<_>>().await;
        failed.into_iter().flatten().collect()
    }

    async fn put_to(
        &self,
        backlog: Backlog,
        written: LeftIn,
        events: &[LeftEvent],
    ) -> Result<(), TableError> {
        for events in events.chunks(BACKLOG_EVENTS_PER_ITEM) {
            let key = BacklogKey { backlog: backlog.clone(), id: fresh_id(self.op)? };
            let item = BacklogItem { key, written: written.clone(), events: events.to_vec(), step: 0 };
            self.op.table.put_item(&item.encode()).await?;
            count(&self.done.left, events.len());
        }
        Ok(())
    }

    /// Works on the oldest events of a backlog, if one of some records tells of its oldest item, or of an older one that is gone:
    /// a step may have died after it had deleted that. Otherwise the oldest item has a record of its own still to come.
    pub(super) async fn work_off(
        &self,
        backlog: &Backlog,
        told: &BTreeSet<EventId>,
    ) -> Result<(), TableError> {
        let (items, more) = oldest_of(self.op, backlog).await?;
        let is_due = |first: &&BacklogItem| told.first().is_some_and(|told| *told <= first.key.id);
        let Some(first) = items.first().filter(is_due) else { return Ok(()) };
        self.done.saw(items.iter().flat_map(|item| &item.events).map(|event| event.at).min());
        let left = LeftWork::default();
        let step = BacklogStep {
            fan_out: FanOut { left: &left, backlog: Some(backlog), ..*self },
            backlog,
            until: self.op.ambient().monotonic() + BACKLOG_STEP_TIME,
        };
        match backlog {
            Backlog::Source(source) => step.handle_again(source, &items).await?,
            Backlog::Feed(user) => step.settle_in_feed(user, &items).await?,
        }
        let mut rest = left.take(backlog);
        let left_nothing = rest.is_empty();
        if !self.put_left(&left).await.is_empty() {
            return Err(TableError::unavailable("events were not put into a backlog"));
        }
        if rest.is_empty() && more {
            // Put back without events, so that there is a next step.
            rest.push((first.written.clone(), Vec::new()));
        }
        let mut items = items.into_iter();
        for (written, events) in rest {
            match items.next() {
                Some(item) => {
                    let item = BacklogItem { written, events, step: item.step + 1, ..item };
                    self.op.table.put_item(&item.encode()).await?;
                }
                // Of what was written, some is to be removed by now.
                None => self.put_to(backlog.clone(), written, &events).await?,
            }
        }
        let is_over = left_nothing && !more;
        self.delete(items.map(|item| item.key.encode()).collect()).await?;
        // An item that was put meanwhile may have been told of while these were older.
        let next = match is_over {
            true => oldest_of(self.op, backlog).await?.0.into_iter().next(),
            false => None,
        };
        match next {
            Some(next) => {
                let next = BacklogItem { step: next.step + 1, ..next };
                self.op.table.put_item(&next.encode()).await
            }
            None => Ok(()),
        }
    }
}

/// The items of a step, and whether there are more.
async fn oldest_of(op: &Op, backlog: &Backlog) -> Result<(Vec<BacklogItem>, bool), TableError> {
    let answer = op
        .table
        .query(|query| {
            query
                .key_condition_expression("pk = :pk")
                .expression_attribute_values(":pk", text(backlog.to_string()))
                .limit(i32::try_from(BACKLOG_ITEMS_PER_STEP).unwrap_or(i32::MAX))
                .consistent_read(true)
        })
        .await?;
    let mut events = 0;
    let mut items = Vec::new();
    for item in answer.items() {
        if events >= BACKLOG_EVENTS_PER_STEP {
            return Ok((items, true));
        }
        let item = BacklogItem::decode(item)?;
        events += item.events.len();
        items.push(item);
    }
    Ok((items, answer.last_evaluated_key().is_some()))
}

/// One step of a backlog, as it handles events.
#[derive(Clone, Copy)]
struct BacklogStep<'a> {
    fan_out: FanOut<'a>,
    backlog: &'a Backlog,
    /// When it begins nothing more. It handles the events that it begins at once in any case, so a backlog comes to an end.
    until: Duration,
}

impl BacklogStep<'_> {
    /// Leaves events to the next step if this one has no time for them. Whether it has none.
    fn leaves(self, written: &LeftIn, events: &[LeftEvent]) -> bool {
        let FanOut { op, left, place, .. } = self.fan_out;
        if op.ambient().monotonic() < self.until {
            return false;
        }
        for event in events {
            left.add(self.backlog.clone(), Later { written: written.clone(), event: *event }, place);
        }
        true
    }

    /// Handles events under a source as if their records had come again.
    async fn handle_again(self, source: &Source, items: &[BacklogItem]) -> Result<(), TableError> {
        let events = items.iter().flat_map(|item| item.events.iter().map(|event| (&item.written, event)));
        let handled: Vec<_> =
            events.map(|(written, event)| self.handle_left(source, written, event)).collect();
        stream::iter(handled).buffer_unordered(RAILS_AT_ONCE).try_collect().await
    }

    async fn handle_left(
        self,
        source: &Source,
        written: &LeftIn,
        event: &LeftEvent,
    ) -> Result<(), TableError> {
        if self.leaves(written, std::slice::from_ref(event)) {
            return Ok(());
        }
        let LeftEvent { id, at, .. } = *event;
        if let Some((topic, width)) = written {
            let key = EventKey::new(topic.clone(), *width, id);
            let item = self.fan_out.op.table.get_item(keyed(Place::Table, key.encode())).await?;
            let entry = item.map(|item| TimelineEntry::of(&key, &item, at)).transpose()?.flatten();
            if let Some(entry) = entry.filter(|entry| entry.sources().any(|listed| listed == *source)) {
                return Box::pin(self.fan_out.bring(&key, &entry, at, vec![source.clone()], None)).await;
            }
        }
        // An attempt that died may have written it, also for followers who have left since.
        Box::pin(self.fan_out.clear(event, vec![source.clone()], None, written.is_some())).await
    }

    /// Makes a feed what it must be as regards some events: with a copy of each that is there and that the user follows,
    /// without one of each other.
    async fn settle_in_feed(self, user: &User, items: &[BacklogItem]) -> Result<(), TableError> {
        for BacklogItem { written, events, .. } in items {
            for events in events.chunks(BACKLOG_EVENTS_AT_ONCE) {
                if self.leaves(written, events) {
                    continue;
                }
                let entries = match written {
                    Some((topic, width)) => self.followed(user, topic, *width, events).await?,
                    None => Vec::new(),
                };
                self.settle(user, written, events, entries).await?;
            }
        }
        Ok(())
    }

    /// Those of some events that are there, and that belong into a feed now.
    async fn followed(
        self,
        user: &User,
        topic: &Topic,
        width: BucketWidth,
        events: &[LeftEvent],
    ) -> Result<Vec<TimelineEntry>, TableError> {
        let keys = events.iter().map(|event| (EventKey::new(topic.clone(), width, event.id), event.at));
        let keys: HashMap<Key, (EventKey, UnixMillis)> = keys.map(|key| (key.0.encode(), key)).collect();
        let wanted: Vec<_> = keys.keys().map(|key| keyed(Place::Table, key.clone())).collect();
        let mut entries = Vec::new();
        for item in self.fan_out.op.table.get_items(&wanted, true).await? {
            if let Some((key, at)) = keys.get(&Fields(&item).key()?) {
                entries.extend(TimelineEntry::of(key, &item, *at)?.filter(|entry| entry.fans_out));
            }
        }
        entries.sort_by_key(|entry| entry.id);
        let edges = self.fan_out.op.user(user).edges(&entries).await?;
        entries
            .retain(|entry| is_own(entry, user) || entry.sources().any(|source| edges.contains_key(&source)));
        Ok(entries)
    }

    async fn settle(
        self,
        user: &User,
        written: &LeftIn,
        events: &[LeftEvent],
        mut entries: Vec<TimelineEntry>,
    ) -> Result<(), TableError> {
        let fan_out = self.fan_out;
        let retention = fan_out.op.store.feeds().retention;
        let shown: BTreeSet<EventId> = entries.iter().map(|entry| entry.id).collect();
        let gone = events.iter().filter(|event| !shown.contains(&event.id));
        let gone = gone.map(|event| Write::Delete(place_in_feed(event.id, user)));
        let copies = entries.iter().map(|entry| Write::Put(entry.in_feed(user, retention)));
        let by_key: HashMap<Key, LeftEvent> =
            events.iter().map(|event| (place_in_feed(event.id, user), *event)).collect();
        let later = |key: &Key| Later { written: written.clone(), event: by_key[key] };
        let left = fan_out.write_or_leave(copies.chain(gone).collect(), later).await?;
        entries.retain(|entry| !left.contains(&place_in_feed(entry.id, user)));
        count(&fan_out.done.deliveries, entries.len());
        let (own, others): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| is_own(entry, user));
        fan_out.feed(user).take_back_deleted(own).await?;
        fan_out.feed(user).withdraw(others).await
    }
}

fn is_own(entry: &TimelineEntry, user: &User) -> bool {
    own_feed(&entry.actor).as_ref() == Some(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0190a4cd-d3e7-7222-9f99-fdb74feee752";

    fn item(written: LeftIn) -> BacklogItem {
        let id = ID.parse().unwrap();
        let event = |at: u64, fans_out| LeftEvent { id, at: UnixMillis::new(at * 1000).unwrap(), fans_out };
        let key = BacklogKey { backlog: Backlog::Source("actor:ada".parse().unwrap()), id };
        BacklogItem { key, written, events: vec![event(1, true), event(1_720_800_000, false)], step: 3 }
    }

    #[test]
    fn golden_bytes() {
        let stored = item(Some(("posts".parse().unwrap(), BucketWidth::Hour))).encode();
        let id: EventId = ID.parse().unwrap();
        let id = id.as_uuid();
        let events =
            [&id.as_bytes()[..], &[0, 0, 0, 1, 1], id.as_bytes(), &[0x66, 0x91, 0x53, 0, 0]].concat();
        let expected = [
            ("pk", text("JOB#BACKLOG#SOURCE#actor:ada")),
            ("sk", text(ID)),
            ("o", text("posts")),
            ("b", text("hour")),
            ("e", AttributeValue::B(Blob::new(events))),
            ("step", number(3_u64)),
        ];
        assert_eq!(stored, expected.map(|(name, value)| (name.to_owned(), value)).into());
    }

    #[test]
    fn an_item_comes_back_as_it_was() {
        for written in [None, Some(("posts".parse().unwrap(), BucketWidth::Month))] {
            let item = item(written);
            assert_eq!(BacklogItem::decode(&item.encode()), Ok(item));
        }
        let mut cut = item(None).encode();
        cut.insert("e".to_owned(), AttributeValue::B(Blob::new([1; 22])));
        assert!(BacklogItem::decode(&cut).is_err());
    }
}
