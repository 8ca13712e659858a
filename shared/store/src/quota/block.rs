//! The part of a quota that a process has taken.

/// The requests of a minute that a process may permit without a call.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(super) left: u32,
    /// The requests that all processes have taken, when this process took its last block. A debt may exceed the limit.
    pub(super) taken: u32,
    /// The requests that the process has permitted without the item.
    pub(super) alone: u32,
}
