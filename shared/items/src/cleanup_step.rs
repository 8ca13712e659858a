//! The next step of the cleanup of a feed: it removes the entries of the sources that the user left.
//!
//! ```text
//! table   pk  JOB#CLEANUP#{user}    sk  STEP
//!   begun N (milliseconds), step N (its number), extended N (how often sources were added)
//!   left SS? (sources that the user left since the walk began), left_all BOOL? (more of them than an item should list)
//!   walked SS?, walked_all BOOL? (the same of this walk)
//!   behind S? (the id of the oldest entry that this walk has looked at)
//! ```
//!
//! A feed has at most one cleanup. Another unfollow adds its source to `left`, and changes neither the step's number nor
//! its place, so no step loses against it. A walk takes what `left` holds when it begins, and the next walk takes the rest.

use std::collections::BTreeSet;

use lately_keys::{EventId, Source, User};

use crate::item::Item;
use crate::key::key;
use crate::record::{Record, record};
use crate::work::StepName;

key! {
    /// The item with the next step of a feed's cleanup.
    pub struct CleanupStepKey {
        /// The user.
        pub user: User,
    }
    Table: pk "JOB#CLEANUP#{user}" sk "STEP"
}

record! {
    /// The next step of a feed's cleanup.
    pub struct CleanupStep {
        /// The user.
        pub user: User = of_key,
        /// The step's name.
        pub name: StepName = part,
        /// The number of times that sources were added.
        pub extended: u64 = required(EXTENDED = "extended"),
        /// The sources that the user left since the walk began. The next walk is for them.
        pub left: Option<BTreeSet<Source>> = optional(LEFT = "left"),
        /// True if the user left more sources than `left` holds. The next walk looks at the entries of all sources.
        pub left_all: bool = flag(LEFT_ALL = "left_all"),
        /// The sources that this walk is for; `None` before it begins.
        pub walked: Option<BTreeSet<Source>> = optional(WALKED = "walked"),
        /// True if this walk looks at the entries of all sources.
        pub walked_all: bool = flag(WALKED_ALL = "walked_all"),
        /// The oldest entry that the walk has looked at; `None` before its first step ends.
        pub behind: Option<EventId> = optional(BEHIND = "behind"),
    }
    key CleanupStepKey { user }
}

impl CleanupStep {
    /// The step's item.
    pub fn encode(&self) -> Item {
        self.add_to(Item::at(&CleanupStepKey { user: self.user.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ID, millis};

    #[test]
    fn golden_bytes() {
        let ada: Source = "actor:ada".parse().unwrap();
        let step = CleanupStep {
            user: "bob".parse().unwrap(),
            name: StepName::first(millis(1_000_500)),
            extended: 1,
            left: None,
            left_all: true,
            walked: Some(BTreeSet::from([ada.clone()])),
            walked_all: false,
            behind: ID.parse().ok(),
        };
        let expected = Item::from([("pk", "JOB#CLEANUP#bob"), ("sk", "STEP")])
            .with("begun", 1_000_500_u64)
            .with("step", 0_u64)
            .with("extended", 1_u64)
            .with("left_all", true)
            .with("walked", &BTreeSet::from([ada]))
            .with("behind", ID);
        assert_eq!(step.encode(), expected);
        assert_eq!(CleanupStep::decode(&step.encode()), Ok(step));
    }
}
