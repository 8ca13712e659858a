//! Ticks: a range of time as the counts that a design's keys are made of.

use jiff::Timestamp;

pub(super) const NANOS_PER_MILLI: i128 = 1_000_000;
pub(super) const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// The first and the last tick that lie in a range of time, counted from 1970; none if no tick does.
pub(super) fn ticks(first: Timestamp, last: Timestamp, tick_nanos: i128) -> Option<(i64, i64)> {
    let first = (first.as_nanosecond().max(0) + tick_nanos - 1) / tick_nanos;
    let last = last.as_nanosecond().div_euclid(tick_nanos);
    // Nanoseconds have more than 64 bits from 2262 on.
    let (first, last) = (i64::try_from(first).ok()?, i64::try_from(last.min(i64::MAX.into())).ok()?);
    (first <= last).then_some((first, last))
}
