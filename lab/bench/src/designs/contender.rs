//! The compared designs: five designs as their authors published them, and Lately.
//!
//! Two of the five, reverse ticks and chronological, only have timelines of single users, and not the latest events of
//! all users. If a workload needs a topic, these designs store all its events as those of one user. In the sharded
//! day, the program chooses the number of shards for ever. It is measured with four shards, which suit a quiet program,
//! and with 32, which the burst needs.

use jiff::tz::Offset;
use lately_designs::{Design, NaturalOrder};
use lately_keys::{ShardCount, User};

/// A compared design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contender {
    ReverseTicks,
    Chronological,
    ShardedDay { shards: u16 },
    InvertedUuid,
    QuarterHour,
    Lately,
}

/// The designs in the comparison of topics.
pub(super) const OF_TOPICS: [Contender; 7] = [
    Contender::ReverseTicks,
    Contender::Chronological,
    Contender::ShardedDay { shards: 4 },
    Contender::ShardedDay { shards: 32 },
    Contender::InvertedUuid,
    Contender::QuarterHour,
    Contender::Lately,
];

/// The designs in the comparison of users' timelines. Some of them have no such timelines.
pub(super) const OF_USERS: [Contender; 6] = [
    Contender::ReverseTicks,
    Contender::Chronological,
    Contender::ShardedDay { shards: 4 },
    Contender::InvertedUuid,
    Contender::QuarterHour,
    Contender::Lately,
];

impl Contender {
    /// The design's name in the figures of topics.
    pub(super) fn name(self) -> String {
        match self {
            Self::ShardedDay { shards } => format!("sharded day, {shards} shards"),
            _ => self.name_of_users().to_owned(),
        }
    }

    /// The design's name in the figures of users' timelines.
    pub(super) const fn name_of_users(self) -> &'static str {
        match self {
            Self::ReverseTicks => "reverse ticks",
            Self::Chronological => "chronological",
            Self::ShardedDay { .. } => "sharded day, by user and month",
            Self::InvertedUuid => "inverted UUID",
            Self::QuarterHour => "quarter hour",
            Self::Lately => "Lately",
        }
    }

    /// The published design of a topic. `None` for Lately.
    pub(super) fn of_topic(self) -> Option<Design> {
        match self {
            Self::ReverseTicks | Self::Chronological => self.of_user("everyone"),
            Self::ShardedDay { shards } => {
                Some(Design::ShardedDay { shards: ShardCount::new(shards).expect("a power of two") })
            }
            Self::InvertedUuid => Some(Design::InvertedUuid { offset: Offset::UTC }),
            Self::QuarterHour => Some(Design::QuarterHour),
            Self::Lately => None,
        }
    }

    /// The published design of a user's timeline. `None` for Lately, and for designs without such timelines.
    pub(super) fn of_user(self, user: &str) -> Option<Design> {
        let user: User = user.parse().expect("a user");
        match self {
            Self::ReverseTicks => Some(Design::ReverseTicks { user }),
            Self::Chronological => Some(Design::Chronological { user, natural: NaturalOrder::NewestFirst }),
            Self::ShardedDay { .. } => Some(Design::UserMonth { user }),
            Self::InvertedUuid | Self::QuarterHour | Self::Lately => None,
        }
    }

    /// The smallest step of the design's clock.
    pub(super) const fn tick(self) -> &'static str {
        match self {
            Self::ReverseTicks => "1 ns",
            Self::Chronological => "100 ns",
            Self::ShardedDay { .. } | Self::InvertedUuid => "1 ms",
            Self::QuarterHour => "1 s",
            Self::Lately => "1/4,096 ms",
        }
    }
}
