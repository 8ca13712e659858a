//! A topic's retention: the time for which it stores its events.

use lately_keys::UnixMillis;

use crate::bounded::bounded;
use crate::limits::RETENTION_DAYS;

const DAY_MILLIS: u64 = 24 * 60 * 60 * 1000;

bounded! {
    /// The number of days for which a topic stores its events: 1 to 36,500.
    ///
    /// ```
    /// use lately_model::RetentionDays;
    ///
    /// let week = RetentionDays::new(7)?;
    /// assert_eq!(week.oldest("2026-11-20T09:30:00Z".parse()?).to_string(), "2026-11-13T09:30:00.000Z");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    RetentionDays(u16): 1..=RETENTION_DAYS;
    /// The number of days is too low or too high.
    RetentionDaysError = "must be a whole number from {} to {}, or null";
}

impl RetentionDays {
    /// The shortest retention.
    pub const SHORTEST: Self = Self(1);

    /// The same time in milliseconds.
    pub fn millis(self) -> u64 {
        u64::from(self.0) * DAY_MILLIS
    }

    /// The time of the oldest events that are retained now.
    pub fn oldest(self, now: UnixMillis) -> UnixMillis {
        now.saturating_sub(self.millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retention_is_a_day_to_a_century() {
        assert_eq!(RetentionDays::new(0), Err(RetentionDaysError));
        assert_eq!(RetentionDays::new(36_501), Err(RetentionDaysError));
        assert_eq!(RetentionDays::new(1).unwrap().millis(), 86_400_000);
        let century = RetentionDays::new(36_500).unwrap();
        assert_eq!(century.oldest(UnixMillis::new(5).unwrap()), UnixMillis::MIN);
    }
}
