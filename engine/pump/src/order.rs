//! The records whose order a pump keeps.

use serde::{Deserialize, Serialize};

/// The records that a pump delivers in order: those that are always in the same lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LaneOrder {
    /// The records of an item, so of a partition key and a sort key, as Lambda does.
    #[default]
    Item,
    /// The records of a partition key. Lambda does not promise this order. It is for comparisons.
    Partition,
}
