//! Creating and changing a consumer, and its view.
//!
//! A consumer's announcement follows from its checkpoint. A change of both is one transaction, under the checkpoint's
//! revision: so an announcement is never older than a position that fan-out must know of.

use lately_items::{Announcement, Checkpoint, LatePlace, StoredTopic};
use lately_keys::{EventId, TableKey};
use lately_model::{ConsumerView, EventQuery, NewConsumer, SeekTo};
use lately_table::limits::BATCH_KEYS;
use lately_table::{Condition, Guarded, REVISION, Rounds, TableError, Transacted, Transaction, put_revised};

use crate::consumer::position::before;
use crate::consumer::{ConsumerError, existing};
use crate::error::TopicError;
use crate::handle::ConsumerHandle;
use crate::limits::CONSUMERS;
use crate::span::IdRange;

impl ConsumerHandle<'_> {
    /// Creates a consumer, or changes its settle time. The `bool` says whether the consumer was created.
    pub async fn put(self, wanted: &NewConsumer) -> Result<(ConsumerView, bool), ConsumerError> {
        let stored = self.op.topic(&self.consumer.topic).stored().await?;
        let start = before(SeekTo::Start(wanted.start), self.op.now());
        let settle = wanted.settle_seconds.unwrap_or_default();
        let log_end = self.op.late_log(&self.consumer.topic).open(stored.created_at).await?;
        let first = Checkpoint::new(self.consumer, start, settle, log_end, self.op.first_revision());
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
            let settle = |found: &Checkpoint| match wanted.settle_seconds {
                Some(settle) if settle != found.settle => Ok(Some(found.clone().with_settle(settle))),
                _ => Ok::<_, ConsumerError>(None),
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
            found = match self.replace(&known, &wanted).await? {
                Guarded::Written => return Ok(Some(wanted)),
                Guarded::Stale(there) => {
                    there.as_ref().map(Checkpoint::decode).transpose().map_err(TableError::from)?
                }
                // Nobody can tell whether our write was applied: `decide` decides from the state that is there now.
                Guarded::Unknown => self.checkpoint().await?,
            };
            rounds.lose_and_pause().await?;
        }
    }

    /// Replaces a state of the consumer by the next one, together with the announcement if that changes.
    async fn replace(self, known: &Checkpoint, wanted: &Checkpoint) -> Result<Guarded, TableError> {
        let announcement = Announcement::of(wanted);
        if announcement == Announcement::of(known) {
            return put_revised(&self.op.table, &wanted.encode(), Some(known.revision)).await;
        }
        let is_known = Condition::equals(REVISION, known.revision.get());
        let transaction =
            Transaction::new(self.op.ambient()).put_if(wanted.encode(), is_known).put(announcement.encode());
        match transaction.commit(&self.op.table).await? {
            Transacted::Done => Ok(Guarded::Written),
            Transacted::Cancelled { .. } => Ok(Guarded::Unknown),
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
            .put(Announcement::of(checkpoint).encode())
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
        let (late, late_more) = self.count_late(checkpoint).await?;
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

    /// The number of late events that wait behind the position, and whether there may be more than could be counted.
    async fn count_late(self, checkpoint: &Checkpoint) -> Result<(u64, bool), TableError> {
        let log = self.op.late_log(&self.consumer.topic);
        let end = log.end().await?;
        let mut place = checkpoint.log;
        let mut waiting = 0;
        while place.number < end {
            if self.op.table.is_spent() {
                return Ok((waiting, true));
            }
            for (number, batch) in log.stored(place.number, end).await? {
                let read = if number == place.number + 1 { place.ids } else { 0 };
                let rest = batch.ids.iter().skip(usize::try_from(read).unwrap_or(usize::MAX));
                let behind = rest.filter(|id| checkpoint.start < **id && **id <= checkpoint.position);
                waiting += behind.count() as u64;
            }
            place = LatePlace::after(end.min(place.number + BATCH_KEYS as u64));
        }
        Ok((waiting, false))
    }
}
