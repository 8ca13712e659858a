//! The median of many measurements.

use std::time::Duration;

/// The median, which a few slow measurements do not change.
pub(super) fn median(mut durations: Vec<Duration>) -> Duration {
    durations.sort_unstable();
    durations.get(durations.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_measurement_does_not_change_the_median() {
        let millis = |numbers: &[u64]| numbers.iter().map(|&number| Duration::from_millis(number)).collect();
        assert_eq!(median(millis(&[3, 1, 900])), Duration::from_millis(3));
        assert_eq!(median(millis(&[3, 1])), Duration::from_millis(3));
    }
}
