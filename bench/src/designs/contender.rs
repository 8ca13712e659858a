//! The contenders: five designs as their authors published them, and Lately.
//!
//! Two of the five are timelines of one user each. Where a topic is asked for, all its events are one such user's, which
//! is what the design offers: "the latest of everyone" it has not. The sharded day leaves the number of shards to the
//! program, for ever; it is here with four, as for a quiet program, and with 32, as one for the burst must choose.

use jiff::tz::Offset;
use lately_designs::{Design, NaturalOrder};
use lately_keys::{ShardCount, User};

/// One of those who are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contender {
    ReverseTicks,
    Chronological,
    ShardedDay { shards: u16 },
    InvertedUuid,
    QuarterHour,
    Lately,
}

/// Those who have the latest of a topic.
pub(super) const OF_TOPICS: [Contender; 7] = [
    Contender::ReverseTicks,
    Contender::Chronological,
    Contender::ShardedDay { shards: 4 },
    Contender::ShardedDay { shards: 32 },
    Contender::InvertedUuid,
    Contender::QuarterHour,
    Contender::Lately,
];

/// Those who may have timelines of users.
pub(super) const OF_USERS: [Contender; 6] = [
    Contender::ReverseTicks,
    Contender::Chronological,
    Contender::ShardedDay { shards: 4 },
    Contender::InvertedUuid,
    Contender::QuarterHour,
    Contender::Lately,
];

impl Contender {
    /// The contender's name for reads of a topic.
    pub(super) fn name(self) -> String {
        match self {
            Self::ShardedDay { shards } => format!("sharded day, {shards} shards"),
            _ => self.name_of_users().to_owned(),
        }
    }

    /// The contender's name for reads of users' timelines.
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

    /// The published design of a topic; none if it is Lately.
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

    /// The published design of a user's timeline; none if there is none, or it is Lately.
    pub(super) fn of_user(self, user: &str) -> Option<Design> {
        let user: User = user.parse().expect("a user");
        match self {
            Self::ReverseTicks => Some(Design::ReverseTicks { user }),
            Self::Chronological => Some(Design::Chronological { user, natural: NaturalOrder::NewestFirst }),
            Self::ShardedDay { .. } => Some(Design::UserMonth { user }),
            Self::InvertedUuid | Self::QuarterHour | Self::Lately => None,
        }
    }

    /// The least step of its own clock.
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
