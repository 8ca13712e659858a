//! Ticks: time ranges as the counts in a design's keys.

use jiff::Timestamp;

pub(super) const NANOS_PER_MILLI: i128 = 1_000_000;
pub(super) const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// The first and the last tick in a time range, counted from 1970; `None` if the range contains no tick.
pub(super) fn ticks(first: Timestamp, last: Timestamp, tick_nanos: i128) -> Option<(i64, i64)> {
    let first = (first.as_nanosecond().max(0) + tick_nanos - 1) / tick_nanos;
    let last = last.as_nanosecond().div_euclid(tick_nanos);
    // From 2262 on, nanoseconds do not fit into 64 bits.
    let (first, last) = (i64::try_from(first).ok()?, i64::try_from(last.min(i64::MAX.into())).ok()?);
    (first <= last).then_some((first, last))
}
