//! The reading loop of a timeline. All followers of a timeline in a process share one loop, and so its price.
//!
//! The loop looks at the window (`window.rs`), reads now and then which events are late, and renews the watch. It
//! publishes new events to its followers, and ends soon after the last follower has gone. The longer nothing comes, the
//! less often it looks: an idle timeline costs at most one read unit a second.
//!
//! The loop of a topic ends when the topic is deleted, which a mark beside the announcements says. A topic that is created
//! again under the name has a loop of its own.
//!
//! Memory: a look takes at most a page of settled events (`PAGE_BYTES`) and 25 late ones, and the last `NEWS_KEPT` looks
//! wait for slow clients. Late events that are still to be read are ids only, and their number is bounded (`late.rs`).
//!
//! A directory page, and a feed's marks, may be some seconds old while the timeline is idle. Then the settled position
//! lies as much further back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use lately_items::{LatePlace, StoredTopic, Timeline, WatchKey};
use lately_keys::{EventId, UnixMillis};
use lately_model::limits::FUTURE_SECONDS;
use lately_table::{Ambient, TableError, entropy_u64};

use crate::error::TopicNotFound;
use crate::limits::{
    ASCENDING_LAG_MILLIS, DIRECTORY_AGE, FAILED_LOOKS, IDLE_LOOKS, NOTE_OVERLAP_MILLIS, NOTES_EVERY,
    REMEMBERED_IDS, WATCH_EVERY, WATCH_MILLIS, WINDOW_EVENTS,
};
use crate::live::late::{LateQueue, LogReader};
use crate::live::loops::{Loop, News};
use crate::live::reader::Reader;
use crate::live::recent::Recent;
use crate::live::window::LiveWindow;
use crate::op::Op;
use crate::op::store::Store;
use crate::span::settled_before;
use crate::timeline::filter::Filter;

/// The pauses between the looks at a live timeline: each until nothing has come for so long.
const BUSY_LOOKS: [(Duration, Duration); 3] = [
    (Duration::from_secs(2), Duration::from_millis(100)),
    (Duration::from_secs(5), Duration::from_millis(250)),
    (Duration::from_secs(10), Duration::from_millis(500)),
];

/// The pause between the looks at a timeline on which more events land than one look takes.
const CROWDED_LOOKS: Duration = Duration::from_millis(500);

/// A timeline is idle if nothing has come for this long. Then its settled position lies further back.
const IDLE_AFTER: Duration = Duration::from_secs(10);

/// The loop of an idle timeline uses a directory page, and a feed's marks, for this long. So an idle topic costs less than
/// one read unit a second.
const IDLE_AGE: Duration = Duration::from_secs(3);

impl Loop {
    /// The loop of a timeline. It runs when this returns: its watch is there.
    pub(super) async fn of(
        store: &Store,
        timeline: &Timeline,
        stored: Option<StoredTopic>,
    ) -> Result<Arc<Self>, TableError> {
        let shared = store.inner.memory.loops.get((timeline.clone(), stored.map(|stored| stored.created_at)));
        let begin = || async {
            let op = store.op();
            let looking = Looking::begin(&op, Reader::new(timeline.clone(), stored)).await?;
            shared.begin(looking.window.settled);
            let ending = EndsLoop { shared: Arc::downgrade(&shared), deleted: None };
            tokio::spawn(run(store.clone(), looking, ending));
            Ok::<_, TableError>(())
        };
        shared.begun.get_or_try_init(begin).await?;
        Ok(shared)
    }
}

/// Ends a loop for its followers, also if its task panics.
struct EndsLoop {
    shared: Weak<Loop>,
    /// The timeline's topic, if it was deleted.
    deleted: Option<TopicNotFound>,
}

impl Drop for EndsLoop {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.stop(self.deleted.take());
        }
    }
}

