//! The steps of a backlog: events that wait because the partition takes no more writes now, or because a busy key range
//! refused a read that they need.
//!
//! A batch of records puts one item for each timeline or feed, which lists the events (`deferred.rs`). The stream record of
//! that item begins a step: the step reads the oldest items (`work/backlog.rs`), handles their events as if their records
//! had been delivered again, and puts back the events that are refused again. A step that a read refuses handles no further
//! event: fan-out reads after it has written, and would write all entries again with each step.
//!
//! A step looks up each event when it handles the event. An event that no longer exists is removed, not written. A step
//! begins nothing new after a fifth of a second, because other records wait behind it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lately_items::{
    Backlog, BacklogItem, DeferredEvent, DeferredTopic, EventKey, Timeline, TimelineEntry, place_in_feed,
};
use lately_keys::{Actor, EventId, Source, TableKey, User};
use lately_table::{TableError, Write};

use crate::at_once::run_each;
use crate::fan_out::batch::FanOut;
use crate::fan_out::deferred::{DeferredWork, DeferredWrite};
use crate::fan_out::entries::entry_of;
use crate::fan_out::kinds::erasure::erase_deferred;
use crate::fan_out::post::Post;
use crate::fan_out::removal::Removal;
use crate::limits::RAILS_AT_ONCE;

/// After this time a step begins nothing more.
const BACKLOG_STEP_TIME: Duration = Duration::from_millis(200);

/// Events that a step of a feed's backlog reads at the same time: 6 MB if all have the largest size.
const BACKLOG_EVENTS_AT_ONCE: usize = 25;

/// Runs a step of a backlog, if it is due after these records of its items.
pub(crate) async fn run(
    fan_out: FanOut<'_>,
    backlog: &Backlog,
    records: &BTreeSet<EventId>,
) -> Result<(), TableError> {
    let op = fan_out.op;
    let queue = fan_out.patient.backlog(backlog);
    let Some((items, has_more)) = queue.due(records).await? else { return Ok(()) };
    let oldest = items.iter().flat_map(|item| &item.events).map(|event| event.at).min();
    fan_out.done.add(|all| all.oldest = all.oldest.into_iter().chain(oldest).min());
    let deferred = DeferredWork::default();
    let is_refused = AtomicBool::new(false);
    let step = BacklogStep {
        fan_out: FanOut { deferred: &deferred, backlog: Some(backlog), ..fan_out },
        backlog,
        until: op.ambient().monotonic() + BACKLOG_STEP_TIME,
        is_refused: &is_refused,
    };
    match backlog {
        Backlog::Source(source) => {
            let mut handled = Vec::new();
            for item in &items {
                for event in &item.events {
                    handled.push(step.handle_again(source, &item.written, event));
                }
            }
            let mut handled = handled.into_iter();
            // The first event shows whether a read is refused, before the entries of all others are written.
            if let Some(first) = handled.next() {
                first.await?;
            }
            run_each(RAILS_AT_ONCE, handled).await?;
            if let Source::Actor(actor) = source {
                match erase_deferred(op, actor, &items).await {
                    Err(TableError::Busy(_)) => {
                        items.iter().for_each(|item| step.defer(&item.written, &item.events))
                    }
                    erased => erased?,
                }
            }
        }
        Backlog::Feed(user) => step.correct_feed(user, &items).await?,
    }
    let rest = deferred.take(backlog);
    if !deferred.put(fan_out.patient, fan_out.done).await.is_empty() {
        return Err(TableError::unavailable("events were not put into a backlog"));
    }
    queue.finish(items, has_more, rest).await
}

/// One step of a backlog, while it handles events.
#[derive(Clone, Copy)]
struct BacklogStep<'a> {
    fan_out: FanOut<'a>,
    backlog: &'a Backlog,
    /// The step begins nothing new after this time. It handles the events that it begins at once in any case, so a
    /// backlog comes to an end.
    until: Duration,
    /// Becomes true when a busy key range refuses a read.
    is_refused: &'a AtomicBool,
}

