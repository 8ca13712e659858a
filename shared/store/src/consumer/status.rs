//! A consumer is made, changed, and told about.

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use lately_keys::table::ConsumerKey;
use lately_keys::{EventId, Fingerprint, Order};
use lately_model::{ConsumerView, EventQuery, NewConsumer};

use crate::call::Operation;
use crate::consumer::announcement::Announcement;
use crate::consumer::checkpoint::{Checkpoint, beginning, too_busy};
use crate::consumer::ledger::Ledger;
use crate::consumer::seek::before;
use crate::consumer::{ConsumerError, existing};
use crate::cost::Cost;
use crate::error::TableError;
use crate::item::Item;
use crate::latest::page::Draft;
use crate::latest::span::{IdRange, Span};
use crate::limits::{CONFLICTS, CONSUMERS};
use crate::store::Store;
use crate::topic::StoredTopic;
use crate::transaction::{Transacted, Transaction};

impl Store {
    /// Makes a consumer, or changes how far behind now it stays. The `bool` says whether it was made.
    ///
    /// # Errors
    /// See [`ConsumerError`].
    pub async fn put_consumer(
        &self,
        consumer: &ConsumerKey,
        wanted: &NewConsumer,
    ) -> Result<(ConsumerView, bool, Cost), ConsumerError> {
        let operation = self.operation();
        let stored = self.stored_topic(&consumer.topic, &operation).await?;
        let start = before(wanted.start.into(), self.now());
        let settle = wanted.settle_seconds.unwrap_or_default();
        let first = Checkpoint::new(consumer, start, settle, self.first_revision());
        for _ in 0..CONFLICTS {
            let Some(found) = self.checkpoint(consumer, &operation).await? else {
                // Consumers that are made at once may exceed it, by as many as they are.
                if self.announcements(&consumer.topic, &operation).await?.len() >= CONSUMERS {
                    return Err(ConsumerError::TooManyConsumers);
                }
                self.create_consumer(&first, &operation).await?;
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
            let found =
                existing(self.change_checkpoint(consumer, Some(found), &operation, settle).await?, consumer)?;
            let view = self.consumer_view(&found, &stored, &operation).await?;
            return Ok((view, created, operation.meter.total()));
        }
        Err(too_busy().into())
    }

    /// A consumer.
    ///
    /// # Errors
    /// See [`ConsumerError`].
    pub async fn consumer(&self, consumer: &ConsumerKey) -> Result<(ConsumerView, Cost), ConsumerError> {
        let operation = self.operation();
        let stored = self.stored_topic(&consumer.topic, &operation).await?;
        let checkpoint = existing(self.checkpoint(consumer, &operation).await?, consumer)?;
        let view = self.consumer_view(&checkpoint, &stored, &operation).await?;
        Ok((view, operation.meter.total()))
    }

    /// Makes a consumer and its announcement, unless there is one of its name.
    pub(crate) async fn create_consumer(
        &self,
        checkpoint: &Checkpoint,
        operation: &Operation<'_>,
    ) -> Result<Transacted, TableError> {
        let writes = self.creation(checkpoint).map_err(TableError::unavailable)?;
        self.transact(&Transaction::new(writes, self.ambient()), operation).await
    }

    pub(super) async fn consumer_view(
        &self,
        checkpoint: &Checkpoint,
        stored: &StoredTopic,
        operation: &Operation<'_>,
    ) -> Result<ConsumerView, TableError> {
        let Checkpoint { position, ref outstanding, settle, .. } = *checkpoint;
        Ok(ConsumerView {
            position: Some(position).filter(|position| *position != beginning()),
            outstanding: outstanding.as_ref().map(|outstanding| outstanding.batch),
            lag_seconds: self.lag_seconds(checkpoint, stored, operation).await?,
            late: self.count_unsettled(checkpoint, operation).await?,
            settle_seconds: settle,
        })
    }

    /// How old the oldest event behind the position is.
    async fn lag_seconds(
        &self,
        checkpoint: &Checkpoint,
        stored: &StoredTopic,
        operation: &Operation<'_>,
    ) -> Result<u64, TableError> {
        let now = self.now();
        let first = checkpoint.position.just_after();
        let ids = first.and_then(|first| IdRange::new(first, EventId::last_of(now)));
        let span = Span { order: Order::OldestFirst, ids, position: None, now };
        let query = EventQuery { consistent: true, ..EventQuery::default() };
        let mut draft = Draft::beside(0, 1, Fingerprint::of("lag").finish(), &span);
        let topic = &checkpoint.consumer.topic;
        let ending = self.fill(&mut draft, topic, stored, &query, &span, operation).await?;
        let oldest = draft.finish(ending).events.first().map(|event| event.at());
        Ok(oldest.map_or(0, |oldest| now.get().saturating_sub(oldest.get()) / 1000))
    }

    /// How many events landed behind the position and wait. Nothing is read of partitions that were not counted in since
    /// they were settled.
    async fn count_unsettled(
        &self,
        checkpoint: &Checkpoint,
        operation: &Operation<'_>,
    ) -> Result<u64, TableError> {
        let Checkpoint { consumer, incarnation, known, position, .. } = checkpoint;
        let Some(announcement) = self.announcement(checkpoint, operation).await? else { return Ok(0) };
        let ledger = Ledger { consumer, incarnation: *incarnation };
        let mut waiting = 0;
        for shard in announcement.counters.risen_since(known) {
            let mut after = None;
            loop {
                let page = self.unsettled(ledger, shard, *position, after, operation).await?;
                waiting += page.ids.len() as u64;
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(waiting)
    }

    fn creation(&self, checkpoint: &Checkpoint) -> Result<Vec<TransactWriteItem>, BuildError> {
        let put = |item: Item| Put::builder().table_name(self.table()).set_item(Some(item));
        let announcement = put(Announcement::first(checkpoint)).build()?;
        let checkpoint = put(checkpoint.encode()).condition_expression("attribute_not_exists(pk)").build()?;
        Ok([checkpoint, announcement].map(|put| TransactWriteItem::builder().put(put).build()).into())
    }
}
