//! Moving a consumer's position: to the end of a committed batch, or to the target of a seek.

use lately_items::{Checkpoint, ConsumerMode};
use lately_keys::{EventId, UnixMillis};
use lately_model::{BatchToken, ConsumerView, Seek, SeekTo, Start};

use crate::consumer::{ConsumerError, existing};
use crate::handle::ConsumerHandle;

impl ConsumerHandle<'_> {
    /// Commits the outstanding batch: the position moves to its end. Committing the last committed batch again has no
    /// effect.
    pub async fn commit(self, batch: BatchToken) -> Result<(), ConsumerError> {
        self.op.topic(&self.consumer.topic).stored().await?;
        let checkpoint = existing(self.checkpoint().await?, self.consumer)?;
        let commit = |found: &Checkpoint| match &found.outstanding {
            _ if found.last == Some(batch) => Ok(None),
            Some(outstanding) if outstanding.batch == batch => Ok(Some(Checkpoint {
                position: outstanding.upto,
                log: outstanding.log_after,
                last: Some(batch),
                outstanding: None,
                ..found.clone()
            })),
            _ => Err(ConsumerError::StaleBatch),
        };
        existing(self.change(Some(checkpoint), commit).await?, self.consumer)?;
        Ok(())
    }

    /// Moves a consumer's position. An outstanding batch is dropped: its events may be given again.
    ///
    /// A consumer never gets events at or before its start, so a seek to before the start moves the start as well. An
    /// event that lands behind the new position from then on is late, even if the consumer has never been there before.
    pub async fn seek(self, seek: Seek) -> Result<ConsumerView, ConsumerError> {
        let stored = self.op.topic(&self.consumer.topic).stored().await?;
        let checkpoint = existing(self.checkpoint().await?, self.consumer)?;
        let now = self.op.now();
        let position = before(seek.to, now);
        let passed = position.min(EventId::last_of(now));
        let moved = |found: &Checkpoint| {
            if found.mode == Some(ConsumerMode::Runs) {
                return Err(ConsumerError::HasRuns);
            }
            let moved =
                Checkpoint { start: found.start.min(position), position, outstanding: None, ..found.clone() };
            if position > found.position { Ok(Some(moved.having_passed(passed))) } else { Ok(Some(moved)) }
        };
        let checkpoint = existing(self.change(Some(checkpoint), moved).await?, self.consumer)?;
        Ok(self.view_of(&checkpoint, &stored).await?)
    }
}

/// The last id before the first event that a seek asks for. `Latest` includes the events of the current millisecond.
pub(super) fn before(to: SeekTo, now: UnixMillis) -> EventId {
    let time = |at: UnixMillis| EventId::first_of(at).just_before().unwrap_or(EventId::MIN);
    match to {
        SeekTo::Start(Start::Earliest) => EventId::MIN,
        SeekTo::Start(Start::Latest) => time(now),
        SeekTo::Start(Start::Time(at)) => time(at),
        SeekTo::Event(id) => id,
    }
}