/// Looks again and again until there are no followers, until the topic is deleted, or until too many looks in a row have
/// failed.
async fn run(store: Store, mut looking: Looking, mut ending: EndsLoop) {
    let mut failed = 0;
    while failed < FAILED_LOOKS {
        tokio::time::sleep(looking.pause(store.ambient())).await;
        let Some(shared) = ending.shared.upgrade() else { return };
        // Boxed: the store's futures are many layers deep.
        match Box::pin(looking.look(&store)).await {
            Ok(Some(news)) => {
                failed = 0;
                shared.publish(news);
            }
            Ok(None) => {
                ending.deleted = looking.reader.not_found();
                return;
            }
            Err(error) => {
                failed += 1;
                tracing::warn!(%error, "a look at a live timeline failed");
            }
        }
    }
}

/// The reading of a timeline.
#[derive(Debug)]
struct Looking {
    reader: Reader,
    window: LiveWindow,
    /// The last events that were sent, to recognise those that a note names as well.
    remembered: Recent<REMEMBERED_IDS>,
    /// The late events that are to be read.
    late: LateQueue,
    names: LateNames,
    /// The timelines whose watches are kept up.
    watched: Vec<Timeline>,
    /// The times of the last event, of the last renewal and of the last look for names of late events, by the monotonic
    /// clock.
    came_at: Duration,
    watched_at: Duration,
    named_at: Duration,
    has_more: bool,
}

/// The place up to which a loop knows the names of late events.
#[derive(Debug)]
enum LateNames {
    /// In the late log of a topic that was created at this time.
    Log { created_at: UnixMillis, log: LogReader },
    /// In the notes of sources' timelines and feeds. A note gets its id before it lands, so the last seconds are read
    /// again, and the notes of this time that have been handled are remembered.
    Notes { read_at: UnixMillis, handled: BTreeMap<Timeline, BTreeSet<EventId>> },
}

impl Looking {
    async fn begin(op: &Op, reader: Reader) -> Result<Self, TableError> {
        let now = op.ambient().monotonic();
        let names = match reader.topic() {
            Some((topic, created_at)) => {
                let end = op.late_log(&topic).open(created_at).await?;
                LateNames::Log { created_at, log: LogReader { topic, place: LatePlace::after(end), end } }
            }
            None => LateNames::Notes { read_at: op.now(), handled: BTreeMap::new() },
        };
        let mut looking = Self {
            reader,
            window: LiveWindow::new(settled_before(op.now(), ASCENDING_LAG_MILLIS)),
            remembered: Recent::default(),
            late: LateQueue::default(),
            names,
            watched: Vec::new(),
            came_at: now,
            watched_at: now,
            named_at: now,
            has_more: true,
        };
        looking.keep_watch(op).await?;
        Ok(looking)
    }

    /// The pause before the next look. It is random within a tenth, so that loops do not look at the same time.
    fn pause(&self, ambient: &dyn Ambient) -> Duration {
        if self.has_more {
            return Duration::ZERO;
        }
        let quiet = ambient.monotonic().saturating_sub(self.came_at);
        let pauses = BUSY_LOOKS.into_iter().find(|(until, _)| quiet < *until);
        let pause = match self.window.is_crowded {
            true => CROWDED_LOOKS,
            false => pauses.map_or(IDLE_LOOKS, |(_, pause)| pause),
        };
        let tenth = u64::try_from(pause.as_micros()).unwrap_or(u64::MAX) / 10;
        pause + Duration::from_micros(entropy_u64(ambient) % (tenth + 1))
    }

