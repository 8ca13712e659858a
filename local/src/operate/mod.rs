//! An operator's commands. They access the table directly: the local program's, or a stack's with AWS credentials.

mod dead_letters;
pub mod dlq;
pub(crate) mod erasure;
pub(crate) mod feed_repair;
pub mod migrate;
pub mod report;
mod table;
pub mod token;
pub mod work;

pub use erasure::ErasureCheckError;
pub use feed_repair::FeedError;
pub use table::TableTargetError;
