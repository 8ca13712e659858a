//! The conditions of the simulations, beyond faults: each of them has broken a rule once.
//!
//! The suite runs with [`Knobs::SUITE`], the strongest values with which every rule holds. [`Knobs::FULL`] has the
//! values that occur on AWS. A change that mends a rule raises the value of the suite.

use std::time::Duration;

use lately_engine::PartitionLimits;

/// A batch is answered within this time, although a partition is hot.
pub(crate) const ANSWERED_WITHIN: Duration = Duration::from_secs(6);

/// The conditions of a story.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Knobs {
    /// The read units that a partition serves a second, in some stories.
    pub(crate) read_units: Option<u32>,
    /// One shard of the stream is delivered this long after the others, in some stories.
    pub(crate) shard_behind: Duration,
    /// That shard's records are redriven by an operator after this time instead, when TTL has removed what has expired.
    pub(crate) redriven_after: Option<Duration>,
    /// A deleted topic's name is used again while that shard is still behind.
    pub(crate) reuses_names: bool,
    /// A topic gets a shorter retention while a client follows it.
    pub(crate) shortens_retention: bool,
    /// Users follow an actor between two stages of the actor's erasure.
    pub(crate) follows_during_erasure: bool,
    /// A user whose events stay is erased while a shard of the stream is behind.
    pub(crate) erases_users_alone: bool,
    /// The erased person has opened an issue, whose event's record may be behind.
    pub(crate) opens_issues: bool,
    /// Writes arrive almost two seconds after the times of their events.
    pub(crate) writes_slowly: bool,
    /// The longest time by which the index by type is behind.
    pub(crate) index_lag: Duration,
}

impl Knobs {
    /// The strongest conditions under which every rule holds.
    pub(crate) const SUITE: Self = Self {
        // Fewer units than one step reads: its work goes round and round, and takes hours.
        read_units: Some(10),
        // Breaks: a record that is redriven reaches all followers.
        redriven_after: None,
        // Breaks: an event of a deleted topic is not in the next topic of its name.
        reuses_names: false,
        // Breaks: a stream shows no event that a shorter retention hides.
        shortens_retention: false,
        // Breaks: followers get the new events of an actor who was erased before.
        follows_during_erasure: false,
        // Breaks: nothing is left of an erased person, when a record comes after the end.
        erases_users_alone: false,
        // Breaks: an issue forgets the name of an erased person.
        opens_issues: false,
        // Breaks: a stream tells every event of its topic, in time or as late.
        writes_slowly: false,
        // Breaks: an oldest-first page of a type skips no event.
        index_lag: Duration::from_secs(2),
        ..Self::FULL
    };

    /// The conditions that occur on AWS.
    pub(crate) const FULL: Self = Self {
        read_units: Some(1),
        shard_behind: Duration::from_secs(180),
        redriven_after: Some(Duration::from_secs(3 * 24 * 60 * 60)),
        reuses_names: true,
        shortens_retention: true,
        follows_during_erasure: true,
        erases_users_alone: true,
        opens_issues: true,
        writes_slowly: true,
        index_lag: Duration::from_secs(5),
    };

    /// The limits of partitions that serve few reads, but as many as a live stream needs.
    pub(crate) fn partitions_of_streams(self) -> Option<PartitionLimits> {
        let read_units = 4 * self.read_units?;
        Some(PartitionLimits { read_units, ..PartitionLimits::default() })
    }

    /// The limits of partitions that serve few reads.
    pub(crate) fn partitions(self) -> Option<PartitionLimits> {
        let read_units = self.read_units?;
        Some(PartitionLimits { read_units, ..PartitionLimits::default() })
    }
}
