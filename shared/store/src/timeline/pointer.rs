//! The events of entries: a copy contains its event, a pointer is followed to its event.
//!
//! An event that no longer exists (it was deleted or has expired) is left out; its entries are removed a little later.
//! Only a consistent read proves that an event does not exist. So an event that an eventually consistent read does not
//! find is read a second time.
//!
//! A topic's retention hides at once, also in timelines and feeds. No retention is shorter than a day, so the topics'
//! settings are read only for entries that are older.
//!
//! One large event may fill a page, and the read of an event costs as much as its size. So at first only as many
//! pointers are followed as surely fit a page. The sizes of these events say how many pointers to follow next.

use std::collections::BTreeMap;

use lately_items::event::unless_over;
use lately_items::{TimelineEntry, id_of_sort_key};
use lately_keys::{EventId, Key, TableKey, Topic, UnixMillis};
use lately_model::{Event, RetentionDays, TimelineEvent};
use lately_table::TableError;
use lately_table::limits::BATCH_KEYS;

use crate::latest::page::PageItem;
use crate::latest::round::WaveReader;
use crate::limits::POINTERS_AT_FIRST;
use crate::timeline::reading::TimelineReading;

/// For each topic, the first millisecond whose events are kept.
type OldestKept = BTreeMap<Topic, UnixMillis>;

impl TimelineReading<'_> {
    /// The first moments that are kept, for the topics of those entries that may be past a retention.
    async fn oldest_kept(&self, entries: &[TimelineEntry]) -> Result<OldestKept, TableError> {
        let newest_gone = self.now.saturating_sub(RetentionDays::SHORTEST.millis());
        let mut kept = OldestKept::new();
        for TimelineEntry { topic, .. } in entries.iter().filter(|entry| entry.id.at() <= newest_gone) {
            if kept.contains_key(topic) {
                continue;
            }
            let stored = self.op.topic(topic).stored_if_any().await?;
            // A topic that was deleted keeps nothing.
            let oldest = stored.map_or(UnixMillis::MAX, |stored| stored.oldest_kept(self.now));
            kept.insert(topic.clone(), oldest);
        }
        Ok(kept)
    }

    /// The existing events of entries, in their order, until they fill a page that has `room` bytes left. Also returns the
    /// number of entries that were looked at: all, or enough to fill the page and one more, or as many as the budget
    /// allowed.
    pub(crate) async fn resolve(
        &mut self,
        entries: &[TimelineEntry],
        room: usize,
    ) -> Result<(Vec<TimelineEvent>, usize), TableError> {
        let (mut events, mut looked_at, mut bytes) = (Vec::new(), 0, 0);
        let mut pointers = POINTERS_AT_FIRST;
        let kept = Box::pin(self.oldest_kept(entries)).await?;
        while looked_at < entries.len() && bytes <= room && (looked_at == 0 || !self.is_spent()) {
            let run = run(&entries[looked_at..], pointers);
            let mut followed = self.follow(run).await?;
            let mean = followed.values().map(Event::sent_bytes).sum::<usize>().checked_div(followed.len());
            for entry in run {
                if bytes > room {
                    break;
                }
                looked_at += 1;
                let is_kept = kept.get(&entry.topic).is_none_or(|oldest| entry.id.at() >= *oldest);
                let event = entry.event().or_else(|| followed.remove(&entry.id)).filter(|_| is_kept);
                if let Some(event) = event {
                    let event = TimelineEvent { topic: entry.topic.clone(), event };
                    bytes += event.sent_bytes();
                    events.push(event);
                }
            }
            let left = room.saturating_sub(bytes);
            pointers = mean.map_or(pointers, |mean| (left / mean.max(1)).clamp(1, BATCH_KEYS));
        }
        Ok((events, looked_at))
    }

    /// The events that some entries point to.
    async fn follow(&mut self, entries: &[TimelineEntry]) -> Result<BTreeMap<EventId, Event>, TableError> {
        let keys: BTreeMap<EventId, Key> =
            entries.iter().filter_map(|entry| Some((entry.id, entry.pointer()?.encode()))).collect();
        let mut followed = BTreeMap::new();
        let looks: &[bool] = if self.consistent { &[true] } else { &[false, true] };
        for consistent in looks {
            let missing = keys.iter().filter(|(id, _)| !followed.contains_key(*id));
            let missing: Vec<_> = missing.map(|(_, key)| key.clone()).collect();
            if missing.is_empty() {
                break;
            }
            self.budget.count(None);
            for item in self.op.table.get_many(&missing, *consistent).await? {
                let id = id_of_sort_key(&item)?;
                followed.insert(id, unless_over(&item, self.now)?);
            }
        }
        Ok(followed.into_iter().filter_map(|(id, event)| Some((id, event?))).collect())
    }
}

/// The first entries, with at most `pointers` pointers among them.
fn run(entries: &[TimelineEntry], mut pointers: usize) -> &[TimelineEntry] {
    let end = entries.iter().position(|entry| {
        let points = entry.pointer().is_some();
        let fits = !points || pointers > 0;
        pointers -= usize::from(points && fits);
        !fits
    });
    &entries[..end.unwrap_or(entries.len())]
}
