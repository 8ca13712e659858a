//! A consumer is made, changed, and told about.

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use lately_keys::{EventId, Fingerprint, Order};
use lately_model::{ConsumerView, EventQuery, NewConsumer};

use crate::consumer::ConsumerHandle;
use crate::consumer::announcement::Announcement;
use crate::consumer::announcement::AnnouncementHandle;
use crate::consumer::checkpoint::{Checkpoint, beginning, too_busy};
use crate::consumer::ledger::{Ledger, LedgerHandle, WalkEnding};
use crate::consumer::seek::before;
use crate::consumer::{ConsumerError, existing};
use crate::error::TableError;
use crate::item::Item;
use crate::latest::page::PageDraft;
use crate::latest::span::{IdRange, Span};
use crate::limits::{CONFLICTS, CONSUMERS};
use crate::topic::StoredTopic;
use crate::transaction::{Transacted, Transaction};

impl ConsumerHandle<'_> {
    /// Makes a consumer, or changes how far behind now it stays. The `bool` says whether it was made.
    ///
    /// # Errors
    /// See [`ConsumerError`].
    pub async fn put(self, wanted: &NewConsumer) -> Result<(ConsumerView, bool), ConsumerError> {
        let consumer = self.consumer;
        let stored = self.op.topic(&consumer.topic).stored().await?;
        let start = before(wanted.start.into(), self.op.now());
        let settle = wanted.settle_seconds.unwrap_or_default();
        let first = Checkpoint::new(consumer, start, settle, self.op.first_revision());
        for _ in 0..CONFLICTS {
            let Some(found) = self.checkpoint().await? else {
                // Consumers that are made at once may exceed it, by as many as they are.
                if self.op.topic(&consumer.topic).announcements().await?.len() >= CONSUMERS {
                    return Err(ConsumerError::TooManyConsumers);
                }
                self.create(&first).await?;
                continue;
            };
            if found.deleting {
                let deleting = TableError::unavailable("the consumer is being deleted");
                return Err(deleting.into());
            }
            let created = found == first;
            let settle = |found: &Checkpoint| {
                let settle = wanted.settle_seconds.filter(|wanted| *wanted != found.settle);
                Ok::<_, ConsumerError>(settle.map(|settle| Checkpoint { settle, ..found.clone() }))
            };
            let found = existing(self.change(Some(found), settle).await?, consumer)?;
            let view = self.view_of(&found, &stored).await?;
            return Ok((view, created));
        }
        Err(too_busy().into())
    }

    /// A consumer.
    ///
    /// # Errors
    /// See [`ConsumerError`].
    pub async fn view(self) -> Result<ConsumerView, ConsumerError> {
        let consumer = self.consumer;
        let stored = self.op.topic(&consumer.topic).stored().await?;
        let checkpoint = existing(self.checkpoint().await?, consumer)?;
        let view = self.view_of(&checkpoint, &stored).await?;
        Ok(view)
    }

    /// Makes a consumer and its announcement, unless there is one of its name.
    pub(crate) async fn create(self, checkpoint: &Checkpoint) -> Result<Transacted, TableError> {
        let writes = self.creation(checkpoint).map_err(TableError::unavailable)?;
        self.op.table.transact(&Transaction::new(writes, self.op.ambient())).await
    }

    pub(super) async fn view_of(
        self,
        checkpoint: &Checkpoint,
        stored: &StoredTopic,
    ) -> Result<ConsumerView, TableError> {
        let Checkpoint { position, ref outstanding, settle, .. } = *checkpoint;
        let (late, late_more) = self.count_unsettled(checkpoint).await?;
        Ok(ConsumerView {
            position: Some(position).filter(|position| *position != beginning()),
            outstanding: outstanding.as_ref().map(|outstanding| outstanding.batch),
            lag_seconds: self.lag_seconds(checkpoint, stored).await?,
            late,
            late_more,
            settle_seconds: settle,
        })
    }

    /// How old the oldest event behind the position is.
    async fn lag_seconds(self, checkpoint: &Checkpoint, stored: &StoredTopic) -> Result<u64, TableError> {
        let now = self.op.now();
        let first = checkpoint.position.just_after();
        let ids = first.and_then(|first| IdRange::new(first, EventId::last_of(now)));
        let span = Span { order: Order::OldestFirst, ids, position: None, now };
        let query = EventQuery { consistent: true, ..EventQuery::default() };
        let mut draft = PageDraft::beside(0, 1, Fingerprint::of("lag").finish(), &span);
        let topic = &checkpoint.consumer.topic;
        let ending = self.op.topic(topic).fill(&mut draft, stored, &query, &span).await?;
        let oldest = draft.finish(ending).events.first().map(|event| event.at());
        Ok(oldest.map_or(0, |oldest| now.get().saturating_sub(oldest.get()) / 1000))
    }

    /// How many events landed behind the position and wait, and whether there may be more than could be counted. Nothing
    /// is read of partitions that were not counted in since they were settled.
    async fn count_unsettled(self, checkpoint: &Checkpoint) -> Result<(u64, bool), TableError> {
        let Checkpoint { consumer, incarnation, known, position, sweeps, .. } = checkpoint;
        let Some(announcement) = AnnouncementHandle::of(self.op, checkpoint).find().await? else {
            return Ok((0, false));
        };
        let ledger = LedgerHandle::of(self.op, Ledger { consumer, incarnation: *incarnation });
        let mut waiting = 0;
        for shard in announcement.counters.risen_since(known) {
            // Events that landed before the place that a sweep has reached are counted when the next sweep begins.
            let behind = sweeps.iter().find(|sweep| sweep.shard == shard).map(|sweep| sweep.behind);
            let walked = ledger.walk(shard, behind, *position, usize::MAX).await?;
            waiting += walked.ids.len() as u64;
            if walked.ending == WalkEnding::Cut {
                return Ok((waiting, true));
            }
        }
        Ok((waiting, false))
    }

    fn creation(self, checkpoint: &Checkpoint) -> Result<Vec<TransactWriteItem>, BuildError> {
        let put = |item: Item| Put::builder().table_name(&*self.op.table.name).set_item(Some(item));
        let announcement = put(Announcement::first(checkpoint)).build()?;
        let checkpoint = put(checkpoint.encode()).condition_expression("attribute_not_exists(pk)").build()?;
        Ok([checkpoint, announcement].map(|put| TransactWriteItem::builder().put(put).build()).into())
    }
}
