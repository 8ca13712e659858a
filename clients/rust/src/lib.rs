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
mod place;
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
pub use lately_keys::Order;
/// The bodies of requests and responses.
pub use lately_model as model;
pub use lately_model::{
    AcceptedEvent as WrittenEvent, Fault as FieldFault, Issue as IssueView, IssueList, RejectedEvent,
};
pub use operation::{Answer, List, Operation};
pub use options::{Call, OnCall, Options, Token};
pub use problem::Problem;
pub use query::{IssueQuery, ListQuery, PageQuery, RecordQuery, SessionQuery};
pub use record::{Document, Issue, Versioned};
pub use request::Request;
pub use response::Response;
pub use timeline::Timeline;
pub use topic::{PostKey, Topic};

/// The result of a call.
pub type Result<T, E = Box<Problem>> = std::result::Result<T, E>;

/// Entries that are read as they are asked for. Nothing is sent before the first is; to end, drop the stream.
pub type Stream<T> = futures_util::stream::BoxStream<'static, Result<T>>;
