//! The differences between the designs. All other code of this crate is the same for every design.

use crate::keys::{
    Chronological, InvertedUuid, KeyTime, KeyTypes, KeyValue, NaturalOrder, PublishedError, QuarterHour,
    ReverseTicks, ShardedDay, ShardedDayScope, SortKeys, Token, Window, WriteKey,
};
use jiff::Timestamp;
use jiff::tz::Offset;
use lately_keys::{EventId, Order, Shard, ShardCount, UnixMillis, User};

/// A timeline of one of the designs, with its user and the constants of the design's program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Design {
    /// A user's events, by nanoseconds counted down.
    ReverseTicks {
        /// The user of the timeline.
        user: User,
    },
    /// A user's events, by .NET ticks.
    Chronological {
        /// The user of the timeline.
        user: User,
        /// The direction in which ticks count.
        natural: NaturalOrder,
    },
    /// All events, by day, spread over some shards.
    ShardedDay {
        /// The number of shards. Days that were written with another number of shards must be read with that number.
        shards: ShardCount,
    },
    /// A user's events by month, with the sort keys of the sharded day.
    UserMonth {
        /// The user of the timeline.
        user: User,
    },
    /// All events, by day and by inverted UUIDv7.
    InvertedUuid {
        /// The offset from UTC at which the days begin.
        offset: Offset,
    },
    /// All events, by the quarter of an hour.
    QuarterHour,
}

