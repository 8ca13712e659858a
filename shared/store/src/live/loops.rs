//! The loops of a process, as their followers see them. A loop runs in `shared.rs`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use lately_items::Timeline;
use lately_keys::{EventId, UnixMillis};
use lately_model::TimelineEvent;
use lately_table::TableError;
use tokio::sync::{OnceCell, broadcast};

use crate::at_once::lock;
use crate::error::TimelineError;
use crate::error::{TopicError, TopicNotFound};
use crate::limits::NEWS_KEPT;
use crate::live::window::SettledPosition;

/// A timeline; for a topic, also when the topic was created.
type LoopName = (Timeline, Option<UnixMillis>);

/// The loops of a process, by their timelines.
#[derive(Debug, Default)]
pub(crate) struct Loops(Mutex<HashMap<LoopName, Weak<Loop>>>);

impl Loops {
    /// The loop of a timeline, which may have to be begun.
    pub(super) fn get(&self, name: LoopName) -> Arc<Loop> {
        let mut loops = lock(&self.0);
        let known = loops.get(&name).and_then(Weak::upgrade).filter(|known| !known.is_over());
        known.unwrap_or_else(|| {
            loops.retain(|_, known| known.strong_count() > 0);
            let new = Arc::new(Loop::default());
            loops.insert(name, Arc::downgrade(&new));
            new
        })
    }
}

/// The events that a look has found: those behind the settled position, oldest first, and then late ones.
#[derive(Debug)]
pub(super) struct News {
    pub(super) events: Vec<Arc<TimelineEvent>>,
    /// Everything up to here had been sent before.
    pub(super) before: EventId,
    /// Everything up to here has been sent with these events.
    pub(super) settled: SettledPosition,
}

/// The state of a loop when a follower joins.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    /// Everything up to here has been sent.
    pub(super) settled: SettledPosition,
    /// The events behind it that have been sent.
    pub(super) early: Vec<Arc<TimelineEvent>>,
}

/// A loop, as its followers see it. It ends when no follower holds it.
#[derive(Debug, Default)]
pub(super) struct Loop {
    pub(super) begun: OnceCell<()>,
    state: Mutex<LoopState>,
}

#[derive(Debug, Default)]
enum LoopState {
    #[default]
    New,
    /// The state for followers that join, and the news after it.
    Running(Snapshot, broadcast::Sender<Arc<News>>),
    /// The loop is over: because this topic was deleted, or because the timeline cannot be read.
    Over(Option<TopicNotFound>),
}

impl Loop {
    /// Lets followers join.
    pub(super) fn begin(&self, settled: SettledPosition) {
        let snapshot = Snapshot { settled, early: Vec::new() };
        *lock(&self.state) = LoopState::Running(snapshot, broadcast::channel(NEWS_KEPT).0);
    }

    /// The state now, and the news after it; the reason if the loop is over.
    pub(super) fn join(&self) -> Result<(Snapshot, broadcast::Receiver<Arc<News>>), TimelineError> {
        match &*lock(&self.state) {
            LoopState::Running(snapshot, news) => Ok((snapshot.clone(), news.subscribe())),
            LoopState::Over(Some(topic)) => Err(TopicError::NotFound(topic.clone()).into()),
            LoopState::New | LoopState::Over(None) => {
                Err(TableError::unavailable("the timeline cannot be read").into())
            }
        }
    }

    fn is_over(&self) -> bool {
        matches!(*lock(&self.state), LoopState::Over(_))
    }

    /// True if the timeline's topic was deleted.
    pub(super) fn is_deleted(&self) -> bool {
        matches!(*lock(&self.state), LoopState::Over(Some(_)))
    }

    /// Ends the loop for its followers.
    pub(super) fn stop(&self, deleted: Option<TopicNotFound>) {
        *lock(&self.state) = LoopState::Over(deleted);
    }

    pub(super) fn publish(&self, news: News) {
        let mut state = lock(&self.state);
        let LoopState::Running(snapshot, sender) = &mut *state else { return };
        snapshot.settled = news.settled;
        snapshot.early.extend(news.events.iter().cloned());
        snapshot.early.retain(|event| event.event.id > news.settled.id);
        // An error means that no follower listens just now.
        drop(sender.send(Arc::new(news)));
    }
}
