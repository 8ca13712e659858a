//! The workloads, as lists of events. The functions are pure: times and random bits come from a seed.
//!
//! For exact figures, a table must hold the events that a read returns and their neighbours in the same partitions:
//!
//! - **Steady**: 1,000 events a second at random times, for a day. Only the last minute of the day is written. The
//!   pages reach back a second, and a read of a partition stops at the end of its page. The last 15 minutes are
//!   modelled as fifteen reads of such a minute, and the figures say so.
//! - **Burst**: 20,000 events a second for five seconds, after a quarter of an hour with one event a second.
//! - **Sparse**: a month with forty events a day. All are written.
//! - **Users**: the timelines of a hundred users for one day. All events are written, as many of each user as twenty
//!   pages need.

use jiff::{SignedDuration, Timestamp};

/// The size of the workloads.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadScale {
    /// The steady rate, in events a second.
    pub(super) steady_rate: u32,
    /// The rate of the burst, in events a second.
    pub(super) burst_rate: u32,
    /// The length of the burst.
    pub(super) burst_seconds: u32,
    /// The number of events in the sparse month.
    pub(super) sparse: u32,
    /// The number of users.
    pub(super) users: u32,
    /// The number of events of each user.
    pub(super) of_each_user: u32,
    /// The time for which the burst is offered to partitions of limited rate.
    pub(super) offered_seconds: u32,
    /// The length of the part of the steady workload that is written. It divides 15 minutes evenly.
    pub(super) steady_seconds: u32,
    /// The shards of Lately's bucket at the steady rate.
    pub(super) steady_shards: u16,
    /// The number of writers in one tick.
    pub(super) writers: u32,
}

impl WorkloadScale {
    /// The size of the published figures.
    pub const FULL: Self = Self {
        steady_rate: 1_000,
        steady_seconds: 60,
        burst_rate: 20_000,
        burst_seconds: 5,
        sparse: 1_200,
        users: 100,
        of_each_user: 1_200,
        offered_seconds: 5,
        // With 1,000 events a second on average, some second of a day exceeds a partition's rate. The first such second
        // doubles the shards.
        steady_shards: 2,
        writers: 1_000,
    };
}

/// The seconds of the last 15 minutes.
pub(super) const SINCE_SECONDS: u32 = 15 * 60;

const MONTH_SECONDS: u32 = 30 * DAY_SECONDS;
const DAY_SECONDS: u32 = 24 * 60 * 60;

/// An event of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Happening {
    pub(super) at: Timestamp,
    /// The number of the event's user.
    pub(super) user: u32,
    pub(super) entropy: u128,
}

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Workload {
    Steady,
    Burst,
    Sparse,
    Users,
}

impl Workload {
    /// The workloads of topics. The fourth workload is one of users' timelines.
    pub(super) const OF_TOPICS: [Self; 3] = [Self::Steady, Self::Burst, Self::Sparse];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Burst => "burst",
            Self::Sparse => "sparse",
            Self::Users => "users",
        }
    }

    /// The end of every workload. It lies in the middle of a quarter of an hour, so the 15 minutes before it are in two
    /// quarters.
    pub(super) fn end() -> Timestamp {
        "2026-03-31T17:52:30Z".parse().expect("a time")
    }

    /// The successive spans of a workload: the length of each in seconds, and its number of events.
    fn spans(self, scale: &WorkloadScale) -> Vec<(u32, u32)> {
        match self {
            Self::Steady => vec![(scale.steady_seconds, scale.steady_seconds * scale.steady_rate)],
            Self::Burst => {
                let (quiet, burst) = (SINCE_SECONDS - scale.burst_seconds, scale.burst_seconds);
                vec![(quiet, quiet), (burst, burst * scale.burst_rate)]
            }
            Self::Sparse => vec![(MONTH_SECONDS, scale.sparse)],
            Self::Users => vec![(DAY_SECONDS, scale.users * scale.of_each_user)],
        }
    }

    /// The seconds that a read of the last 15 minutes reads, and the factor by which its price is multiplied.
    pub(super) const fn since(self, scale: &WorkloadScale) -> (u32, u64) {
        match self {
            Self::Steady => (scale.steady_seconds, (SINCE_SECONDS / scale.steady_seconds) as u64),
            Self::Burst | Self::Sparse | Self::Users => (SINCE_SECONDS, 1),
        }
    }

    /// The number of events of the workload.
    pub(super) fn len(self, scale: &WorkloadScale) -> u64 {
        self.spans(scale).iter().map(|(_, events)| u64::from(*events)).sum()
    }

    /// The events of the workload, oldest first.
    pub(super) fn happenings(self, scale: &WorkloadScale) -> impl Iterator<Item = Happening> + use<> {
        let spans = self.spans(scale);
        let seconds: u32 = spans.iter().map(|(seconds, _)| seconds).sum();
        let mut start = later(Self::end(), SignedDuration::from_secs(-i64::from(seconds)));
        let users = scale.users;
        let mut random = fastrand::Rng::with_seed(u64::from(seconds));
        spans.into_iter().flat_map(move |(seconds, events)| {
            let span = SignedDuration::from_secs(seconds.into());
            let happenings = spread(start, span, events, users, &mut random);
            start = later(start, span);
            happenings
        })
    }
}

