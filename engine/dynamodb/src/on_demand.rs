//! The capacity of an on-demand table or index: its partitions, which split, and its peak.
//!
//! A new table has four partitions. The hash of a key decides to which partition the key belongs. A partition whose
//! units were used up for [`HOT_MINUTES`] splits into two halves. The table as a whole serves at most twice the peak of
//! the last half hour, and never less than its first partitions serve.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::partition::AccessKind;

/// The minutes for which a partition must be hot before it splits. DynamoDB documents no figure.
const HOT_MINUTES: u32 = 5;

/// A partition is hot in a minute in which this share of its units was used.
const HOT_SHARE: f64 = 0.9;

/// The minutes whose peak limits a table.
const PEAK_MINUTES: u64 = 30;

const MINUTE_MICROS: u64 = 60_000_000;

/// The capacity of a table, and of each of its indexes, as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableCapacity {
    /// The table has no limit. Each partition key has a partition of its own.
    Unbounded,
    /// A table with on-demand capacity.
    OnDemand {
        /// The partitions that it has at first.
        partitions: u16,
    },
}

impl TableCapacity {
    /// A new on-demand table: it serves 4,000 write units and 12,000 read units a second.
    pub const NEW: Self = Self::OnDemand { partitions: 4 };
}

/// The hash of a partition key.
pub(crate) fn hash(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// The partitions and the use of an on-demand table or index.
#[derive(Debug)]
pub(crate) struct OnDemandTable {
    first_partitions: f64,
    /// The partitions, by the lowest hash of their keys.
    partitions: BTreeMap<u64, Heat>,
    /// The used units of the last minutes in which there were any, oldest first.
    minutes: VecDeque<Used>,
}

/// The units that were used in one minute, by the kind of access.
#[derive(Debug, Clone, Copy, Default)]
struct Used {
    minute: u64,
    units: [f64; 2],
}

/// The use of a partition in the last minute that had any, and the number of hot minutes directly before it.
#[derive(Debug, Clone, Copy, Default)]
struct Heat {
    used: Used,
    hot_minutes: u32,
}

impl OnDemandTable {
    pub(crate) fn new(partitions: u16) -> Self {
        let width = u64::MAX / u64::from(partitions.max(1));
        let starts = (0..u64::from(partitions.max(1))).map(|number| (number * width, Heat::default()));
        Self {
            first_partitions: f64::from(partitions.max(1)),
            partitions: starts.collect(),
            minutes: VecDeque::new(),
        }
    }

    /// The partition of a key: the lowest hash of its keys.
    pub(crate) fn partition(&self, hash: u64) -> u64 {
        self.partitions.range(..=hash).next_back().map_or(0, |(start, _)| *start)
    }

    /// The units that the table serves a second, if each partition serves `rate`.
    pub(crate) fn rate(&self, kind: AccessKind, rate: f64, now_micros: u64) -> f64 {
        let now = now_micros / MINUTE_MICROS;
        let recent =
            self.minutes.iter().filter(|used| used.minute < now && used.minute + PEAK_MINUTES >= now);
        let peak = recent.map(|used| used.units[kind as usize] / 60.0).fold(0.0, f64::max);
        (2.0 * peak).max(self.first_partitions * rate)
    }

    /// Notes that a key of this hash has used units. Its partition splits if it has been hot for minutes.
    pub(crate) fn note(&mut self, hash: u64, kind: AccessKind, units: f64, rate: f64, now_micros: u64) {
        let minute = now_micros / MINUTE_MICROS;
        if self.minutes.back().is_none_or(|used| used.minute != minute) {
            self.minutes.push_back(Used { minute, ..Used::default() });
            self.minutes.retain(|used| used.minute + PEAK_MINUTES >= minute);
        }
        if let Some(used) = self.minutes.back_mut() {
            used.units[kind as usize] += units;
        }
        let start = self.partition(hash);
        let end = self.partitions.range(start..).nth(1).map_or(u64::MAX, |(next, _)| *next);
        let heat = self.partitions.entry(start).or_default();
        if heat.used.minute != minute {
            let is_hot =
                heat.used.minute + 1 == minute && heat.used.units[kind as usize] >= HOT_SHARE * 60.0 * rate;
            let hot_minutes = if is_hot { heat.hot_minutes + 1 } else { 0 };
            *heat = Heat { used: Used { minute, ..Used::default() }, hot_minutes };
        }
        heat.used.units[kind as usize] += units;
        if heat.hot_minutes >= HOT_MINUTES {
            *heat = Heat::default();
            self.partitions.insert(start + (end - start) / 2, Heat::default());
        }
    }
}
