//! Quotas: the writes and reads a minute that a caller may make, over all processes.
//!
//! A process adds a block to the item of the minute, and the new value says how much of the block lies below the limit: so
//! much it may permit without another call. All additions are in one order, so no minute has more than the limit. An
//! addition whose outcome is not known loses its block. If a batch needs more than a block, the addition has a condition,
//! so that a refused batch takes nothing that others may still use. `docs/adr/0018-quotas.md` says more.

pub(crate) mod block;
pub(crate) mod streams;

use std::convert::Infallible;
use std::sync::Arc;

use lately_items::{EXPIRES_AT, QuotaKey};
use lately_table::{Attempts, Condition, Refusal, TableError, Update};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::handle::QuotaHandle;
use crate::limits::QUOTA_TIMEOUT;
use crate::quota::block::Block;

/// A process takes at most this part of a quota at once: a twentieth. So a process that stops loses no more.
const QUOTA_BLOCKS: u32 = 20;

/// A quota's item expires this many minutes after its minute began. No clock may be further behind.
const QUOTA_MINUTES: u64 = 10;

/// A request is not permitted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum QuotaError {
    /// The caller has made as many requests as it may, until the next minute: in 1 to 60 seconds.
    #[error("the caller is over its limit for {0} s")]
    Over(u32),
    /// The item could not be written, and a later attempt would fail too.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl QuotaHandle<'_> {
    /// Takes permission for so many requests.
    ///
    /// # Errors
    /// If the caller is over its limit, or the item cannot be written for good.
    pub async fn take(self, count: u32) -> Result<(), QuotaError> {
        loop {
            let key = self.key();
            let block = self.block(&key);
            let mut block = block.lock().await;
            if block.left < count && block.taken + (count - block.left) <= self.limit.get() {
                self.refill(&key, &mut block, count).await?;
            }
            let now = self.op.now().get();
            if now / 60_000 != key.number {
                continue;
            }
            let Some(left) = block.left.checked_sub(count) else {
                let seconds = (60_000 - now % 60_000).div_ceil(1_000);
                return Err(QuotaError::Over(u32::try_from(seconds).unwrap_or(60)));
            };
            block.left = left;
            return Ok(());
        }
    }

    /// Counts requests that the caller has made without permission, because their number was not known before. They
    /// count for this minute, also beyond the limit: the next request of the minute is then refused.
    ///
    /// # Errors
    /// If the item cannot be written for good.
    pub async fn owe(self, count: u32) -> Result<(), TableError> {
        let key = self.key();
        let block = self.block(&key);
        let mut block = block.lock().await;
        let rest = count.saturating_sub(block.left);
        block.left = block.left.saturating_sub(count);
        // Once the limit is reached, every process learns of that with its next block.
        if rest > 0 && block.taken < self.limit.get() {
            self.add(&key, &mut block, rest.max(self.usual_block()), None).await?;
            block.left = block.left.saturating_sub(rest);
        }
        Ok(())
    }

    /// The requests that the caller may make in this minute, as far as this process knows.
    pub async fn remaining(self) -> u32 {
        let block = self.block(&self.key());
        let block = block.lock().await;
        block.left.saturating_add(self.limit.get().saturating_sub(block.taken)).min(self.limit.get())
    }

    fn key(self) -> QuotaKey {
        QuotaKey { holder: self.holder.clone(), kind: self.kind, number: self.op.now().get() / 60_000 }
    }

    fn block(self, key: &QuotaKey) -> Arc<Mutex<Block>> {
        let Ok(block) =
            self.op.memory().quotas.get_or_insert_with(key, || Ok::<_, Infallible>(Arc::default()));
        block
    }

    /// The requests of a block, unless a request needs more.
    fn usual_block(self) -> u32 {
        (self.limit.get() / QUOTA_BLOCKS).max(1)
    }

    /// Takes a block that has what the request needs.
    async fn refill(self, key: &QuotaKey, block: &mut Block, count: u32) -> Result<(), TableError> {
        let usual = self.usual_block();
        let size = usual.max(count - block.left);
        // A large block is taken only if all of it lies below the limit.
        let most = if size > usual { Some(self.limit.get() - size) } else { None };
        self.add(key, block, size, most).await
    }

    /// Adds a block to the item: only if at most so many are taken, where `most` says so. An outage of the item must not
    /// become an outage of the caller: so a process that cannot take a block permits one by itself, and up to the limit in
    /// a minute.
    async fn add(
        self,
        key: &QuotaKey,
        block: &mut Block,
        size: u32,
        most: Option<u32>,
    ) -> Result<(), TableError> {
        let expires_at = (key.number + QUOTA_MINUTES) * 60;
        let mut update = Update::of(key).add(QuotaKey::TAKEN, size).set(EXPIRES_AT, expires_at);
        if let Some(most) = most {
            let fits = Condition::at_most(QuotaKey::TAKEN, most);
            update = update.only_if(fits.or(Condition::absent(QuotaKey::TAKEN)));
        }
        let mut attempts = Attempts::of(&self.op.table);
        let updated = timeout(QUOTA_TIMEOUT, attempts.update(&update)).await;
        let updated = updated.unwrap_or_else(|_| {
            let error = TableError::unavailable("a quota's item did not answer in time");
            Ok(Err(Refusal { error, is_range_hot: false, is_throttle: false }))
        });
        match updated? {
            Ok(Some(item)) => {
                block.taken = item.get(QuotaKey::TAKEN)?;
                block.left += self.limit.get().saturating_sub(block.taken.saturating_sub(size)).min(size);
            }
            // More than `most` are taken, so the request does not fit into this minute.
            Ok(None) => block.taken = most.map_or(self.limit.get(), |most| most + 1),
            Err(Refusal { error, .. }) => {
                tracing::warn!(%error, size, "a quota's item cannot be written: this process permits a block by itself");
                let size = size.min(self.limit.get() - block.alone);
                (block.left, block.alone) = (block.left + size, block.alone + size);
                if block.alone == self.limit.get() {
                    block.taken = self.limit.get();
                }
            }
        }
        Ok(())
    }
}
