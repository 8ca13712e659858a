//! Deleting a topic: how it begins, and what a client sees of it. Fan-out runs the steps (`fan_out/kinds/deletion.rs`).

use lately_items::{DeletionStep, Ending, EndingMark, StoredTopic};
use lately_keys::{TableKey, Topic};
use lately_model::{DeletionPreview, TopicDeletion};
use lately_table::{Condition, REVISION, Rounds, TableError, Transacted, Transaction};

use crate::error::FindError;
use crate::error::{TopicError, TopicNotFound};
use crate::handle::EndingHandle;

/// The entries of the directory that the preview of a deletion reads at once.
const PREVIEW_ENTRIES: usize = 4_096;

/// The topic is not being deleted, and was not deleted within the last day.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no deletion of the topic {topic}")]
pub struct DeletionNotFound {
    /// The topic that was asked for.
    pub topic: Topic,
}

/// Why a deletion could not be read.
pub type DeletionError = FindError<DeletionNotFound>;

impl EndingHandle<'_> {
    /// Begins to delete the topic with all that it holds, or returns the deletion that is under way.
    pub async fn delete(self) -> Result<TopicDeletion, TopicError> {
        let (topic, now) = (self.topic, self.op.now());
        let mut rounds = Rounds::of(&self.op.table, "the topic");
        loop {
            let not_found = TopicNotFound { topic: topic.clone(), is_being_deleted: false };
            let found = self.op.topic(topic).find().await?.ok_or(TopicError::NotFound(not_found.clone()))?;
            if found.deleting.is_some() {
                return match self.deletion().await {
                    Ok(deletion) if found.is_being_deleted(now) => Ok(deletion),
                    Err(DeletionError::Table(error)) => Err(error.into()),
                    _ => Err(TopicError::NotFound(not_found)),
                };
            }
            let marked = StoredTopic { deleting: Some(now), revision: found.revision.next(), ..found };
            let first = DeletionStep::first(topic.clone(), now, found.settings.bucket);
            // The deletion begins as a whole. If it may have begun already, the next round finds it.
            let is_known = Condition::equals(REVISION, found.revision.get());
            let transaction = Transaction::new(self.op.ambient())
                .put_if(marked.encode(topic), is_known)
                .put(EndingMark::of_deletion(topic, now))
                .put(first.encode());
            if transaction.commit(&self.op.table).await? == Transacted::Done {
                self.op.memory().forget_topic(topic);
                return Ok(first.view(now));
            }
            rounds.lose_and_pause().await?;
        }
    }

    /// Previews a deletion of the topic, as far as the directory knows it. No event is read.
    pub async fn preview(self) -> Result<DeletionPreview, TopicError> {
        self.op.topic(self.topic).stored().await?;
        let consumers = self.op.consumers(self.topic).announcements().await?.len() as u64;
        let mut preview = DeletionPreview {
            topic: self.topic.clone(),
            buckets: 0,
            oldest: None,
            newest: None,
            shards: 0,
            consumers,
        };
        let mut next = None;
        loop {
            let page = self.op.directory(self.topic).remaining(next, PREVIEW_ENTRIES).await?;
            for entry in &page.entries {
                let bucket = entry.bucket;
                preview.buckets += 1;
                preview.shards += entry.shards().len() as u64;
                preview.newest.get_or_insert(bucket);
                preview.oldest = Some(bucket);
            }
            next = preview.oldest.and_then(|oldest| oldest.previous());
            if !page.more || next.is_none() {
                return Ok(preview);
            }
        }
    }

    /// The deletion of the topic: how far it has come, or that it is done.
    pub async fn deletion(self) -> Result<TopicDeletion, DeletionError> {
        let (topic, now) = (self.topic, self.op.now());
        let found: Option<DeletionStep> =
            self.op.table.find(Ending::Deletion.step_of(topic).encode()).await?;
        let shown = found.filter(|step| step.expires_at.is_none_or(|seconds| seconds > now.get() / 1000));
        let not_found = DeletionError::NotFound(DeletionNotFound { topic: topic.clone() });
        Ok(shown.ok_or(not_found)?.view(now))
    }

    /// Removes the mark of an earlier topic of this name, which would delete the new topic's events. The mark of a
    /// deletion that goes on is a later one, which another process has begun in the meantime.
    pub(crate) async fn forget_deletion(self) -> Result<(), TableError> {
        let is_over = Condition::no_item().or(Condition::equals(EndingMark::DONE, true));
        self.op.table.delete_if(Ending::Deletion.mark_of(self.topic).encode(), &is_over).await.map(drop)
    }
}
