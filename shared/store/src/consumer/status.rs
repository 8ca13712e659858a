//! Creating and changing a consumer, and its view.

use lately_items::{Announcement, Checkpoint, StoredTopic};
use lately_keys::{EventId, TableKey};
use lately_model::{ConsumerView, EventQuery, NewConsumer, SeekTo};
use lately_table::{Condition, Guarded, Rounds, TableError, Transacted, Transaction, put_revised};

use crate::consumer::position::before;
use crate::consumer::{ConsumerError, existing};
use crate::error::TopicError;
use crate::handle::{ConsumerHandle, Incarnation};
use crate::limits::CONSUMERS;
use crate::span::IdRange;

impl ConsumerHandle<'_> {
    /// Creates a consumer, or changes its settle time. The `bool` says whether the consumer was created.
    pub async fn put(self, wanted: &NewConsumer) -> Result<(ConsumerView, bool), ConsumerError> {
        let stored = self.op.topic(&self.consumer.topic).stored().await?;
        let start = before(SeekTo::Start(wanted.start), self.op.now());
        let settle = wanted.settle_seconds.unwrap_or_default();
        let first = Checkpoint::new(self.consumer, start, settle, self.op.first_revision());
        let mut rounds = Rounds::of(&self.op.table, "the consumer");
        loop {
            let Some(found) = self.checkpoint().await? else {
                // Several consumers that are created at the same time may together exceed the limit.
                if self.op.consumers(&self.consumer.topic).announcements().await?.len() >= CONSUMERS {
                    return Err(ConsumerError::TooManyConsumers);
                }
                self.create(&first).await?;
                rounds.lose()?;
                continue;
            };
            if found.deleting {
                return Err(TableError::unavailable("the consumer is being deleted").into());
            }
            let created = found == first;
            let settle = |found: &Checkpoint| {
                let settle = wanted.settle_seconds.filter(|wanted| *wanted != found.settle);
                Ok::<_, ConsumerError>(settle.map(|settle| Checkpoint { settle, ..found.clone() }))
            };
            let found = existing(self.change(Some(found), settle).await?, self.consumer)?;
            return Ok((self.view_of(&found, &stored).await?, created));
        }
    }

    /// The consumer's view.
    pub async fn view(self) -> Result<ConsumerView, ConsumerError> {
        let stored = self.op.topic(&self.consumer.topic).stored().await?;
        let checkpoint = existing(self.checkpoint().await?, self.consumer)?;
        Ok(self.view_of(&checkpoint, &stored).await?)
    }

    /// The consumer's checkpoint, if there is one. The read is consistent.
    pub(crate) async fn checkpoint(self) -> Result<Option<Checkpoint>, TableError> {
        self.op.table.find(self.consumer.encode()).await
    }

    /// Lets `decide` make the consumer's next state of the state that was found, and writes it under its revision.
    /// `None` leaves the consumer as it is. If another writer was first, `decide` decides again, up to
    /// [`CONFLICTS`](lately_table::limits::CONFLICTS) times. Returns the state at the end; `None` if the consumer has
    /// been deleted.
    pub(crate) async fn change<E: From<TableError>>(
        self,
        mut found: Option<Checkpoint>,
        mut decide: impl FnMut(&Checkpoint) -> Result<Option<Checkpoint>, E>,
    ) -> Result<Option<Checkpoint>, E> {
        let mut rounds = Rounds::of(&self.op.table, "the consumer");
        loop {
            let Some(known) = found else { return Ok(None) };
            let Some(wanted) = decide(&known)? else { return Ok(Some(known)) };
            let wanted = Checkpoint { revision: known.revision.next(), ..wanted };
            found = match put_revised(&self.op.table, &wanted.encode(), Some(known.revision)).await? {
                Guarded::Written => return Ok(Some(wanted)),
                Guarded::Stale(there) => {
                    there.as_ref().map(Checkpoint::decode).transpose().map_err(TableError::from)?
                }
                // Nobody can tell whether our write was applied: `decide` decides from the state that is there now.
                Guarded::Unknown => self.checkpoint().await?,
            };
            rounds.lose()?;
        }
    }

    /// Creates a consumer and its announcement, unless there is a consumer of its name.
    ///
    /// # Errors
    /// If the topic was deleted, or the table could not be written.
    pub(crate) async fn create(self, checkpoint: &Checkpoint) -> Result<(), TopicError> {
        let topic = &self.consumer.topic;
        let is_kept = Condition::any_item().and(Condition::absent(Checkpoint::DELETING));
        let transaction = Transaction::new(self.op.ambient())
            .put_if(checkpoint.encode(), Condition::no_item())
            .put(Announcement::first(checkpoint))
            .check(StoredTopic::key(topic), is_kept);
        if transaction.commit(&self.op.table).await? == Transacted::Done {
            return Ok(());
        }
        self.op.memory().forget_topic(topic);
        self.op.topic(topic).stored().await.map(drop)
    }

    pub(super) async fn view_of(
        self,
        checkpoint: &Checkpoint,
        stored: &StoredTopic,
    ) -> Result<ConsumerView, TableError> {
        let Checkpoint { position, ref outstanding, settle, .. } = *checkpoint;
        let (late, late_more) = self.count_unsettled(checkpoint).await?;
        Ok(ConsumerView {
            position: Some(position).filter(|position| *position != EventId::MIN),
            outstanding: outstanding.as_ref().map(|outstanding| outstanding.batch),
            lag_seconds: self.lag_seconds(checkpoint, stored).await?,
            late,
            late_more,
            settle_seconds: settle,
        })
    }

    /// The age of the oldest event after the position.
    async fn lag_seconds(self, checkpoint: &Checkpoint, stored: &StoredTopic) -> Result<u64, TableError> {
        let now = self.op.now();
        let first = checkpoint.position.just_after();
        let ids = first.and_then(|first| IdRange::new(first, EventId::last_of(now)));
        let query = EventQuery { consistent: true, ..EventQuery::default() };
        let end = self.op.topic(&self.consumer.topic).first_events(stored, &query, ids, 1, 0).await?;
        Ok(end.events.first().map_or(0, |oldest| now.get().saturating_sub(oldest.at().get()) / 1000))
    }

    /// The number of unsettled events behind the position, and whether there may be more than could be counted.
    /// Partitions whose counters have not risen since they were settled are not read.
    async fn count_unsettled(self, checkpoint: &Checkpoint) -> Result<(u64, bool), TableError> {
        let Checkpoint { known, position, sweeps, .. } = checkpoint;
        let ledger = Incarnation::of(self.op, checkpoint);
        let Some(announcement) = ledger.announcement().await? else { return Ok((0, false)) };
        let mut waiting = 0;
        for shard in announcement.counters.risen_since(known) {
            // Events that landed before the place that a sweep has reached are counted when the next sweep begins.
            let behind = sweeps.iter().find(|sweep| sweep.shard == shard).map(|sweep| sweep.behind);
            let walked = ledger.walk(shard, behind, *position, usize::MAX).await?;
            waiting += walked.ids.len() as u64;
            if walked.is_cut {
                return Ok((waiting, true));
            }
        }
        Ok((waiting, false))
    }
}
