//! Idempotency: a retry under the same key gets the response of the first request.
//!
//! A request first writes its record, conditionally, with the ids that its events will have. It marks the record `done`
//! after all events are written. A retry that finds the record done responds from the record. A retry that finds the
//! record not done writes the missing events under the same ids, except for events that were written and have been
//! deleted since (`write/`); it judges the events' times as the first request did. An expired record counts as
//! absent, and so does the record of a request to a topic of the same name that was deleted since.

use lately_items::{EXPIRES_AT, Idempotency, IdempotencyItemKey, KeyRecord};
use lately_keys::{EventId, TableKey, UnixMillis};
use lately_table::{Condition, TableError, Update};

use crate::handle::KeyedRequest;
use crate::limits::DELETION_SETTLE_SECONDS;

impl KeyedRequest<'_> {
    /// Records a request, unless its key is taken. Returns the earlier record of the key, for this request or for another;
    /// `None` if the request is recorded now.
    pub(crate) async fn record(
        self,
        ids: Vec<EventId>,
        accepted_at: UnixMillis,
    ) -> Result<Option<KeyRecord>, TableError> {
        let wanted = KeyRecord { body_hash: self.idempotency.body_hash, ids, accepted_at, done: false };
        let is_over = Condition::at_most(EXPIRES_AT, accepted_at.get() / 1000);
        let is_of_earlier = Condition::below(KeyRecord::AT, &self.since());
        let is_free = Condition::no_item().or(is_over).or(is_of_earlier);
        let there = self.op.table.put_if(&wanted.encode(&self.key()), &is_free).await?;
        let found = there.as_ref().map(KeyRecord::decode).transpose()?;
        // Ids are random, so a record with the same ids was written by an earlier attempt of this request.
        Ok(found.filter(|found| *found != wanted))
    }

    /// The record under the request's key, if there is one.
    pub(crate) async fn recorded(self) -> Result<Option<KeyRecord>, TableError> {
        match self.op.table.get(self.key().encode()).await? {
            Some(item) if !item.is_over(self.op.now())? => {
                Ok(Some(KeyRecord::decode(&item)?).filter(|record| record.accepted_at >= self.since()))
            }
            _ => Ok(None),
        }
    }

    /// Marks a request as done. If this fails, a retry writes the same events again, which changes nothing.
    pub(crate) async fn finish(self) {
        let done = Update::of(&self.key()).set(KeyRecord::DONE, true).only_if(Condition::any_item());
        match self.op.table.update(&done).await {
            Ok(true) => {}
            Ok(false) => tracing::warn!("an idempotency record was gone before it was done"),
            Err(error) => tracing::warn!(%error, "an idempotency record was not marked done"),
        }
    }

    /// Requests that were accepted before were sent to an earlier topic of this name. Clocks differ, and a name is free
    /// a minute after its deletion.
    fn since(self) -> UnixMillis {
        self.stored.created_at.saturating_sub(DELETION_SETTLE_SECONDS * 1000 / 2)
    }

    fn key(self) -> IdempotencyItemKey {
        let Idempotency { caller, key, .. } = self.idempotency.clone();
        IdempotencyItemKey { caller, topic: self.topic.clone(), key }
    }
}
