//! The reading loop of a timeline. All followers of a timeline in a process share one loop, and so its price.
//!
//! The loop looks at the window (`window.rs`), reads the notes of late events now and then, and renews the watch. It
//! publishes new events to its followers, and ends soon after the last follower has gone. The longer nothing comes, the
//! less often it looks: an idle timeline costs at most one read unit a second.
//!
//! The loop of a topic ends when the topic is deleted, which a note says. A topic that is created again under the name has
//! a loop of its own.
//!
//! Memory: a look takes at most a page of settled events (`PAGE_BYTES`) and 25 late ones, and the last `NEWS_KEPT` looks
//! wait for slow clients. Late events that are still to be read are ids only.
//!
//! A directory page, and a feed's marks, may be some seconds old while the timeline is idle. Then the settled position
//! lies as much further back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use lately_items::{StoredTopic, Timeline, WatchKey};
use lately_keys::{EventId, UnixMillis};
use lately_model::limits::FUTURE_SECONDS;
use lately_table::{Ambient, TableError, entropy_u64};

use crate::error::TopicNotFound;
use crate::limits::{
    ASCENDING_LAG_MILLIS, DIRECTORY_AGE, FAILED_LOOKS, IDLE_LOOKS, NOTE_OVERLAP_MILLIS, NOTES_EVERY,
    REMEMBERED_IDS, WATCH_EVERY, WATCH_MILLIS, WINDOW_EVENTS,
};
use crate::live::loops::{Loop, News};
use crate::live::reader::{LateQueue, Reader, remove_first};
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
    /// The notes of each timeline that have been handled.
    noted: BTreeMap<Timeline, BTreeSet<EventId>>,
    /// The late events that are to be read.
    late: LateQueue,
    /// When all notes were last read, by the wall clock.
    notes_read_at: UnixMillis,
    /// The timelines whose watches are kept up.
    watched: Vec<Timeline>,
    /// The times of the last event, of the last renewal and of the last read of notes, by the monotonic clock.
    came_at: Duration,
    watched_at: Duration,
    noted_at: Duration,
    has_more: bool,
}

impl Looking {
    async fn begin(op: &Op, reader: Reader) -> Result<Self, TableError> {
        let now = op.ambient().monotonic();
        let mut looking = Self {
            reader,
            window: LiveWindow::new(settled_before(op.now(), ASCENDING_LAG_MILLIS)),
            remembered: Recent::default(),
            noted: BTreeMap::new(),
            late: LateQueue::default(),
            notes_read_at: op.now(),
            watched: Vec::new(),
            came_at: now,
            watched_at: now,
            noted_at: now,
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
        let is_due = self.late.is_empty() && now.saturating_sub(self.noted_at) >= NOTES_EVERY;
        if is_due && self.read_notes(&op).await? {
            return Ok(None);
        }
        let (late, looked_up) = self.reader.late_page(&op, &self.late).await?;
        let found = match self.window.look(clock, newest) {
            Some(ids) => Some(self.reader.read(&op, &Filter::default(), ids, WINDOW_EVENTS).await?),
            None => None,
        };
        // Nothing fails from here on. So a look that fails has changed nothing, and the next one finds the same again.
        let (before, mut events) = (self.window.settled.id, Vec::new());
        if let Some((found, cut)) = found {
            (events, self.has_more) = self.window.absorb(clock, found, cut);
        }
        remove_first(&mut self.late, looked_up);
        // Two notes may name the same event, and the window may have seen it.
        events.extend(late);
        events.retain(|event| self.remembered.insert(event.event.id));
        self.has_more |= !self.late.is_empty();
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

    /// Reads the notes that have come, and queues the late events that they name. Returns true if one of them says that
    /// the timeline's topic was deleted.
    async fn read_notes(&mut self, op: &Op) -> Result<bool, TableError> {
        let (now, monotonic) = (op.now(), op.ambient().monotonic());
        let oldest = EventId::first_of(self.notes_read_at.saturating_sub(NOTE_OVERLAP_MILLIS));
        let settled = self.window.settled.id;
        let created_at = self.reader.stored.map(|stored| stored.created_at);
        for timeline in &self.watched {
            let handled = self.noted.entry(timeline.clone()).or_default();
            // Notes that are not read again need not be remembered.
            handled.retain(|note| *note >= oldest);
            for note in op.live_notes().since(timeline, oldest).await? {
                if note.gone.is_some() && note.gone == created_at {
                    return Ok(true);
                }
                if handled.contains(&note.id) {
                    continue;
                }
                let (behind, ahead): (Vec<_>, Vec<_>) =
                    note.events.into_iter().partition(|id| *id <= settled);
                // An event in the window is sent from there. Its note waits, in case the window does not see it.
                if ahead.is_empty() {
                    handled.insert(note.id);
                }
                let unsent = behind.into_iter().filter(|id| !self.remembered.contains(*id));
                self.late.extend(unsent.map(|id| (timeline.clone(), id)));
            }
        }
        self.noted.retain(|timeline, _| self.watched.contains(timeline));
        (self.notes_read_at, self.noted_at) = (now, monotonic);
        Ok(false)
    }
}
