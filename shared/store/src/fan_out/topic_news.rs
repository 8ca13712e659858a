//! The news of a topic: what follows from a new or a deleted event, whatever views its topic keeps.
//!
//! A batch reads what is announced about a topic once, after the batch was received, and so after all of its events were
//! stored:
//!
//! - A topic that is being deleted, or has another retention: events that were stored by a writer that does not know are
//!   deleted, or get the new expiry (`marks.rs`).
//! - The topic's readers: an event that was stored so late that one of them may have passed it is added to the topic's
//!   late log (`late_log/`). The watch of live followers comes with the announcements, at no further price.
//!
//! Events of erased actors are deleted (`kinds/erasure/inserted.rs`). The list of erasures is read once for the batch. An
//! event that was deleted soon after its time may be stored again by a late attempt; then it is deleted again
//! (`second_deletion.rs`).
//!
//! One rule must hold: a record is handled when all that follows from it is durable.

use std::collections::{BTreeMap, BTreeSet};

use lately_items::EndingMark;
use lately_keys::{EventId, Topic};
use lately_table::TableError;
use tokio::sync::OnceCell;

use crate::at_once::{complete_all, run_each};
use crate::erasure::actors::ErasedActors;
use crate::fan_out::batch::FanOut;
use crate::fan_out::kinds::erasure::erase_event;
use crate::fan_out::marks::apply_mark;
use crate::fan_out::record::{InsertedEvent, Record, TopicNews};
use crate::fan_out::second_deletion::delete_again;
use crate::limits::{RAILS_AT_ONCE, WRITES_AT_ONCE};

/// The indexes of records of a batch, each with its news.
type NewsOfTopic<'a> = Vec<(usize, &'a TopicNews)>;

impl FanOut<'_> {
    /// Handles the news of some records. Returns the indexes of the records that must come again: those of events that
    /// could not be added to a late log; or, if something else fails in a topic, all records with news of the topic.
    pub(super) async fn handle_news(self, records: &[Record]) -> BTreeSet<usize> {
        let mut by_topic: BTreeMap<&Topic, NewsOfTopic<'_>> = BTreeMap::new();
        for (index, record) in records.iter().enumerate() {
            if let Some(news) = &record.news {
                by_topic.entry(news.topic()).or_default().push((index, news));
            }
        }
        let erased = OnceCell::new();
        let topics = by_topic.into_iter().map(|(topic, news)| self.handle_topic(topic, news, &erased));
        complete_all(RAILS_AT_ONCE, topics).await.into_iter().flatten().collect()
    }

    /// Handles the news of one topic. Returns the indexes of the records that must come again.
    async fn handle_topic(
        self,
        topic: &Topic,
        news: NewsOfTopic<'_>,
        erased: &OnceCell<ErasedActors>,
    ) -> Vec<usize> {
        let not_logged = match self.news_of(topic, &news, erased).await {
            Ok(not_logged) => not_logged,
            Err(error) => {
                tracing::warn!(%error, "the news of a topic were not handled");
                return news.into_iter().map(|(index, _)| index).collect();
            }
        };
        let mut failed = Vec::new();
        for (index, news) in news {
            if let TopicNews::Inserted(event) = news
                && not_logged.contains(&event.key.id())
            {
                failed.push(index);
            }
        }
        failed
    }

    /// Handles the news of one topic. Returns the late events that could not be added to the topic's late log.
    async fn news_of(
        self,
        topic: &Topic,
        news: &[(usize, &TopicNews)],
        erased: &OnceCell<ErasedActors>,
    ) -> Result<BTreeSet<EventId>, TableError> {
        let mut inserted = Vec::new();
        let mut opened = Vec::new();
        let mut deletions = Vec::new();
        for (_, news) in news {
            match news {
                TopicNews::Inserted(event) => inserted.push(event),
                TopicNews::Opened(key) => opened.push(key),
                TopicNews::Deleted(key) => deletions.push(self.op.event(topic, key.id()).note_deletion()),
            }
        }
        run_each(WRITES_AT_ONCE, deletions).await?;
        if inserted.is_empty() && opened.is_empty() {
            return Ok(BTreeSet::new());
        }
        let none = ErasedActors::default();
        let erased = if inserted.is_empty() {
            &none
        } else {
            erased.get_or_try_init(|| self.op.erasures().erased_actors()).await?
        };
        let announced = self.op.consumers(topic).announced().await?;
        for mark in &announced.marks {
            apply_mark(self.op, mark, &inserted, &opened).await?;
        }
        if announced.marks.iter().any(|mark| matches!(mark, EndingMark::Deletion { .. })) {
            return Ok(BTreeSet::new());
        }
        let (gone, inserted): (Vec<_>, Vec<_>) =
            inserted.into_iter().partition(|event| is_erased(erased, event));
        for event in gone {
            erase_event(self.op, &event.key).await?;
        }
        delete_again(self.op, topic, &inserted).await?;
        let mut late = BTreeSet::new();
        for event in inserted {
            if announced.readers.may_have_passed(event.key.id(), event.at) {
                late.insert(event.key.id());
            }
        }
        Ok(self.log(topic, late).await)
    }

    /// Adds late events to the topic's late log. Returns them if that failed.
    async fn log(self, topic: &Topic, late: BTreeSet<EventId>) -> BTreeSet<EventId> {
        if late.is_empty() {
            return late;
        }
        let ids: Vec<EventId> = late.iter().copied().collect();
        match self.op.late_log(topic).append(&ids).await {
            Ok(()) => {
                self.done.add(|all| all.late += ids.len() as u64);
                BTreeSet::new()
            }
            Err(error) => {
                tracing::warn!(%error, "late events were not added to the late log");
                late
            }
        }
    }
}

/// True if an event is one of an erased actor.
fn is_erased(erased: &ErasedActors, event: &InsertedEvent) -> bool {
    match &event.actor {
        Some(actor) => erased.cover(actor, event.key.id().at()),
        None => false,
    }
}