impl BacklogStep<'_> {
    /// True if the step begins nothing new: it has no time, or a read was refused.
    fn is_over(self) -> bool {
        self.is_refused.load(Ordering::Relaxed) || self.fan_out.op.ambient().monotonic() >= self.until
    }

    /// Defers events to the next step.
    fn defer(self, written: &DeferredTopic, events: &[DeferredEvent]) {
        let FanOut { deferred, record, .. } = self.fan_out;
        for event in events {
            let later = DeferredWrite { written: written.clone(), event: *event };
            deferred.add(self.backlog.clone(), later, record);
        }
    }

    /// Handles an event under a source, or defers it to the next step.
    async fn handle_again(
        self,
        source: &Source,
        written: &DeferredTopic,
        event: &DeferredEvent,
    ) -> Result<(), TableError> {
        if !self.is_over() {
            match self.handle(source, written, event).await {
                Err(TableError::Busy(_)) => self.is_refused.store(true, Ordering::Relaxed),
                handled => return handled,
            }
        }
        self.defer(written, std::slice::from_ref(event));
        Ok(())
    }

    /// Handles an event under a source as if its record had come again.
    async fn handle(
        self,
        source: &Source,
        written: &DeferredTopic,
        event: &DeferredEvent,
    ) -> Result<(), TableError> {
        let fan_out = self.fan_out;
        if let Some((topic, width)) = written {
            let key = EventKey::new(topic.clone(), *width, event.id);
            let entry = entry_of(fan_out.op, &key).await?;
            if let Some(entry) = entry.filter(|entry| entry.sources().any(|listed| listed == *source)) {
                let post = Post { fan_out, key: &key, entry: &entry, at: event.at };
                return Box::pin(post.deliver_to(vec![source.clone()], None)).await;
            }
        }
        // An attempt that died may have written entries, also into feeds of followers who have unfollowed since.
        let removal = Removal { fan_out, event: *event, may_be_written: written.is_some() };
        Box::pin(removal.remove_from(vec![source.clone()], None)).await
    }

    /// Corrects a feed as regards some events: puts an entry for each event that exists and that the user follows, and
    /// deletes the entries of the others.
    async fn correct_feed(self, user: &User, items: &[BacklogItem]) -> Result<(), TableError> {
        for BacklogItem { written, events, .. } in items {
            for events in events.chunks(BACKLOG_EVENTS_AT_ONCE) {
                if !self.is_over() {
                    match self.correct(user, written, events).await {
                        Err(TableError::Busy(_)) => self.is_refused.store(true, Ordering::Relaxed),
                        corrected => {
                            corrected?;
                            continue;
                        }
                    }
                }
                self.defer(written, events);
            }
        }
        Ok(())
    }

    /// The entries of the events that exist and belong into the feed now.
    async fn followed(
        self,
        user: &User,
        written: &DeferredTopic,
        events: &[DeferredEvent],
    ) -> Result<Vec<TimelineEntry>, TableError> {
        let Some((topic, width)) = written else { return Ok(Vec::new()) };
        let op = self.fan_out.op;
        let keys = events.iter().map(|event| EventKey::new(topic.clone(), *width, event.id).encode());
        let mut entries = Vec::new();
        for item in op.table.get_many(&keys.collect::<Vec<_>>(), true).await? {
            let entry = TimelineEntry::of(&item.key_as()?, &item)?;
            entries.extend(entry.filter(|entry| entry.fans_out));
        }
        entries.sort_by_key(|entry| entry.id);
        Ok(op.user(user).split_followed(entries).await?.0)
    }

    async fn correct(
        self,
        user: &User,
        written: &DeferredTopic,
        events: &[DeferredEvent],
    ) -> Result<(), TableError> {
        let mut entries = self.followed(user, written, events).await?;
        let (fan_out, feed) = (self.fan_out, self.fan_out.op.feed(user));
        let shown: BTreeSet<EventId> = entries.iter().map(|entry| entry.id).collect();
        let others = events.iter().filter(|event| !shown.contains(&event.id));
        let removed = others.map(|event| Write::Delete(place_in_feed(event.id, user)));
        let writes = entries.iter().map(|entry| Write::Put(feed.entry(entry))).chain(removed);
        let later = |event: &DeferredEvent| DeferredWrite { written: written.clone(), event: *event };
        let later: Vec<_> = events.iter().map(later).collect();
        let deferred = fan_out.write(writes.collect(), &later).await?;
        entries.retain(|entry| !deferred.contains(&(self.backlog.clone(), entry.id)));
        fan_out.done.add(|all| all.deliveries += entries.len() as u64);
        let ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
        fan_out.done.late_entries.add(fan_out.op.now(), &ids, [Timeline::Feed(user.clone())]);
        let myself = Actor::from(user);
        let (own, others): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.actor == myself);
        fan_out.remove_deleted(user, own).await?;
        fan_out.remove_unfollowed(user, others).await
    }
}
