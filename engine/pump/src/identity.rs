//! Ids that Lambda draws at random, drawn from what they name.
//!
//! The same seed and records give the same ids, and what is done again after a restart is named the same.

use uuid::{Builder, Uuid};

use lately_engine::seed;

/// A kind of id: of mappings,
pub(crate) const MAPPING: u64 = 1;
/// of requests,
pub(crate) const REQUEST: u64 = 2;
/// of objects in the destination.
pub(crate) const OBJECT: u64 = 3;

/// The `number`-th id of a kind for what is called `name`.
pub(crate) fn uuid(kind: u64, name: &str, number: u64) -> Uuid {
    let name = seed::hash(name);
    let half = |half: u64| u128::from(seed::draw(name, kind << 1 | half, number));
    Builder::from_random_bytes((half(0) << 64 | half(1)).to_be_bytes()).into_uuid()
}
