//! The requests that clients may send, and the responses that they get.
//!
//! Bodies and query strings are parsed here, once, into types that cannot hold invalid values. A refusal lists every
//! fault at once, each with its path. This crate knows no AWS, no clock and no random source: the time is an argument,
//! so tests can reach everything in it.
//!
//! ```
//! use lately_model::{AcceptedTimes, Batch, BatchError, BodyForm};
//!
//! let now = "2026-11-20T09:30:00Z".parse()?;
//! let times = AcceptedTimes::new(now, None);
//!
//! let body = br#"{"type": "post.created", "actor": "ada", "data": {"words": 1.10}}"#;
//! let batch = Batch::parse(body, BodyForm::Json, times)?;
//! assert!(batch.single);
//! assert_eq!(batch.events[0].data.as_ref().unwrap().as_str(), r#"{"words": 1.10}"#);
//!
//! let body = br#"[{"type": "post.created", "actor": "ada"}, {"type": "Post", "colour": "red"}]"#;
//! let Err(BatchError::Invalid(faults)) = Batch::parse(body, BodyForm::Json, times) else { panic!() };
//! let paths: Vec<_> = faults.iter().map(|fault| fault.path.as_str()).collect();
//! assert_eq!(paths, ["/1/colour", "/1/type", "/1/actor"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to look
//!
//! | for | see |
//! | --- | --- |
//! | events in requests | [`Batch`], [`NewEvent`], [`AcceptedTimes`] |
//! | events in responses | [`Event`], [`TimelineEvent`], [`Page`], [`FeedPage`], [`Stored`], [`Accepted`], [`PartlyAccepted`] |
//! | an event's data | [`Data`] |
//! | query strings | [`EventQuery`], [`SourceQuery`], [`FeedQuery`], [`ListQuery`], [`SessionQuery`], [`RevocationQuery`], [`DeletionQuery`], [`RecordQuery`], [`PageSize`], [`TimeRange`] |
//! | topics | [`TopicChange`], [`TopicSettings`], [`TopicView`], [`Views`], [`RetentionDays`] |
//! | records | [`Document`], [`Revision`], [`Precondition`] |
//! | issues | [`NewIssue`], [`IssueChange`], [`Issue`], [`IssueQuery`], [`IssueList`], [`Labels`], [`issue_opened`], [`issue_changed`], [`reported_issue`] |
//! | sessions | [`NewSession`], [`Session`], [`Scope`], [`Scopes`], [`RateLimits`] |
//! | faults | [`BodyError`], [`Fault`], [`Faults`], [`Malformed`] |
//! | consumers | [`NewConsumer`], [`PollRequest`], [`Polled`], [`Commit`], [`Seek`], [`ConsumerView`] |
//! | reports | [`RunSpec`], [`RunView`], [`RunFiles`] |
//! | ends | [`TopicDeletion`], [`DeletionPreview`], [`NewErasure`], [`Erasure`], [`ErasureList`], [`ErasureReceipt`] |
//! | following | [`Backfill`], [`FollowingList`], [`FollowerList`], [`SourceView`] |

#![deny(missing_docs)]

mod accepted;
mod batch;
mod body;
mod bounded;
mod consumer;
mod data;
mod document;
mod ending;
mod event;
mod fault;
mod fields;
mod follow;
mod health;
mod issue;
pub mod limits;
mod malformed;
mod page;
mod query;
mod rate;
mod retention;
mod revision;
mod run;
mod run_spec;
#[cfg(feature = "document")]
mod schemas;
mod scope;
mod seen;
mod session;
mod text;
mod timeline;
mod times;
mod topic;
mod views;

pub use accepted::{Accepted, AcceptedEvent, PartlyAccepted, RejectedEvent, Stored};
pub use batch::{Batch, BatchError, BodyForm};
pub use body::BodyError;
pub use consumer::{
    BatchToken, BatchTokenError, Commit, ConsumerView, NewConsumer, PollLimit, PollLimitError, PollRequest,
    Polled, Seek, SeekTo, SeekToError, SettleSeconds, SettleSecondsError, Start, StartError,
};
pub use data::{Data, DataError};
pub use document::Document;
pub use ending::{
    DeletionPreview, DeletionQuery, EndingState, Erasure, ErasureCounts, ErasureList, ErasureReceipt,
    ErasureState, NewErasure, TopicDeletion,
};
pub use event::{Event, NewEvent};
pub use fault::{Fault, Faults};
pub use follow::{
    Backfill, BackfillError, Follow, FollowView, FollowerList, FollowerView, FollowingList, SourceMode,
    SourceView,
};
pub use health::Health;
pub use issue::{
    ISSUES_TOPIC, Issue, IssueBody, IssueBodyError, IssueChange, IssueList, IssueQuery, IssueTitle,
    IssueTitleError, IssueView, IssuesAwaited, Label, LabelError, Labels, LabelsError, NewIssue,
    issue_changed, issue_opened, reported_issue,
};
pub use malformed::Malformed;
pub use page::{Page, PageSize, PageSizeError, WaitSeconds, WaitSecondsError};
pub use query::{
    EventQuery, FeedQuery, ListQuery, LiveQuery, NoQuery, QueryString, RecordQuery, RevocationQuery,
    SessionQuery, SourceLiveQuery, SourceQuery, TimeRange, TimeRangeError,
};
pub use rate::{RateLimits, RequestsPerMinute, RequestsPerMinuteError};
pub use retention::{RetentionDays, RetentionDaysError};
pub use revision::{Precondition, PreconditionError, Revision};
pub use run::{RunFiles, RunList, RunView};
pub use run_spec::{GroupBy, GroupByError, RunSpec, SumField, SumFieldError};
#[cfg(feature = "document")]
pub use schemas::{NewEvents, OpenApiDocument};
pub use scope::{Scope, ScopeError, Scopes};
pub use seen::Seen;
pub use session::{
    NewSession, OwnSession, RevokedSessions, Session, SessionList, SessionToken, TtlSeconds, TtlSecondsError,
};
pub use timeline::{FeedPage, PageUnread, TimelineEvent, Unread};
pub use times::{AcceptedTimes, AtError};
pub use topic::{
    BucketView, RetentionChange, TopicChange, TopicFault, TopicList, TopicSettings, TopicSummary, TopicView,
};
pub use views::{View, ViewError, Views};
