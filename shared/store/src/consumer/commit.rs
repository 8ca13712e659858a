//! A batch is committed: its late events are settled, and its consumer stands at its end.

use lately_model::BatchToken;

use crate::consumer::ConsumerHandle;
use crate::consumer::checkpoint::Checkpoint;
use crate::consumer::ledger::Ledger;
use crate::consumer::ledger::LedgerHandle;
use crate::consumer::{ConsumerError, existing};

impl ConsumerHandle<'_> {
    /// Commits the batch that is given out; the one that was committed last, again, to no effect.
    ///
    /// # Errors
    /// See [`ConsumerError`].
    pub async fn commit(self, batch: BatchToken) -> Result<(), ConsumerError> {
        let consumer = self.consumer;
        self.op.topic(&consumer.topic).settings().await?;
        let checkpoint = existing(self.checkpoint().await?, consumer)?;
        if checkpoint.last == Some(batch) {
            return Ok(());
        }
        let outstanding = checkpoint.outstanding.clone().filter(|outstanding| outstanding.batch == batch);
        let outstanding = outstanding.ok_or(ConsumerError::StaleBatch)?;
        let ledger = Ledger { consumer, incarnation: checkpoint.incarnation };
        LedgerHandle::of(self.op, ledger).settle(&outstanding.late, &batch.to_string()).await?;
        let commit = |found: &Checkpoint| {
            if found.last == Some(batch) {
                return Ok(None);
            }
            if found.outstanding.as_ref().is_none_or(|outstanding| outstanding.batch != batch) {
                return Err(ConsumerError::StaleBatch);
            }
            Ok(Some(Checkpoint {
                position: outstanding.upto,
                known: found.known.max(&outstanding.dealt),
                last: Some(batch),
                outstanding: None,
                ..found.clone()
            }))
        };
        let committed = self.change(Some(checkpoint), commit).await;
        existing(committed?, consumer)?;
        Ok(())
    }
}
