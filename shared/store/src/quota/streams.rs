//! The open streams of a caller, over all processes.
//!
//! Each open stream holds one of the caller's items. Lambda does not notice that a client has gone, so there the item
//! is held until the stream's own end, as the execution is.

use std::time::Duration;

use lately_items::{QuotaHolder, QuotaKey};
use lately_keys::{QuotaKind, TableKey, UnixMillis};
use lately_table::{Condition, TableError, entropy_u64};
use tokio::runtime::Handle;

use crate::error::TimelineError;
use crate::limits::OPEN_STREAMS;
use crate::op::Op;

/// One of a caller's open streams. When it is closed or dropped, the caller may open another one.
#[derive(Debug)]
pub struct OpenStream {
    op: Op,
    key: QuotaKey,
    until: UnixMillis,
    is_open: bool,
}

impl OpenStream {
    /// Counts a stream that is open for so long at most.
    pub async fn open(op: &Op, holder: &QuotaHolder, time: Duration) -> Result<Self, TimelineError> {
        let now = op.now();
        let until = now.saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        let is_free = Condition::no_item().or(Condition::at_most(QuotaKey::UNTIL, now.get()));
        let first = entropy_u64(op.ambient()) % OPEN_STREAMS;
        let mut ends = Vec::new();
        for number in (first..OPEN_STREAMS).chain(0..first) {
            let key = QuotaKey { holder: holder.clone(), kind: QuotaKind::Streams, number };
            match op.table.put_if(&key.stream(until), &is_free).await? {
                None => return Ok(Self { op: op.clone(), key, until, is_open: true }),
                Some(taken) => ends.push(taken.get::<u64>(QuotaKey::UNTIL).map_err(TableError::from)?),
            }
        }
        let wait = ends.into_iter().min().unwrap_or_default().saturating_sub(now.get());
        Err(TimelineError::TooManyStreams(u32::try_from(wait.div_ceil(1_000)).unwrap_or(u32::MAX).max(1)))
    }

    /// Says that the stream is over. If this fails, the stream counts until its time is over.
    pub async fn close(&mut self) {
        self.is_open = false;
        close(self.op.clone(), self.key.clone(), self.until).await;
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        if let (true, Ok(runtime)) = (self.is_open, Handle::try_current()) {
            runtime.spawn(close(self.op.clone(), self.key.clone(), self.until));
        }
    }
}

async fn close(op: Op, key: QuotaKey, until: UnixMillis) {
    let is_ours = Condition::equals(QuotaKey::UNTIL, until.get());
    if let Err(error) = op.step().table.delete_if(key.encode(), &is_ours).await {
        tracing::warn!(%error, "a closed stream still counts");
    }
}