/// The events of `seconds` seconds after the workloads' end, at `rate` events a second.
pub(super) fn offered(rate: u32, seconds: u32) -> Vec<Happening> {
    let mut random = fastrand::Rng::with_seed(rate.into());
    let span = SignedDuration::from_secs(seconds.into());
    spread(Workload::end(), span, rate * seconds, rate, &mut random)
}

/// A number of events at random nanoseconds of a span, in order. They belong to the users in turn.
fn spread(
    start: Timestamp,
    span: SignedDuration,
    events: u32,
    users: u32,
    random: &mut fastrand::Rng,
) -> Vec<Happening> {
    let nanos = i64::try_from(span.as_nanos()).expect("a month has 52 bits of nanoseconds");
    let mut times: Vec<i64> = (0..events).map(|_| random.i64(0..nanos)).collect();
    times.sort_unstable();
    let happening = |(n, at): (u32, i64)| Happening {
        at: later(start, SignedDuration::from_nanos(at)),
        user: n % users,
        entropy: random.u128(..),
    };
    (0..).zip(times).map(happening).collect()
}

/// The time that lies later by `by`, or earlier if `by` is negative.
pub(super) fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).expect("all times lie between 1970 and 9999")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_workloads_have_their_stated_sizes() {
        let scale = WorkloadScale::FULL;
        assert_eq!(Workload::Steady.len(&scale), 60_000);
        assert_eq!(Workload::Burst.len(&scale), 895 + 100_000);
        assert_eq!(Workload::Sparse.len(&scale), 1_200);
        assert_eq!(Workload::Users.len(&scale), 120_000);
    }

    #[test]
    fn events_are_in_order_and_the_burst_comes_last() {
        for workload in [Workload::Steady, Workload::Burst, Workload::Sparse, Workload::Users] {
            let all: Vec<_> = workload.happenings(&WorkloadScale::FULL).collect();
            assert_eq!(all.len() as u64, workload.len(&WorkloadScale::FULL));
            assert!(all.is_sorted_by_key(|happening| happening.at));
            assert!(all.last().unwrap().at < Workload::end());
        }
        let begin = later(Workload::end(), SignedDuration::from_secs(-5));
        let burst = Workload::Burst.happenings(&WorkloadScale::FULL);
        assert_eq!(burst.filter(|happening| happening.at >= begin).count(), 100_000);
        let offered = offered(7, 3);
        assert_eq!(offered.len(), 21);
        assert!(offered.iter().all(|happening| happening.at >= Workload::end()));
    }

    #[test]
    fn all_users_have_the_same_number_of_events() {
        let mut of_user = vec![0; 100];
        Workload::Users
            .happenings(&WorkloadScale::FULL)
            .for_each(|happening| of_user[happening.user as usize] += 1);
        assert!(of_user.iter().all(|events| *events == 1_200));
    }

    #[test]
    fn a_workload_is_the_same_every_time() {
        let run = || Workload::Sparse.happenings(&WorkloadScale::FULL).collect::<Vec<_>>();
        assert_eq!(run(), run());
    }
}