impl Design {
    /// The design's name, as [`Design::event_id`] hashes it. The name never changes.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ReverseTicks { .. } => "reverse-ticks",
            Self::Chronological { .. } => "chronological",
            Self::ShardedDay { .. } => "sharded-day",
            Self::UserMonth { .. } => "user-month",
            Self::InvertedUuid { .. } => "inverted-uuid",
            Self::QuarterHour => "quarter-hour",
        }
    }

    /// The types of the key attributes of a table of this design.
    pub const fn key_types(&self) -> KeyTypes {
        match self {
            Self::ReverseTicks { .. } => ReverseTicks::KEY_TYPES,
            Self::Chronological { .. } => Chronological::KEY_TYPES,
            Self::ShardedDay { .. } | Self::UserMonth { .. } => ShardedDay::KEY_TYPES,
            Self::InvertedUuid { .. } => InvertedUuid::KEY_TYPES,
            Self::QuarterHour => QuarterHour::KEY_TYPES,
        }
    }

    /// The order of a partition that is not read in reverse.
    pub const fn natural_order(&self) -> Order {
        match self {
            Self::ReverseTicks { .. }
            | Self::Chronological { natural: NaturalOrder::NewestFirst, .. }
            | Self::InvertedUuid { .. } => Order::NewestFirst,
            Self::Chronological { natural: NaturalOrder::OldestFirst, .. }
            | Self::ShardedDay { .. }
            | Self::UserMonth { .. }
            | Self::QuarterHour => Order::OldestFirst,
        }
    }

    /// The key under which an event of a time is written. `entropy` has random bits for the parts that a design leaves
    /// to chance: an id, a shard and a name, or a token. The first two designs leave nothing to chance.
    ///
    /// # Errors
    /// [`PublishedError::Range`] if the design has no key for the time.
    pub fn write_key(&self, at: Timestamp, entropy: u128) -> Result<WriteKey, PublishedError> {
        match self {
            Self::ReverseTicks { user } => Ok(ReverseTicks::new(user.clone(), at)?.write_key()),
            Self::Chronological { user, natural } => {
                Ok(Chronological::new(user.clone(), at)?.write_key(*natural))
            }
            Self::ShardedDay { shards } => {
                let [low, ..] = entropy.to_le_bytes();
                sharded_day(ShardedDayScope::Day(shards.pick(low.into())), at, entropy)
            }
            Self::UserMonth { user } => sharded_day(ShardedDayScope::UserMonth(user.clone()), at, entropy),
            Self::InvertedUuid { offset } => {
                let millis = UnixMillis::from_nanos(at.as_nanosecond());
                let millis = millis.map_err(|_| PublishedError::Range { until: "9999-12-30" })?;
                let id = EventId::import(millis, Shard::from(0), entropy);
                Ok(InvertedUuid::new(id.as_uuid(), *offset)?.write_key())
            }
            Self::QuarterHour => Ok(QuarterHour::new(at, Token::from_entropy(entropy))?.write_key()),
        }
    }

    /// The time in a sort key, as exact as the design stores it.
    ///
    /// # Errors
    /// [`PublishedError::Key`] if the sort key is not of this design.
    pub fn time_of(&self, sk: &KeyValue) -> Result<Timestamp, PublishedError> {
        match (self, sk) {
            (Self::ReverseTicks { .. }, KeyValue::N(sk)) => ReverseTicks::time_of(*sk),
            (Self::Chronological { natural, .. }, KeyValue::S(sk)) => Chronological::time_of(sk, *natural),
            (Self::ShardedDay { .. } | Self::UserMonth { .. }, KeyValue::S(sk)) => ShardedDay::time_of(sk),
            (Self::InvertedUuid { .. }, KeyValue::S(sk)) => InvertedUuid::time_of(sk),
            (Self::QuarterHour, KeyValue::S(sk)) => QuarterHour::time_of(sk),
            _ => Err(PublishedError::Key),
        }
    }

    /// The id under which the event of a key is imported, into buckets of `shards` shards. The id is always the same.
    ///
    /// # Errors
    /// [`PublishedError::Key`] if the sort key is not of this design, [`PublishedError::Range`] if no id has this time.
    pub fn event_id(&self, key: &WriteKey, shards: ShardCount) -> Result<EventId, PublishedError> {
        let time = match (self, &key.sk) {
            (Self::InvertedUuid { .. }, KeyValue::S(sk)) => {
                KeyTime::of_uuid(EventId::of_sort_key(sk).ok_or(PublishedError::Key)?)
            }
            (Self::ReverseTicks { .. } | Self::Chronological { .. }, sk) => {
                KeyTime::to_the_nanosecond(self.time_of(sk)?)?
            }
            (_, sk) => KeyTime::to_the_millisecond(self.time_of(sk)?)?,
        };
        Ok(time.event_id(self.name(), key, shards))
    }

    /// True if the design's partitions have an end. If so, only a walk finds the partitions that hold events.
    pub fn is_windowed(&self) -> bool {
        self.window(Timestamp::UNIX_EPOCH) != Window::ALL
    }

    /// The times that share the partitions of a time.
    pub(crate) fn window(&self, at: Timestamp) -> Window {
        match self {
            Self::ReverseTicks { .. } | Self::Chronological { .. } => Window::ALL,
            Self::ShardedDay { .. } => ShardedDay::window(at),
            Self::UserMonth { .. } => ShardedDay::user_window(at),
            Self::InvertedUuid { offset } => InvertedUuid::window(at, *offset),
            Self::QuarterHour => QuarterHour::window(at),
        }
    }

    /// The partitions of a time.
    pub(crate) fn partitions(&self, at: Timestamp) -> Vec<KeyValue> {
        match self {
            Self::ReverseTicks { user } => ReverseTicks::partitions(user, at, at).collect(),
            Self::Chronological { user, .. } => Chronological::partitions(user, at, at).collect(),
            Self::ShardedDay { shards } => ShardedDay::partitions(*shards, at, at).collect(),
            Self::UserMonth { user } => ShardedDay::user_partitions(user, at, at).collect(),
            Self::InvertedUuid { offset } => InvertedUuid::partitions(at, at, *offset).collect(),
            Self::QuarterHour => QuarterHour::partitions(at, at).collect(),
        }
    }

    /// The sort keys of a range of time.
    pub(crate) fn sort_keys(&self, first: Timestamp, last: Timestamp) -> Option<SortKeys> {
        match self {
            Self::ReverseTicks { .. } => ReverseTicks::sort_keys(first, last),
            Self::Chronological { natural, .. } => Chronological::sort_keys(first, last, *natural),
            Self::ShardedDay { .. } | Self::UserMonth { .. } => ShardedDay::sort_keys(first, last),
            Self::InvertedUuid { .. } => InvertedUuid::sort_keys(first, last),
            Self::QuarterHour => QuarterHour::sort_keys(first, last),
        }
    }
}

fn sharded_day(scope: ShardedDayScope, at: Timestamp, entropy: u128) -> Result<WriteKey, PublishedError> {
    Ok(ShardedDay::new(scope, at, &format!("evt-{:08x}", entropy >> 96))?.write_key())
}
