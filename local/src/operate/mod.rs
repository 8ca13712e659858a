//! An operator's commands: they work on the table itself, with AWS credentials.

mod dead_letters;
pub mod dlq;
pub(crate) mod feed_repair;
pub mod import;
pub mod migrate;
pub mod report;
mod table;
pub mod token;

pub use feed_repair::FeedError;
