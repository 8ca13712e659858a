#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod batches;
mod client;
mod consumer;
mod cost;
mod feed;
mod follow;
mod operation;
mod options;
mod problem;
mod query;
mod record;
mod request;
mod response;
mod timeline;
mod topic;
mod transport;

pub use client::{Erasures, Lately, Repo, Sessions, Source};
pub use consumer::Consumer;
pub use cost::Cost;
pub use feed::{Feed, User};
pub use follow::{FollowOptions, Followed};
/// The trait that iterates [`Stream`]s: `while let Some(event) = events.try_next().await?`.
pub use futures_util::TryStreamExt;
/// The bodies of requests and responses.
pub use lately_model as model;
pub use operation::{Answer, List, Operation};
pub use options::{Call, OnCall, Options, Token};
pub use problem::{FieldFault, Problem, RejectedEvent, WrittenEvent};
pub use query::{IssueQuery, ListQuery, Order, PageQuery, RecordQuery, SessionQuery};
pub use record::{Document, Issue, IssueList, IssueView, Versioned};
pub use request::Request;
pub use response::Response;
pub use timeline::Timeline;
pub use topic::{PostKey, Topic};

/// The result of a call.
pub type Result<T, E = Box<Problem>> = std::result::Result<T, E>;

/// Entries that are read as they are asked for. Nothing is sent before the first is; to end, drop the stream.
pub type Stream<T> = futures_util::stream::BoxStream<'static, Result<T>>;
