//! Events that are deferred to a backlog, and the items that list them (`backlog.rs`). Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lately_items::{Backlog, BacklogKey, EventKey};
use lately_keys::{BucketWidth, EventId, Topic, UnixMillis};
use lately_table::{Corrupt, Item, Value};

/// An event in a backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DeferredEvent {
    pub(super) id: EventId,
    /// When the event was written or deleted, in whole seconds.
    pub(super) at: UnixMillis,
    /// True if the event's topic fans out. If not, the event is in no feed.
    pub(super) fans_out: bool,
}

/// The topic and the bucket width of all events of an item; `None` if they were deleted.
pub(super) type DeferredTopic = Option<(Topic, BucketWidth)>;

/// An event to write or to remove later.
#[derive(Clone, Debug)]
pub(super) struct DeferredWrite {
    pub(super) written: DeferredTopic,
    pub(super) event: DeferredEvent,
}

impl DeferredWrite {
    /// An event that was written.
    pub(super) fn write(key: &EventKey, at: UnixMillis, fans_out: bool) -> Self {
        let written = Some((key.partition().topic.clone(), key.partition().bucket.width()));
        Self { written, event: DeferredEvent { id: key.id(), at, fans_out } }
    }

    /// An event that was deleted.
    pub(super) const fn remove(id: EventId, at: UnixMillis, fans_out: bool) -> Self {
        Self { written: None, event: DeferredEvent { id, at, fans_out } }
    }
}

/// The events that a batch of records, or a step, leaves to backlogs.
#[derive(Debug, Default)]
pub(super) struct DeferredWork(Mutex<BTreeMap<(Backlog, DeferredTopic), DeferredEvents>>);

/// Events, and the places of their records in the batch.
#[derive(Debug, Default)]
pub(super) struct DeferredEvents {
    pub(super) events: BTreeSet<DeferredEvent>,
    pub(super) places: BTreeSet<usize>,
}

impl DeferredWork {
    pub(super) fn add(&self, backlog: Backlog, later: DeferredWrite, place: usize) {
        let mut all = self.all();
        let deferred = all.entry((backlog, later.written)).or_default();
        deferred.events.insert(later.event);
        deferred.places.insert(place);
    }

    /// Takes out the events that are deferred to one backlog.
    pub(super) fn take(&self, backlog: &Backlog) -> Vec<(DeferredTopic, Vec<DeferredEvent>)> {
        let mut all = self.all();
        let (ours, others) = std::mem::take(&mut *all).into_iter().partition(|((of, _), _)| of == backlog);
        *all = others;
        let ours: BTreeMap<_, DeferredEvents> = ours;
        ours.into_iter()
            .map(|((_, written), deferred)| (written, deferred.events.into_iter().collect()))
            .collect()
    }

    pub(super) fn all(&self) -> MutexGuard<'_, BTreeMap<(Backlog, DeferredTopic), DeferredEvents>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An item of a backlog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BacklogItem {
    pub(super) key: BacklogKey,
    pub(super) written: DeferredTopic,
    pub(super) events: Vec<DeferredEvent>,
    pub(super) step: u64,
}

/// The bytes of one event: its id, its time, and whether its topic fans out.
const EVENT_BYTES: usize = 16 + 4 + 1;

impl BacklogItem {
    pub(super) fn encode(&self) -> Item {
        let mut bytes = Vec::with_capacity(self.events.len() * EVENT_BYTES);
        for DeferredEvent { id, at, fans_out } in &self.events {
            bytes.extend(id.as_uuid().as_bytes());
            bytes.extend(u32::try_from(at.get() / 1000).unwrap_or(u32::MAX).to_be_bytes());
            bytes.push(u8::from(*fans_out));
        }
        Item::at(&self.key)
            .with_some("o", self.written.as_ref().map(|(topic, _)| topic.as_str()))
            .with_some("b", self.written.as_ref().map(|(_, width)| width.as_str()))
            .with("e", Value::bytes(bytes))
            .with("step", self.step)
    }

    pub(super) fn decode(item: &Item) -> Result<Self, Corrupt> {
        let topic = item.optional_parsed("o")?;
        let written = topic.map(|topic| Ok((topic, item.parsed("b")?))).transpose()?;
        let events: Option<Vec<_>> = item.bytes("e")?.chunks(EVENT_BYTES).map(left_event).collect();
        Ok(Self {
            key: item.key_as()?,
            written,
            events: events.ok_or_else(|| item.corrupt("e"))?,
            step: item.number("step")?,
        })
    }
}

fn left_event(bytes: &[u8]) -> Option<DeferredEvent> {
    let bytes: &[u8; EVENT_BYTES] = bytes.try_into().ok()?;
    let (id, rest) = bytes.split_first_chunk::<16>()?;
    let (seconds, rest) = rest.split_first_chunk::<4>()?;
    let id = EventId::from_slice(id)?;
    let at = UnixMillis::new(u64::from(u32::from_be_bytes(*seconds)) * 1000).ok()?;
    Some(DeferredEvent { id, at, fans_out: rest == [1] })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0190a4cd-d3e7-7222-9f99-fdb74feee752";

    fn item(written: DeferredTopic) -> BacklogItem {
        let id = ID.parse().unwrap();
        let event =
            |at: u64, fans_out| DeferredEvent { id, at: UnixMillis::new(at * 1000).unwrap(), fans_out };
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
        let expected = Item::from([("pk", "JOB#BACKLOG#SOURCE#actor:ada"), ("sk", ID)])
            .with("o", "posts")
            .with("b", "hour")
            .with("e", Value::bytes(events))
            .with("step", 3_u64);
        assert_eq!(stored, expected);
    }

    #[test]
    fn an_item_decodes_to_itself() {
        for written in [None, Some(("posts".parse().unwrap(), BucketWidth::Month))] {
            let item = item(written);
            assert_eq!(BacklogItem::decode(&item.encode()), Ok(item));
        }
        let cut = item(None).encode().with("e", Value::bytes([1; 22]));
        assert!(BacklogItem::decode(&cut).is_err());
    }
}
