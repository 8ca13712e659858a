//! Late entries of sources' timelines and feeds: the watch that followers put, and the notes that fan-out writes for them.
//! The followers of a topic read its late log instead (`late_log/`); their watch counts as one of the topic's readers.
//!
//! A follower reads a timeline behind its settled position only. So it needs to hear of entries that are written before that
//! position. The order of the steps makes this safe: a follower puts its watch, and then reads the timeline; fan-out
//! writes an entry, and then reads the watch consistently. So one of the two sides sees the other.
//!
//! A batch of records reads each watch once, and puts one note for each timeline. No record depends on a note: if the
//! table refuses it for some time, the followers miss these late entries, and nobody waits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use lately_items::{LateNote, LateNoteKey, Timeline, WatchKey};
use lately_keys::{EventId, TableKey, UnixMillis};
use lately_table::{Item, Query, TableError};

use crate::at_once::{lock, run_each};
use crate::handle::LiveNotes;
use crate::limits::{STORED_LATE_MILLIS, WRITES_AT_ONCE};

/// The time for the notes of a batch of records: nothing depends on them.
const NOTES_TIME: Duration = Duration::from_millis(500);

/// A note expires after this. Its followers read it within seconds.
const NOTE_SECONDS: u64 = 60 * 60;

/// The most ids in a note: 64 KB.
const NOTE_EVENTS: usize = 4_096;

/// The notes that one query reads. Each batch of records puts one, so these are the notes of some seconds.
const NOTES_PER_QUERY: usize = 100;

fn warn(noted: Result<(), TableError>) {
    if let Err(error) = noted {
        tracing::warn!(%error, "late events were not noted for live followers");
    }
}

/// The item of a note.
fn note(timeline: &Timeline, id: EventId, events: &[EventId], now: UnixMillis) -> Item {
    let key = LateNoteKey { timeline: timeline.clone(), id };
    key.item(events, now.get() / 1000 + NOTE_SECONDS)
}

/// The ids of entries that were written late, by their timelines. Collected for a batch of records.
#[derive(Debug, Default)]
pub(crate) struct LateEntries(Mutex<BTreeMap<Timeline, BTreeSet<EventId>>>);

impl LateEntries {
    /// Adds events whose entries are written now, unless they are written in time.
    pub(crate) fn add(
        &self,
        now: UnixMillis,
        ids: &[EventId],
        timelines: impl IntoIterator<Item = Timeline>,
    ) {
        let in_time = now.saturating_sub(STORED_LATE_MILLIS);
        let late: Vec<_> = ids.iter().copied().filter(|id| id.at() < in_time).collect();
        if late.is_empty() {
            return;
        }
        let mut all = lock(&self.0);
        for timeline in timelines {
            all.entry(timeline).or_default().extend(&late);
        }
    }
}

impl LiveNotes<'_> {
    /// Puts a note of late entries for each timeline that is followed live.
    pub(crate) async fn put_entries(self, late: &LateEntries) {
        let late = std::mem::take(&mut *lock(&late.0));
        if late.is_empty() {
            return;
        }
        let op = &self.op.step_within(NOTES_TIME);
        let noted = async {
            let watches = late.keys().cloned().map(|timeline| WatchKey { timeline }.encode());
            let watches = op.table.get_many(&watches.collect::<Vec<_>>(), true).await?;
            let notes = watches.iter().map(async |watch| {
                let WatchKey { timeline } = watch.key_as()?;
                match WatchKey::is_watched(watch, op.now())? {
                    true => op.live_notes().put(&timeline, &late[&timeline]).await,
                    false => Ok(()),
                }
            });
            run_each(WRITES_AT_ONCE, notes).await
        };
        warn(noted.await);
    }

    async fn put(self, timeline: &Timeline, late: &BTreeSet<EventId>) -> Result<(), TableError> {
        for events in late.iter().copied().collect::<Vec<_>>().chunks(NOTE_EVENTS) {
            self.op.table.put(&note(timeline, self.op.new_id()?, events, self.op.now())).await?;
        }
        Ok(())
    }

    /// The notes of a timeline after one, oldest first, as many as one query reads, and whether there are more.
    pub(super) async fn after(
        self,
        timeline: &Timeline,
        note: EventId,
    ) -> Result<(Vec<LateNote>, bool), TableError> {
        // Behind the notes lies the watch, whose sort key sorts before all ids.
        let query = Query::partition(timeline.to_string()).after(note.to_string()).limit(NOTES_PER_QUERY);
        let page = self.op.table.query_items(&query).await?;
        let notes = page.items.iter().map(LateNote::decode).collect::<Result<_, _>>()?;
        Ok((notes, page.next.is_some()))
    }
}
