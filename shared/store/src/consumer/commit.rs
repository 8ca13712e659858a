//! A batch is committed: its late events are settled, and its consumer stands at its end.

use lately_keys::table::ConsumerKey;
use lately_model::BatchToken;

use crate::consumer::checkpoint::Checkpoint;
use crate::consumer::ledger::Ledger;
use crate::consumer::{ConsumerError, existing};
use crate::cost::Cost;
use crate::store::Store;

impl Store {
    /// Commits the batch that is given out; the one that was committed last, again, to no effect.
    ///
    /// # Errors
    /// See [`ConsumerError`].
    pub async fn commit(&self, consumer: &ConsumerKey, batch: BatchToken) -> Result<Cost, ConsumerError> {
        let operation = self.operation();
        self.settings(&consumer.topic, &operation).await?;
        let checkpoint = existing(self.checkpoint(consumer, &operation).await?, consumer)?;
        if checkpoint.last == Some(batch) {
            return Ok(operation.meter.total());
        }
        let outstanding = checkpoint.outstanding.clone().filter(|outstanding| outstanding.batch == batch);
        let outstanding = outstanding.ok_or(ConsumerError::StaleBatch)?;
        let ledger = Ledger { consumer, incarnation: checkpoint.incarnation };
        self.settle_late(ledger, &outstanding.late, &batch.to_string(), &operation).await?;
        let touched = outstanding.seen.risen_since(&checkpoint.known);
        let settled = self.settled_shards(ledger, touched, &operation).await?;
        let commit = |found: &Checkpoint| {
            if found.last == Some(batch) {
                return Ok(None);
            }
            if found.outstanding.as_ref().is_none_or(|outstanding| outstanding.batch != batch) {
                return Err(ConsumerError::StaleBatch);
            }
            Ok(Some(Checkpoint {
                position: outstanding.upto,
                known: found.known.with(&outstanding.seen, &settled),
                last: Some(batch),
                outstanding: None,
                ..found.clone()
            }))
        };
        let committed = self.change_checkpoint(consumer, Some(checkpoint), &operation, commit).await;
        existing(committed?, consumer)?;
        Ok(operation.meter.total())
    }
}
