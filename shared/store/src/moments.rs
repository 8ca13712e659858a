//! Moments: values with the time of their reading, and when things happened last.

use std::time::Duration;

use lately_table::Ambient;
use quick_cache::sync::Cache;

/// A value that was read, with the time at which its query was sent.
#[derive(Clone, Debug)]
pub(crate) struct Aged<T> {
    pub(crate) value: T,
    pub(crate) sent: Sent,
}

/// The last moment at which something happened, for each of many keys.
#[derive(Debug)]
pub(crate) struct Moments(Cache<String, Sent>);

impl Moments {
    pub(crate) fn new(most: usize) -> Self {
        Self(Cache::new(most))
    }

    /// Notes that it happens now.
    pub(crate) fn note(&self, key: String, ambient: &dyn Ambient) {
        self.0.insert(key, Sent::now(ambient));
    }

    pub(crate) fn forget(&self, key: &str) {
        self.0.remove(key);
    }

    /// True if it happened within this time.
    pub(crate) fn is_noted(&self, key: &str, time: Duration, ambient: &dyn Ambient) -> bool {
        self.0.get(key).is_some_and(|noted| noted.is_within(time, ambient))
    }
}

/// A moment on both clocks.
///
/// A process may be frozen for hours between two requests, and its monotonic clock may stand still meanwhile. The wall
/// clock may be set back. So an age is trusted only if both clocks agree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    wall: Duration,
    monotonic: Duration,
}

impl Sent {
    pub(crate) fn now(ambient: &dyn Ambient) -> Self {
        Self { wall: ambient.since_epoch(), monotonic: ambient.monotonic() }
    }

    pub(crate) fn is_within(self, age: Duration, ambient: &dyn Ambient) -> bool {
        let young = |then: Duration, now: Duration| now.checked_sub(then).is_some_and(|passed| passed < age);
        young(self.wall, ambient.since_epoch()) && young(self.monotonic, ambient.monotonic())
    }
}
