//! The times that an event may have when it is sent.

use lately_keys::UnixMillis;

use crate::limits::{FUTURE_SECONDS, IMPORT_SECONDS};
use crate::retention::RetentionDays;

/// The range of accepted times: from the topic's retention to a little after now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptedTimes {
    now: UnixMillis,
    oldest: UnixMillis,
}

/// The time is outside the accepted range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AtError {
    /// The time is too far in the future.
    #[error("must not be more than {FUTURE_SECONDS} s in the future")]
    Future,
    /// The time is older than the topic's retention, so the topic would not store the event.
    #[error("must not be older than the topic's retention")]
    Expired,
}

impl AcceptedTimes {
    /// The times that a topic accepts at the time `now`.
    pub fn new(now: UnixMillis, retention: Option<RetentionDays>) -> Self {
        let oldest = retention.map_or(UnixMillis::MIN, |retention| retention.oldest(now));
        Self { now, oldest }
    }

    /// The time of the check.
    pub const fn now(&self) -> UnixMillis {
        self.now
    }

    /// Checks an event's time.
    ///
    /// # Errors
    /// If it is more than 5 s in the future, or older than the topic's retention.
    pub fn check(&self, at: UnixMillis) -> Result<(), AtError> {
        if at > self.now.saturating_add(FUTURE_SECONDS * 1000) {
            Err(AtError::Future)
        } else if at < self.oldest {
            Err(AtError::Expired)
        } else {
            Ok(())
        }
    }

    /// True if an event of this time is an import: more than 60 s in the past.
    pub fn is_import(&self, at: UnixMillis) -> bool {
        at < self.now.saturating_sub(IMPORT_SECONDS * 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_exact_to_the_millisecond() {
        let now = UnixMillis::new(200_000_000).unwrap();
        let times = AcceptedTimes::new(now, Some(RetentionDays::new(2).unwrap()));
        let check = |millis| times.check(UnixMillis::new(millis).unwrap());
        assert_eq!(check(200_005_000), Ok(()));
        assert_eq!(check(200_005_001), Err(AtError::Future));
        assert_eq!(check(27_200_000), Ok(()));
        assert_eq!(check(27_199_999), Err(AtError::Expired));
        assert_eq!(AcceptedTimes::new(now, None).check(UnixMillis::MIN), Ok(()));
        assert!(!times.is_import(now.saturating_sub(60_000)) && times.is_import(now.saturating_sub(60_001)));
    }
}
