//! The events that entries stand for: copies as they are, pointers followed.
//!
//! An event that is not there any more (deleted, or its time is over) is left out: its entries go a little
//! later. Only a consistent read says that it is not there, so one that an eventually consistent read does not
//! find is looked up a second time.
//!
//! A large event may fill a page alone, and reading one costs what its size costs. So at first no more pointers
//! are followed than surely fit a page; how large those events are says how many are next.

use std::collections::BTreeMap;

use lately_keys::{EventId, Place, SortKey, TableKey};
use lately_model::{Event, TimelineEvent};

use crate::entry::TimelineEntry;
use crate::error::TableError;
use crate::event::unless_over;
use crate::item::{Fields, Item, keyed};
use crate::latest::page::Sent;
use crate::limits::{BATCH_KEYS, POINTERS_AT_FIRST};
use crate::timeline::reading::TimelineReading;

/// What became of some entries.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    /// The events of those that were looked at and are there.
    pub(super) events: Vec<TimelineEvent>,
    /// How many entries were looked at: all, or as many as fill the page and one more, or as there was budget for.
    pub(super) looked_at: usize,
    bytes: usize,
}

impl Resolved {
    fn take(&mut self, entry: &TimelineEntry, followed: &mut BTreeMap<EventId, Event>) {
        self.looked_at += 1;
        if let Some(event) = entry.event().or_else(|| followed.remove(&entry.id)) {
            let event = TimelineEvent { topic: entry.topic.clone(), event };
            self.bytes += event.sent_bytes();
            self.events.push(event);
        }
    }
}

impl TimelineReading<'_> {
    /// The events of entries, in their order, until they fill a page that has so many bytes left.
    pub(super) async fn resolve(
        &mut self,
        entries: &[TimelineEntry],
        room: usize,
    ) -> Result<Resolved, TableError> {
        let mut resolved = Resolved::default();
        let mut pointers = POINTERS_AT_FIRST;
        while resolved.looked_at < entries.len() && resolved.bytes <= room {
            if resolved.looked_at > 0 && self.is_spent() {
                break;
            }
            let run = run(&entries[resolved.looked_at..], pointers);
            let mut followed = self.follow(run).await?;
            let bytes: usize = followed.values().map(Event::sent_bytes).sum();
            let mean = bytes.checked_div(followed.len());
            for entry in run {
                if resolved.bytes > room {
                    break;
                }
                resolved.take(entry, &mut followed);
            }
            let left = room.saturating_sub(resolved.bytes);
            pointers = mean.map_or(pointers, |mean| (left / mean.max(1)).clamp(1, BATCH_KEYS));
        }
        Ok(resolved)
    }

    /// The events that some entries point to.
    async fn follow(&mut self, entries: &[TimelineEntry]) -> Result<BTreeMap<EventId, Event>, TableError> {
        let keys: BTreeMap<EventId, Item> = entries
            .iter()
            .filter_map(|entry| Some((entry.id, keyed(Place::Table, entry.pointer()?.encode()))))
            .collect();
        let mut followed = BTreeMap::new();
        let looks: &[bool] = if self.consistent { &[true] } else { &[false, true] };
        for consistent in looks {
            let missing = keys.iter().filter(|(id, _)| !followed.contains_key(*id));
            let missing: Vec<_> = missing.map(|(_, key)| key.clone()).collect();
            if missing.is_empty() {
                break;
            }
            self.budget.queries += 1;
            for item in self.op.table.get_items(&missing, *consistent).await? {
                let id = Fields(&item).parsed::<SortKey>("sk")?.id();
                followed.insert(id, unless_over(&item, self.filter.now)?);
            }
        }
        Ok(followed.into_iter().filter_map(|(id, event)| Some((id, event?))).collect())
    }
}

/// The first entries, with no more than so many pointers among them.
fn run(entries: &[TimelineEntry], mut pointers: usize) -> &[TimelineEntry] {
    let end = entries.iter().position(|entry| {
        let points = entry.pointer().is_some();
        let fits = !points || pointers > 0;
        pointers -= usize::from(points && fits);
        !fits
    });
    &entries[..end.unwrap_or(entries.len())]
}
