//! Late events of live timelines: the watch that followers put, and the notes that fan-out writes for them.
//!
//! ```text
//! ANNOUNCED#{topic} / #WATCH   or   LIVE#… / #WATCH
//!   until N (milliseconds: the timeline is followed at least until then), expires_at N
//! LIVE#… / {id of the note}
//!   e B (the ids of late events: 16 bytes each), expires_at N
//! ```
//!
//! A follower reads a timeline behind its settled position only. So it needs to hear of events that arrive before that
//! position. The order of the steps makes this safe: a follower puts its watch, and then reads the timeline; fan-out
//! writes an entry, and then reads the watch consistently. So one of the two sides sees the other.

use lately_keys::table::{LateNoteKey, Timeline, WatchKey};
use lately_keys::{EventId, TableKey, UnixMillis};
use lately_table::{Corrupt, Item, Query, TableError, Value, entropy_u64, tick};

use crate::limits::{NOTE_SECONDS, NOTED_AFTER_MILLIS, WATCH_MILLIS};
use crate::op::Op;

/// The bytes of an id in a note.
const ID_BYTES: usize = 16;

/// The item of a watch that begins or is renewed now.
pub(super) fn watch(timeline: &Timeline, now: UnixMillis) -> Item {
    let until = now.saturating_add(WATCH_MILLIS).get();
    let key = WatchKey { timeline: timeline.clone() };
    Item::at(&key).with("until", until).with("expires_at", until / 1000 + 1)
}

/// True if the item of a watch says that its timeline is followed now.
pub(crate) fn is_watched(watch: &Item, now: UnixMillis) -> Result<bool, Corrupt> {
    Ok(watch.number::<u64>("until")? >= now.get())
}

/// The item of a note.
fn note(timeline: &Timeline, id: EventId, events: &[EventId], now: UnixMillis) -> Item {
    let bytes: Vec<u8> = events.iter().flat_map(|event| *event.as_uuid().as_bytes()).collect();
    let key = LateNoteKey { timeline: timeline.clone(), id };
    Item::at(&key).with("e", Value::bytes(bytes)).with("expires_at", now.get() / 1000 + NOTE_SECONDS)
}

/// A note, as a follower reads it.
#[derive(Debug)]
pub(super) struct LateNote {
    pub(super) id: EventId,
    pub(super) events: Vec<EventId>,
}

impl LateNote {
    fn decode(item: &Item) -> Result<Self, Corrupt> {
        let LateNoteKey { id, .. } = item.key_as()?;
        let ids = item.bytes("e")?.chunks(ID_BYTES).map(EventId::from_slice);
        let events = ids.collect::<Option<_>>().ok_or_else(|| item.corrupt("e"))?;
        Ok(Self { id, events })
    }
}

impl Op {
    /// Notes events whose entries were just written into some timelines, if that was late and the timelines are
    /// followed live. Entries that were written in time cost nothing here.
    pub(crate) async fn note_late(
        &self,
        ids: &[EventId],
        timelines: impl IntoIterator<Item = Timeline>,
    ) -> Result<(), TableError> {
        let in_time = self.now().saturating_sub(NOTED_AFTER_MILLIS);
        let late: Vec<_> = ids.iter().copied().filter(|id| id.at() < in_time).collect();
        if late.is_empty() {
            return Ok(());
        }
        let watches: Vec<_> = timelines.into_iter().map(|timeline| WatchKey { timeline }.encode()).collect();
        for watch in self.table.get_many(&watches, true).await? {
            if is_watched(&watch, self.now())? {
                let WatchKey { timeline } = watch.key_as()?;
                self.notify_followers(&timeline, &late).await?;
            }
        }
        Ok(())
    }

    /// Puts a note of late events for the followers of a timeline.
    pub(crate) async fn notify_followers(
        &self,
        timeline: &Timeline,
        late: &[EventId],
    ) -> Result<(), TableError> {
        if late.is_empty() {
            return Ok(());
        }
        let clock = tick(self.ambient()).map_err(TableError::unavailable)?;
        let id = self.store.generator().next(clock, 0.into(), entropy_u64(self.ambient()));
        let note = note(timeline, id.map_err(TableError::unavailable)?, late, self.now());
        self.table.put(&note).await
    }

    /// The notes of a timeline from an id on, oldest first.
    pub(super) async fn late_notes(
        &self,
        timeline: &Timeline,
        from: EventId,
    ) -> Result<Vec<LateNote>, TableError> {
        let last = EventId::last_of(UnixMillis::MAX);
        let query = Query::partition(timeline.to_string()).between(from.to_string(), last.to_string());
        // A minute's notes are a few queries even while a topic gets a thousand late events a second.
        let items = self.table.query_all(query).await?;
        Ok(items.iter().map(LateNote::decode).collect::<Result<_, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0190a4cd-d3e7-7222-9f99-fdb74feee752";

    #[test]
    fn golden_bytes() {
        let (timeline, now) =
            (Timeline::Topic("posts".parse().unwrap()), UnixMillis::new(1_000_500).unwrap());
        let item = watch(&timeline, now);
        let expected = Item::from([("pk", "ANNOUNCED#posts"), ("sk", "#WATCH")])
            .with("until", 1_120_500_u64)
            .with("expires_at", 1_121_u64);
        assert_eq!(item, expected);
        let until = |millis| is_watched(&item, UnixMillis::new(millis).unwrap());
        assert_eq!((until(1_120_500), until(1_120_501)), (Ok(true), Ok(false)));

        let id: EventId = ID.parse().unwrap();
        let events = [id, EventId::first_of(now)];
        let item = note(&timeline, id, &events, now);
        let bytes = [*events[0].as_uuid().as_bytes(), *events[1].as_uuid().as_bytes()].concat();
        let expected = Item::from([("pk", "LIVE#TOPIC#posts"), ("sk", ID)])
            .with("e", Value::bytes(bytes))
            .with("expires_at", 1_000 + NOTE_SECONDS);
        assert_eq!(item, expected);
        let decoded = LateNote::decode(&item).unwrap();
        assert_eq!((decoded.id, &decoded.events[..]), (id, &events[..]));
        assert!(LateNote::decode(&item.with("e", Value::bytes([1; 17]))).is_err());
    }
}
