//! A consumer is told where to go on.

use lately_keys::{EventId, UnixMillis};
use lately_model::{ConsumerView, Seek, SeekTo};

use crate::consumer::ConsumerHandle;
use crate::consumer::announcement::AnnouncementHandle;
use crate::consumer::checkpoint::{Checkpoint, ConsumerMode, beginning};
use crate::consumer::{ConsumerError, existing};

impl ConsumerHandle<'_> {
    /// Moves a consumer. What it was given and has not committed is dropped: it may be given again.
    ///
    /// Events at or before its start are never given; so a seek to before it moves the start too. What lands later behind
    /// the new position is late, also where the consumer was never before.
    ///
    /// # Errors
    /// See [`ConsumerError`].
    pub async fn seek(self, seek: Seek) -> Result<ConsumerView, ConsumerError> {
        let consumer = self.consumer;
        let stored = self.op.topic(&consumer.topic).stored().await?;
        let checkpoint = existing(self.checkpoint().await?, consumer)?;
        let now = self.op.now();
        let position = before(seek.to, now);
        let moved = |found: &Checkpoint| {
            if found.mode == Some(ConsumerMode::Runs) {
                return Err(ConsumerError::HasRuns);
            }
            let start = found.start.min(position);
            Ok(Some(Checkpoint { start, position, outstanding: None, ..found.clone() }))
        };
        moved(&checkpoint)?;
        // First what is announced: more than enough is noted then, and never too little.
        if position < checkpoint.start {
            AnnouncementHandle::of(self.op, &checkpoint).lower_start(position).await?;
        }
        if position > checkpoint.position {
            AnnouncementHandle::of(self.op, &checkpoint)
                .announce_poll(position.min(EventId::last_of(now)))
                .await?;
        }
        let checkpoint = existing(self.change(Some(checkpoint), moved).await?, consumer)?;
        let view = self.view_of(&checkpoint, &stored).await?;
        Ok(view)
    }
}

/// The last id before what is wanted. The present time is a time too: what comes in this very millisecond is wanted.
pub(super) fn before(to: SeekTo, now: UnixMillis) -> EventId {
    let time = |at: UnixMillis| EventId::first_of(at).just_before().unwrap_or(beginning());
    match to {
        SeekTo::Earliest => beginning(),
        SeekTo::Latest => time(now),
        SeekTo::Time(at) => time(at),
        SeekTo::Event(id) => id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_wanted_itself_and_an_event_is_not() {
        let at = UnixMillis::new(1_000).unwrap();
        let id = EventId::first_of(at);
        assert_eq!(before(SeekTo::Earliest, at), beginning());
        assert_eq!(before(SeekTo::Time(UnixMillis::MIN), at), beginning());
        assert_eq!(before(SeekTo::Event(id), at), id);
        for to in [SeekTo::Latest, SeekTo::Time(at)] {
            assert_eq!(before(to, at).just_after(), Some(id));
        }
    }
}
