//! Figures of many measured times.

use std::time::Duration;

/// The median, which a few slow measurements do not change.
pub(crate) fn median(durations: Vec<Duration>) -> Duration {
    permille(durations, 500)
}

/// The time that `permille` of a thousand measurements do not exceed.
pub(crate) fn permille(mut durations: Vec<Duration>, permille: usize) -> Duration {
    durations.sort_unstable();
    durations.get(durations.len() * permille / 1000).copied().unwrap_or_default()
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

    #[test]
    fn one_measurement_of_a_hundred_exceeds_the_99th_percentile() {
        let millis = |numbers: std::ops::Range<u64>| numbers.map(Duration::from_millis).collect();
        assert_eq!(permille(millis(0..200), 990), Duration::from_millis(198));
        assert_eq!(permille(millis(0..1), 990), Duration::ZERO);
        assert_eq!(permille(Vec::new(), 990), Duration::ZERO);
    }
}
