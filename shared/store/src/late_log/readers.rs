//! The readers of a topic, and the rule that says which events are late for them. Pure.

use lately_items::Announcement;
use lately_keys::{EventId, UnixMillis};

use crate::limits::{ASCENDING_LAG_MILLIS, CLOCK_SKEW_MILLIS, FOLLOWERS_SKEW_MILLIS};

/// DynamoDB reports the time of a change in whole seconds, rounded down.
const ROUNDED_MILLIS: u64 = 999;

/// Those who read a topic in order, as they announced themselves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readers {
    pub(crate) consumers: Vec<Announcement>,
    /// True if the topic is followed live.
    pub(crate) is_watched: bool,
}

impl Readers {
    /// True if a reader may have passed an event before it was stored. `stored_at` is the time that the stream reports.
    pub(crate) fn may_have_passed(&self, id: EventId, stored_at: UnixMillis) -> bool {
        let by_follower =
            self.is_watched && is_stored_after(stored_at, id, ASCENDING_LAG_MILLIS, FOLLOWERS_SKEW_MILLIS);
        by_follower || self.consumers.iter().any(|consumer| may_pass(consumer, id, stored_at))
    }
}

/// True if a consumer may have passed an event before it was stored.
fn may_pass(consumer: &Announcement, id: EventId, stored_at: UnixMillis) -> bool {
    if id <= consumer.start {
        return false;
    }
    if Some(id) <= consumer.passed {
        return true;
    }
    is_stored_after(stored_at, id, consumer.settle.millis(), CLOCK_SKEW_MILLIS)
}

/// True if an event may have been stored after a reader passed it. The reader waits for so long after the event's time,
/// by a clock that may be ahead of DynamoDB's by `skew`.
fn is_stored_after(stored_at: UnixMillis, id: EventId, waits: u64, skew: u64) -> bool {
    let latest = stored_at.get().saturating_add(ROUNDED_MILLIS);
    latest.saturating_add(skew) >= id.at().get().saturating_add(waits)
}

#[cfg(test)]
mod tests {
    use lately_items::AnnouncementKey;
    use lately_model::{Revision, SettleSeconds};

    use super::*;

    const DAY: u64 = 1_773_489_600_000;

    fn at(millis: u64) -> UnixMillis {
        UnixMillis::new(DAY + millis).unwrap()
    }

    fn id(millis: u64) -> EventId {
        EventId::first_of(at(millis))
    }

    fn consumer(settle: u16) -> Announcement {
        Announcement {
            key: AnnouncementKey { topic: "billing".parse().unwrap(), name: "nightly".parse().unwrap() },
            incarnation: Revision::new(7),
            start: EventId::MIN,
            settle: SettleSeconds::new(settle).unwrap(),
            passed: None,
            has_runs: false,
            is_ended: false,
        }
    }

    #[test]
    fn an_event_is_late_if_it_was_stored_when_a_reader_may_have_passed_it() {
        // A consumer that waits for 10 s passes the event at 10 s by its own clock, so not before 5 s by DynamoDB's.
        for (stored_at, is_late) in [(0, false), (4_000, false), (5_000, true), (60_000, true)] {
            assert_eq!(may_pass(&consumer(10), id(0), at(stored_at)), is_late, "{stored_at}");
        }
        // The stream rounds the time of the write down to whole seconds.
        assert!(may_pass(&consumer(10), id(999), at(5_000)));
        assert!(!may_pass(&consumer(10), id(1_000), at(5_000)));
        // A consumer that waits for less than the clocks may differ may have passed any event.
        assert!(may_pass(&consumer(5), id(0), at(0)));
    }

    #[test]
    fn events_up_to_a_sought_position_may_be_passed_at_any_time() {
        let sought = Announcement { start: id(1_000), passed: Some(id(3_000)), ..consumer(60) };
        let is_late = |millis| may_pass(&sought, id(millis), at(millis));
        assert_eq!([500, 1_000, 2_000, 3_000, 4_000].map(is_late), [false, false, true, true, false]);
    }

    #[test]
    fn the_reader_that_waits_for_the_shortest_time_decides() {
        let mut readers = Readers { consumers: vec![consumer(60), consumer(10)], is_watched: false };
        assert!(!readers.may_have_passed(id(0), at(1_000)));
        readers.is_watched = true;
        // A follower reads two seconds behind.
        assert!(readers.may_have_passed(id(0), at(1_000)));
        assert!(!readers.may_have_passed(id(500), at(0)));
        assert!(!Readers::default().may_have_passed(id(0), at(60_000)));
    }
}
