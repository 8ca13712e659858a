//! An operator's commands. They access the table directly: the local program's, or a stack's with AWS credentials.

mod dead_letters;
pub(crate) mod dlq;
pub(crate) mod erasure;
pub(crate) mod feed_repair;
pub(crate) mod migrate;
pub(crate) mod report;
pub(crate) mod table;
pub(crate) mod token;
pub(crate) mod work;
