//! The wait before a retry of a batch. It doubles with each failure, and jitter shortens it by up to half.

use std::time::Duration;

use crate::limits;

/// The wait after `failures` failures. `jitter` is 0.0 for half of the wait to 1.0 for all of it.
pub(crate) fn wait(failures: u32, jitter: f64) -> Duration {
    let doubled = 2u32.saturating_pow(failures.saturating_sub(1));
    let longest = limits::BACKOFF_FIRST.saturating_mul(doubled).min(limits::BACKOFF_LONGEST);
    longest.mul_f64(0.5 + jitter / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_bound_with_half_as_jitter() {
        let millis = |failures, jitter| wait(failures, jitter).as_millis();
        assert_eq!([1, 2, 3, 7].map(|failures| millis(failures, 1.0)), [100, 200, 400, 6_400]);
        assert_eq!([8, 100, u32::MAX].map(|failures| millis(failures, 1.0)), [10_000; 3]);
        assert_eq!(millis(2, 0.0), 100);
    }
}