    /// Looks once. Returns the news; `None` if the timeline's topic was deleted.
    async fn look(&mut self, store: &Store) -> Result<Option<News>, TableError> {
        let now = store.ambient().monotonic();
        let is_idle = now.saturating_sub(self.came_at) >= IDLE_AFTER;
        let age = if is_idle { IDLE_AGE } else { DIRECTORY_AGE };
        let mut op = store.op();
        op.directory_age = age;
        let older = u64::try_from((age - DIRECTORY_AGE).as_millis()).unwrap_or(u64::MAX);
        let clock = settled_before(op.now(), ASCENDING_LAG_MILLIS + older);
        let newest = EventId::last_of(op.now().saturating_add(FUTURE_SECONDS * 1000));
        if now.saturating_sub(self.watched_at) >= WATCH_EVERY || self.reader.timelines() != self.watched {
            self.keep_watch(&op).await?;
        }
        if now.saturating_sub(self.named_at) >= NOTES_EVERY && self.read_names(&op).await? {
            return Ok(None);
        }
        let before = self.window.settled.id;
        let due = self.late.due(before).map(|(timeline, ids)| (timeline.clone(), ids));
        let mut late = Vec::new();
        if let Some((timeline, ids)) = &due {
            let mut unsent = ids.clone();
            unsent.retain(|id| !self.remembered.contains(*id));
            late = self.reader.late_events(&op, timeline, &unsent).await?;
        }
        let found = match self.window.look(clock, newest) {
            Some(ids) => Some(self.reader.read(&op, &Filter::default(), ids, WINDOW_EVENTS).await?),
            None => None,
        };
        // Nothing fails from here on. So a look that fails has changed nothing, and the next one finds the same again.
        let mut events = Vec::new();
        if let Some((found, cut)) = found {
            (events, self.has_more) = self.window.absorb(clock, found, cut);
        }
        if let Some((timeline, ids)) = due {
            self.late.remove(&timeline, &ids);
        }
        // An event may be named twice, and the window may have seen it.
        events.extend(late);
        events.retain(|event| self.remembered.insert(event.event.id));
        self.has_more |= self.late.due(self.window.settled.id).is_some();
        if !events.is_empty() {
            self.came_at = now;
        }
        let events = events.into_iter().map(Arc::new).collect();
        Ok(Some(News { events, before, settled: self.window.settled }))
    }

    /// Puts the watches, or renews them.
    async fn keep_watch(&mut self, op: &Op) -> Result<(), TableError> {
        let timelines = self.reader.timelines();
        for timeline in &timelines {
            let watch = WatchKey { timeline: timeline.clone() };
            op.table.put(&watch.item(op.now().saturating_add(WATCH_MILLIS))).await?;
        }
        self.watched = timelines;
        self.watched_at = op.ambient().monotonic();
        Ok(())
    }

    /// Reads which events are late, while the queue has room for more. Returns true if the timeline's topic was deleted.
    async fn read_names(&mut self, op: &Op) -> Result<bool, TableError> {
        let monotonic = op.ambient().monotonic();
        match &mut self.names {
            LateNames::Log { created_at, log } => {
                let marks = op.consumers(&log.topic).marks().await?;
                let end = match marks.log_end {
                    Some(end) => Some(end),
                    None => op.late_log(&log.topic).stored_end(true).await?,
                };
                // The log was there when the loop began. It is deleted with its topic, and another topic has another log.
                let Some(end) = end.filter(|end| end.created_at == *created_at) else { return Ok(true) };
                if marks.deletion >= Some(*created_at) {
                    return Ok(true);
                }
                log.end = end.number;
                log.read(op, &mut self.late).await?;
            }
            LateNames::Notes { read_at, handled } => {
                let now = op.now();
                let oldest = EventId::first_of(read_at.saturating_sub(NOTE_OVERLAP_MILLIS));
                let mut has_read_all = true;
                for timeline in &self.watched {
                    let handled = handled.entry(timeline.clone()).or_default();
                    // Notes that are not read again need not be remembered.
                    handled.retain(|note| *note >= oldest);
                    has_read_all &= read_notes(op, timeline, oldest, handled, &mut self.late).await?;
                }
                handled.retain(|timeline, _| self.watched.contains(timeline));
                if has_read_all {
                    *read_at = now;
                }
            }
        }
        self.named_at = monotonic;
        Ok(false)
    }
}

/// Queues the late events that a timeline's new notes name, while the queue has room. Returns whether it has read all notes.
async fn read_notes(
    op: &Op,
    timeline: &Timeline,
    oldest: EventId,
    handled: &mut BTreeSet<EventId>,
    late: &mut LateQueue,
) -> Result<bool, TableError> {
    let mut after = oldest;
    loop {
        if !late.has_room() {
            return Ok(false);
        }
        let (notes, has_more) = op.live_notes().after(timeline, after).await?;
        for note in notes {
            after = note.id;
            if handled.insert(note.id) {
                late.add(timeline, note.events);
            }
        }
        if !has_more {
            return Ok(true);
        }
    }
}
