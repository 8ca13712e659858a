//! The subjects of a request: a method of [`Op`] makes the handle of each, and the subject's folder has its operations.
//!
//! A handle belongs to one request. It holds the request's [`Op`] and the name of its subject, and is cheap to copy.

use lately_items::{
    Backlog, Checkpoint, ConsumerKey, Idempotency, IssueKey, QuotaHolder, RepositoryKey, Run, StoredTopic,
};
use lately_keys::{EventId, QuotaKind, Source, Topic, User};
use lately_model::RequestsPerMinute;

use crate::op::Op;

/// Declares the handle of each subject, and the method of [`Op`] that makes it.
macro_rules! handles {
    ($($(#[$doc:meta])* $vis:vis $method:ident($($field:ident: $type:ty),*) -> $handle:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            $vis struct $handle<'a> {
                pub(crate) op: &'a Op,
                $(pub(crate) $field: $type,)*
            }
        )*

        impl Op {
            $(
                $(#[$doc])*
                $vis const fn $method<'a>(&'a self, $($field: $type),*) -> $handle<'a> {
                    $handle { op: self, $($field),* }
                }
            )*
        }
    };
}

handles! {
    /// All topics.
    pub topics() -> TopicsHandle;

    /// A topic and its events.
    pub topic(topic: &'a Topic) -> TopicHandle;

    /// One event of a topic.
    pub event(topic: &'a Topic, id: EventId) -> EventHandle;

    /// The writer of one request's events, under its topic's settings.
    pub(crate) event_writer(topic: &'a Topic, stored: &'a StoredTopic) -> EventWriter;

    /// A request to a topic with an idempotency key.
    pub(crate) keyed_request(
        topic: &'a Topic,
        stored: &'a StoredTopic,
        idempotency: &'a Idempotency
    ) -> KeyedRequest;

    /// The endings of a topic's events: its deletion, and another retention.
    pub ending(topic: &'a Topic) -> EndingHandle;

    /// The directory of a topic.
    pub(crate) directory(topic: &'a Topic) -> DirectoryHandle;

    /// The consumers of a topic.
    pub consumers(topic: &'a Topic) -> ConsumersHandle;

    /// A consumer of a topic.
    pub consumer(consumer: &'a ConsumerKey) -> ConsumerHandle;

    /// The late log of a topic.
    pub(crate) late_log(topic: &'a Topic) -> LateLogHandle;

    /// One poll of a consumer, from the checkpoint that it read.
    pub(crate) polling(checkpoint: &'a Checkpoint, stored: &'a StoredTopic) -> Polling;

    /// The runs of a consumer that produces reports.
    pub runs(consumer: &'a ConsumerKey) -> RunsHandle;

    /// One run.
    pub run(run: &'a Run) -> RunHandle;

    /// The timeline of a source.
    pub timeline(source: &'a Source) -> TimelineHandle;

    /// A source and its followers.
    pub source(source: &'a Source) -> SourceHandle;

    /// A user and the sources that the user follows.
    pub user(user: &'a User) -> UserHandle;

    /// The feed of a user.
    pub feed(user: &'a User) -> FeedHandle;

    /// The notes for live followers of sources and feeds.
    pub(crate) live_notes() -> LiveNotes;

    /// The issues of all repositories.
    pub issues() -> IssuesHandle;

    /// A repository and its issues.
    pub repository(repository: &'a RepositoryKey) -> RepositoryHandle;

    /// One issue.
    pub issue(key: &'a IssueKey) -> IssueHandle;

    /// All sessions.
    pub sessions() -> SessionsHandle;

    /// A quota of a caller with this limit.
    pub quota(holder: &'a QuotaHolder, kind: QuotaKind, limit: RequestsPerMinute) -> QuotaHandle;

    /// The keys of an issuer of JWTs, as it is configured.
    pub issuer_keys(issuer: &'a str, jwks_uri: Option<&'a str>) -> IssuerKeysHandle;

    /// All erasures.
    pub erasures() -> ErasuresHandle;

    /// The backlog of a partition that takes no more writes now.
    pub(crate) backlog(backlog: &'a Backlog) -> BacklogQueue;

    /// All steps of background work that wait in the table.
    pub steps() -> StepsHandle;
}
