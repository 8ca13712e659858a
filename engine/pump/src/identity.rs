//! The ids that Lambda draws at random. Here each id is derived from the name of the thing that it identifies.
//!
//! So the same seed and records give the same ids, and a step that is repeated after a restart uses the same id.

use uuid::{Builder, Uuid};

use lately_engine::seed;

/// Id namespace for event-source mappings.
pub(crate) const MAPPING: u64 = 1;
/// Id namespace for requests.
pub(crate) const REQUEST: u64 = 2;
/// Id namespace for objects in the destination.
pub(crate) const OBJECT: u64 = 3;

/// The `number`-th id of a kind for the thing called `name`.
pub(crate) fn uuid(kind: u64, name: &str, number: u64) -> Uuid {
    let name = seed::hash(name);
    let half = |half: u64| u128::from(seed::draw(name, kind << 1 | half, number));
    Builder::from_random_bytes((half(0) << 64 | half(1)).to_be_bytes()).into_uuid()
}
