//! The workloads, as events that happen. Pure: times and random bits come from a seed.
//!
//! What must be stored for an answer to be exact is what is read, and what lies in the same partitions around it:
//!
//! - **Steady**: 1,000 events a second at random times, a day long. Of the day, its last minute is made: pages go back a
//!   second, and in a partition what lies behind a page is not read. What came since 15 minutes ago is fifteen such minutes,
//!   each read by itself: that figure is modelled, and says so.
//! - **Burst**: 20,000 a second for five seconds, after a quarter of an hour of one a second.
//! - **Sparse**: a month of forty events a day, all of them.
//! - **Users**: a hundred users' timelines of one day, all of them: as many events of each as twenty pages need.

use jiff::{SignedDuration, Timestamp};

/// The size of the workloads.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadScale {
    /// Events a second, steadily.
    pub(super) steady_rate: u32,
    /// Events a second in the burst.
    pub(super) burst_rate: u32,
    /// The length of the burst.
    pub(super) burst_seconds: u32,
    /// Events of the month.
    pub(super) sparse: u32,
    /// Users.
    pub(super) users: u32,
    /// Events of each of them.
    pub(super) of_each_user: u32,
    /// The time for which the burst is offered to partitions of limited rate.
    pub(super) offered_seconds: u32,
    /// How much of that is made: all that is read since 15 minutes ago, or a whole part of it.
    pub(super) steady_seconds: u32,
    /// Shards that Lately has at the steady rate.
    pub(super) steady_shards: u16,
    /// Writers in one tick.
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
        // 1,000 a second on average is more than a partition takes in some seconds of a day: the first of them doubles it.
        steady_shards: 2,
        writers: 1_000,
    };
}

/// How many seconds are read by who reads since 15 minutes ago.
pub(super) const SINCE_SECONDS: u32 = 15 * 60;

const MONTH_SECONDS: u32 = 30 * DAY_SECONDS;
const DAY_SECONDS: u32 = 24 * 60 * 60;

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Happening {
    pub(super) at: Timestamp,
    /// The user of the event, where users are told apart.
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
    /// The topic's; users are another question.
    pub(super) const OF_TOPICS: [Self; 3] = [Self::Steady, Self::Burst, Self::Sparse];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Burst => "burst",
            Self::Sparse => "sparse",
            Self::Users => "users",
        }
    }

    /// When everything has happened: in the middle of a quarter of an hour, so that the 15 minutes before are two quarters.
    pub(super) fn end() -> Timestamp {
        "2026-03-31T17:52:30Z".parse().expect("a time")
    }

    /// The spans of a workload, one after the other: how many seconds, and how many events happen in them.
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

    /// How many seconds are read by who reads since 15 minutes ago, and how often that is to be counted.
    pub(super) const fn since(self, scale: &WorkloadScale) -> (u32, u64) {
        match self {
            Self::Steady => (scale.steady_seconds, (SINCE_SECONDS / scale.steady_seconds) as u64),
            Self::Burst | Self::Sparse | Self::Users => (SINCE_SECONDS, 1),
        }
    }

    /// The number of events.
    pub(super) fn len(self, scale: &WorkloadScale) -> u64 {
        self.spans(scale).iter().map(|(_, events)| u64::from(*events)).sum()
    }

    /// All of it, oldest first.
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

/// The events of so many seconds from the end on, at so many a second.
pub(super) fn offered(rate: u32, seconds: u32) -> Vec<Happening> {
    let mut random = fastrand::Rng::with_seed(rate.into());
    let span = SignedDuration::from_secs(seconds.into());
    spread(Workload::end(), span, rate * seconds, rate, &mut random)
}

/// So many events at random nanoseconds of a span, in their order; users in turn.
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

/// So much later, or earlier.
pub(super) fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).expect("nothing happens before 1970 or after 9999")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_workloads_are_what_they_say() {
        let scale = WorkloadScale::FULL;
        assert_eq!(Workload::Steady.len(&scale), 60_000);
        assert_eq!(Workload::Burst.len(&scale), 895 + 100_000);
        assert_eq!(Workload::Sparse.len(&scale), 1_200);
        assert_eq!(Workload::Users.len(&scale), 120_000);
    }

    #[test]
    fn events_happen_in_order_before_the_end_and_the_burst_comes_last() {
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
    fn users_have_as_many_events_each() {
        let mut of_user = vec![0; 100];
        Workload::Users
            .happenings(&WorkloadScale::FULL)
            .for_each(|happening| of_user[happening.user as usize] += 1);
        assert!(of_user.iter().all(|events| *events == 1_200));
    }

    #[test]
    fn a_run_is_the_same_every_time() {
        let run = || Workload::Sparse.happenings(&WorkloadScale::FULL).collect::<Vec<_>>();
        assert_eq!(run(), run());
    }
}
