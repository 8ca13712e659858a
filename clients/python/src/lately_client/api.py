"""Generated from the OpenAPI document by clients/generate. Do not edit."""

from datetime import datetime
from typing import Any, Generic, Literal, NotRequired, TypeAlias, TypedDict, TypeVar, Unpack

from .request import Headers, Request, part

T = TypeVar("T")


Shards: TypeAlias = Literal[1, 2, 4, 8, 16, 32, 64, 128, 256]


Name: TypeAlias = str


Time: TypeAlias = str


class TopicSummary(TypedDict):
    """A topic in a list. A list does not read the topics' buckets."""

    bucket: Literal["quarter-hour", "hour", "day", "month"]
    retention_days: int | None
    min_shards: Shards
    max_shards: Shards
    fan_out: bool
    views: list[Literal["actor", "subject", "type"]]
    topic: Name
    created_at: Time


Cursor: TypeAlias = str


class TopicList(TypedDict):
    """A page of the list of topics."""

    topics: list[TopicSummary]
    next: Cursor | None


class RetentionChange(TypedDict):
    """The progress of a change of a topic's retention."""

    begun_at: Time
    events: int
    bucket: str | None


class Bucket(TypedDict):
    """A bucket of a topic."""

    label: str
    shards: Shards


class Topic(TypedDict):
    """A topic, with its newest buckets."""

    bucket: Literal["quarter-hour", "hour", "day", "month"]
    retention_days: int | None
    min_shards: Shards
    max_shards: Shards
    fan_out: bool
    views: list[Literal["actor", "subject", "type"]]
    topic: Name
    created_at: Time
    retention_change: NotRequired[RetentionChange]
    buckets: list[Bucket]


class TopicChange(TypedDict):
    """The body of `PUT /topics/{topic}`: the settings to set. Absent settings stay as they are; a new topic gets their defaults."""

    bucket: NotRequired[Literal["quarter-hour", "hour", "day", "month"]]
    retention_days: NotRequired[int | None]
    min_shards: NotRequired[Shards]
    max_shards: NotRequired[Shards]
    fan_out: NotRequired[bool]
    views: NotRequired[list[Literal["actor", "subject", "type"]]]


class DeletionPreview(TypedDict):
    """A topic as its directory knows it: the response to a deletion's dry run."""

    topic: Name
    buckets: int
    oldest: NotRequired[str]
    newest: NotRequired[str]
    shards: int
    consumers: int


class TopicDeletion(TypedDict):
    """The deletion of a topic, with its counts so far."""

    topic: Name
    state: Literal["deleting", "done"]
    begun_at: Time
    finished_at: NotRequired[Time]
    events: int
    buckets: int
    consumers: int


EventId: TypeAlias = str


EventType: TypeAlias = str


Subject: TypeAlias = str


class Event(TypedDict, Generic[T]):
    """An event."""

    id: EventId
    at: Time
    type: EventType
    actor: Name
    subject: NotRequired[Subject]
    data: T


class Accepted(TypedDict, Generic[T]):
    """All of a batch was written."""

    accepted: int
    events: list[Event[T]]


class NewEvent(TypedDict, Generic[T]):
    """An event that a client sends."""

    type: EventType
    actor: Name
    subject: NotRequired[Subject]
    data: NotRequired[T]
    at: NotRequired[Time | datetime]


NewEvents: TypeAlias = list[NewEvent[T]]


class Page(TypedDict, Generic[T]):
    events: list[Event[T]]
    next: Cursor | None
    newer: Cursor | None
    has_more: bool


class TimelineEvent(TypedDict, Generic[T]):
    """An event with its topic."""

    id: EventId
    at: Time
    topic: Name
    type: EventType
    actor: Name
    subject: NotRequired[Subject]
    data: T


class TimelinePage(TypedDict, Generic[T]):
    events: list[TimelineEvent[T]]
    next: Cursor | None
    newer: Cursor | None
    has_more: bool


class FeedPage(TypedDict, Generic[T]):
    """A page of a feed: a page's JSON. The feed's first page also has `unread` and `unread_more`."""

    events: list[TimelineEvent[T]]
    next: Cursor | None
    newer: Cursor | None
    has_more: bool
    unread: NotRequired[int]
    unread_more: NotRequired[bool]


class Unread(TypedDict):
    """The unread entries of a feed."""

    unread: int
    more: bool


Source: TypeAlias = str


class Following(TypedDict):
    """A source that a user follows."""

    source: Source
    since: Time


class Follow(TypedDict):
    """The body of a follow."""

    backfill: NotRequired[int]


class FollowingList(TypedDict):
    """A page of the sources that a user follows, sorted by source."""

    following: list[Following]
    next: Cursor | None


class Follower(TypedDict):
    """A follower of a source."""

    user: Name
    since: Time


class FollowerList(TypedDict):
    """A page of a source's followers, in an arbitrary order."""

    followers: list[Follower]
    next: Cursor | None


class SourceView(TypedDict):
    """A source."""

    source: Source
    followers: int
    mode: Literal["push", "promoting", "pull"]


class Seen(TypedDict):
    """The body of `PUT /feeds/{user}/seen`."""

    id: EventId


Document: TypeAlias = dict[str, Any]


RepositoryPart: TypeAlias = str


IssueNumber: TypeAlias = int


IssueTitle: TypeAlias = str


IssueBody: TypeAlias = str


Labels: TypeAlias = list[str]


IssueStatus: TypeAlias = Literal["open", "closed"]


IssuePriority: TypeAlias = Literal["high", "medium", "low"]


class Issue(TypedDict):
    """An issue as a response shows it."""

    owner: RepositoryPart
    repo: RepositoryPart
    number: IssueNumber
    title: IssueTitle
    body: NotRequired[IssueBody]
    labels: Labels
    status: IssueStatus
    priority: IssuePriority
    opened_by: Name
    opened_at: Time
    updated_at: Time
    revision: int


class IssueList(TypedDict):
    """A page of a repository's issues."""

    issues: list[Issue]
    next: Cursor | None


class NewIssue(TypedDict):
    """The body of `POST /repos/{owner}/{repo}/issues`."""

    title: IssueTitle
    body: NotRequired[IssueBody]
    labels: NotRequired[Labels]


class IssueChange(TypedDict):
    """The body of `PATCH /repos/{owner}/{repo}/issues/{number}`: the fields to set. Absent fields stay as they are."""

    title: NotRequired[IssueTitle]
    body: NotRequired[IssueBody | None]
    labels: NotRequired[Labels]
    status: NotRequired[IssueStatus]
    priority: NotRequired[IssuePriority]


SessionId: TypeAlias = str


class SessionToken(TypedDict):
    """The response to the creation of a session: the only response that contains its token."""

    id: SessionId
    token: str
    expires_at: Time


WritesPerMinute: TypeAlias = int


ReadsPerMinute: TypeAlias = int


Scope: TypeAlias = Literal["read", "write", "import", "consume", "act-as", "admin"]


class NewSession(TypedDict):
    """The body of `POST /sessions`."""

    writes_per_minute: NotRequired[WritesPerMinute]
    reads_per_minute: NotRequired[ReadsPerMinute]
    user: NotRequired[Name]
    scopes: list[Scope]
    topics: NotRequired[list[Name]]
    ttl_seconds: int


class Session(TypedDict):
    """A session, without its token."""

    writes_per_minute: NotRequired[WritesPerMinute]
    reads_per_minute: NotRequired[ReadsPerMinute]
    id: SessionId
    user: NotRequired[Name]
    scopes: list[Scope]
    topics: NotRequired[list[Name]]
    created_at: Time
    expires_at: Time


class SessionList(TypedDict):
    """A page of the list of sessions."""

    sessions: list[Session]
    next: Cursor | None


class RevokedSessions(TypedDict):
    """The response to the revocation of a user's sessions."""

    revoked: int


class OwnSession(TypedDict):
    """The response to a caller that asks about its own token."""

    writes_per_minute: NotRequired[WritesPerMinute]
    reads_per_minute: NotRequired[ReadsPerMinute]
    user: NotRequired[Name]
    scopes: list[Scope]
    topics: NotRequired[list[Name]]
    expires_at: NotRequired[Time]
    issuer: NotRequired[str]


ErasureId: TypeAlias = str


class ErasureCounts(TypedDict):
    """The number of items of each kind that the erasure itself removed."""

    events: int
    follows: int
    followers: int
    profile: int
    sessions: int
    feed: int
    issues: int


class Erasure(TypedDict):
    """An erasure, with its counts so far. When its state is `done`, this is the receipt. It does not contain the erased names."""

    id: ErasureId
    state: Literal["erasing", "done"]
    counts: ErasureCounts
    ids_sha256: NotRequired[str]
    started_at: Time
    finished_at: NotRequired[Time]
    not_covered: list[str]


class NewErasure(TypedDict):
    """The body of `POST /erasures`."""

    actor: NotRequired[Name]
    user: NotRequired[Name]
    confirm: Name


class ErasureList(TypedDict):
    """A page of the list of erasures."""

    erasures: list[Erasure]
    next: Cursor | None


BatchToken: TypeAlias = str


class Consumer(TypedDict):
    """A consumer."""

    position: EventId | None
    outstanding: BatchToken | None
    lag_seconds: int
    late: int
    late_more: NotRequired[Literal[True]]
    settle_seconds: int


class NewConsumer(TypedDict):
    """The body of `PUT /topics/{topic}/consumers/{name}`."""

    start: NotRequired[Literal["earliest", "latest"] | Time | datetime]
    settle_seconds: NotRequired[int]


class Polled(TypedDict, Generic[T]):
    """The response to a poll."""

    batch: BatchToken | None
    events: list[Event[T]]
    late: list[Event[T]]
    caught_up: bool


class Poll(TypedDict):
    """The body of a poll."""

    limit: NotRequired[int]


class Commit(TypedDict):
    """The body of a commit."""

    batch: BatchToken


class Seek(TypedDict):
    """The body of a seek."""

    to: Literal["earliest", "latest"] | Time | datetime | EventId


Run = TypedDict(
    "Run",
    {
        "from": EventId,
        "to": EventId,
        "announced_at": Time,
        "committed_at": Time | None,
        "events": int | None,
        "late": int | None,
        "bytes": int | None,
        "group_by": Literal["actor", "subject", "type"],
        "sum": str | None,
        "files": list[str],
    },
)


class RunList(TypedDict):
    """A page of a consumer's runs, newest first."""

    runs: list[Run]
    next: Cursor | None


class Health(TypedDict):
    """The service runs."""

    status: Literal["ok"]


Code: TypeAlias = Literal["invalid-name", "invalid-id", "invalid-query", "invalid-cursor", "invalid-idempotency-key", "invalid-precondition", "malformed-json", "missing-token", "invalid-token", "forbidden", "origin-refused", "route-not-found", "method-not-allowed", "topic-not-found", "event-not-found", "not-found", "stale-batch", "has-runs", "topic-is-being-deleted", "actor-is-being-erased", "bucket-is-fixed", "too-many-pull-sources", "too-many-consumers", "too-many-issues", "revision-mismatch", "too-large", "unsupported-encoding", "invalid-body", "invalid-event", "too-many-events", "invalid-topic", "idempotency-key-reused", "rate-limited", "revision-required", "partially-accepted", "not-yet-visible", "unavailable"]


class Fault(TypedDict):
    """One error to correct."""

    path: str
    message: str


class Problem(TypedDict):
    """The reason why a request failed (RFC 9457). `code` is stable."""

    accepted: NotRequired[list[dict[str, Any]]]
    rejected: NotRequired[list[dict[str, Any]]]
    type: str
    title: str
    status: int
    code: Code
    detail: str
    errors: NotRequired[list[Fault]]
    request_id: NotRequired[str]


class GatewayMessage(TypedDict):
    """The body of a response that the gateway itself makes on AWS."""

    message: str


class ListTopicsQuery(TypedDict):
    limit: NotRequired[int]
    cursor: NotRequired[Cursor]


def list_topics(**query: Unpack[ListTopicsQuery]) -> Request[TopicList]:
    """List all topics, by name: `GET /topics`."""
    return Request("GET", f"/topics", query=query)


def get_topic(topic: Name) -> Request[Topic]:
    """Get a topic with its newest buckets: `GET /topics/{topic}`."""
    return Request("GET", f"/topics/{part(topic)}")


def put_topic(topic: Name, body: TopicChange | None = None) -> Request[Topic]:
    """Create or change a topic: `PUT /topics/{topic}`."""
    return Request("PUT", f"/topics/{part(topic)}", body=body or {})


class DeleteTopicQuery(TypedDict):
    confirm: NotRequired[Name]
    dry_run: NotRequired[bool]


def delete_topic(topic: Name, **query: Unpack[DeleteTopicQuery]) -> Request[DeletionPreview | TopicDeletion]:
    """Delete a topic: `DELETE /topics/{topic}`."""
    return Request("DELETE", f"/topics/{part(topic)}", query=query)


def get_deletion(topic: Name) -> Request[TopicDeletion]:
    """Get the progress of a topic's deletion: `GET /topics/{topic}/deletion`."""
    return Request("GET", f"/topics/{part(topic)}/deletion")


class GetLatestQuery(TypedDict):
    limit: NotRequired[int]
    order: NotRequired[Literal["desc", "asc"]]
    cursor: NotRequired[Cursor]
    from_: NotRequired[Time | datetime]
    to: NotRequired[Time | datetime]
    type: NotRequired[EventType]
    consistent: NotRequired[bool]
    wait: NotRequired[int]


def get_latest(topic: Name, **query: Unpack[GetLatestQuery]) -> Request[Page[Any]]:
    """Get a page of a topic's events, newest first or oldest first: `GET /topics/{topic}/events`."""
    return Request("GET", f"/topics/{part(topic)}/events", query=query)


def post_events(topic: Name, body: NewEvent[Any] | NewEvents[Any], headers: Headers | None = None) -> Request[Event[Any] | Accepted[Any]]:
    """Write one event, or a batch: `POST /topics/{topic}/events`."""
    return Request("POST", f"/topics/{part(topic)}/events", body=body, headers=headers or {})


def get_event(topic: Name, id: EventId) -> Request[Event[Any]]:
    """Get an event: `GET /topics/{topic}/events/{id}`."""
    return Request("GET", f"/topics/{part(topic)}/events/{part(id)}")


def delete_event(topic: Name, id: EventId) -> Request[None]:
    """Delete an event: `DELETE /topics/{topic}/events/{id}`."""
    return Request("DELETE", f"/topics/{part(topic)}/events/{part(id)}")


class GetActorEventsQuery(TypedDict):
    limit: NotRequired[int]
    order: NotRequired[Literal["desc", "asc"]]
    cursor: NotRequired[Cursor]
    from_: NotRequired[Time | datetime]
    to: NotRequired[Time | datetime]
    type: NotRequired[EventType]
    consistent: NotRequired[bool]
    wait: NotRequired[int]
    topic: NotRequired[Name]
    month: NotRequired[str]
    wait_for: NotRequired[EventId]


def get_actor_events(actor: Name, **query: Unpack[GetActorEventsQuery]) -> Request[TimelinePage[Any]]:
    """Get an actor's events, newest first: `GET /actors/{actor}/events`."""
    return Request("GET", f"/actors/{part(actor)}/events", query=query)


class GetSubjectEventsQuery(TypedDict):
    limit: NotRequired[int]
    order: NotRequired[Literal["desc", "asc"]]
    cursor: NotRequired[Cursor]
    from_: NotRequired[Time | datetime]
    to: NotRequired[Time | datetime]
    type: NotRequired[EventType]
    consistent: NotRequired[bool]
    wait: NotRequired[int]
    topic: NotRequired[Name]
    month: NotRequired[str]
    wait_for: NotRequired[EventId]


def get_subject_events(subject: Subject, **query: Unpack[GetSubjectEventsQuery]) -> Request[TimelinePage[Any]]:
    """Get a subject's events, newest first: `GET /subjects/{subject}/events`."""
    return Request("GET", f"/subjects/{part(subject)}/events", query=query)


class StreamTopicEventsQuery(TypedDict):
    cursor: NotRequired[Cursor]
    type: NotRequired[EventType]


def stream_topic_events(topic: Name, headers: Headers | None = None, **query: Unpack[StreamTopicEventsQuery]) -> Request[None]:
    """Follow a topic live: `GET /topics/{topic}/live`."""
    return Request("GET", f"/topics/{part(topic)}/live", headers=headers or {}, query=query)


class StreamActorEventsQuery(TypedDict):
    cursor: NotRequired[Cursor]
    type: NotRequired[EventType]
    topic: NotRequired[Name]


def stream_actor_events(actor: Name, headers: Headers | None = None, **query: Unpack[StreamActorEventsQuery]) -> Request[None]:
    """Follow an actor live: `GET /actors/{actor}/live`."""
    return Request("GET", f"/actors/{part(actor)}/live", headers=headers or {}, query=query)


class StreamSubjectEventsQuery(TypedDict):
    cursor: NotRequired[Cursor]
    type: NotRequired[EventType]
    topic: NotRequired[Name]


def stream_subject_events(subject: Subject, headers: Headers | None = None, **query: Unpack[StreamSubjectEventsQuery]) -> Request[None]:
    """Follow a subject live: `GET /subjects/{subject}/live`."""
    return Request("GET", f"/subjects/{part(subject)}/live", headers=headers or {}, query=query)


class GetFeedQuery(TypedDict):
    limit: NotRequired[int]
    order: NotRequired[Literal["desc", "asc"]]
    cursor: NotRequired[Cursor]
    from_: NotRequired[Time | datetime]
    to: NotRequired[Time | datetime]
    type: NotRequired[EventType]
    consistent: NotRequired[bool]
    wait: NotRequired[int]
    wait_for: NotRequired[EventId]


def get_feed(user: Name, **query: Unpack[GetFeedQuery]) -> Request[FeedPage[Any]]:
    """Get a user's feed, newest first: `GET /feeds/{user}`."""
    return Request("GET", f"/feeds/{part(user)}", query=query)


def get_unread(user: Name) -> Request[Unread]:
    """Count the unread entries of a feed: `GET /feeds/{user}/unread`."""
    return Request("GET", f"/feeds/{part(user)}/unread")


def put_following(user: Name, source: Source, body: Follow | None = None) -> Request[Following]:
    """Follow a source: `PUT /users/{user}/following/{source}`."""
    return Request("PUT", f"/users/{part(user)}/following/{part(source)}", body=body or {})


def delete_following(user: Name, source: Source) -> Request[None]:
    """Unfollow a source: `DELETE /users/{user}/following/{source}`."""
    return Request("DELETE", f"/users/{part(user)}/following/{part(source)}")


class ListFollowingQuery(TypedDict):
    limit: NotRequired[int]
    cursor: NotRequired[Cursor]


def list_following(user: Name, **query: Unpack[ListFollowingQuery]) -> Request[FollowingList]:
    """List the sources that a user follows: `GET /users/{user}/following`."""
    return Request("GET", f"/users/{part(user)}/following", query=query)


class ListFollowersQuery(TypedDict):
    limit: NotRequired[int]
    cursor: NotRequired[Cursor]


def list_followers(source: Source, **query: Unpack[ListFollowersQuery]) -> Request[FollowerList]:
    """List the followers of a source: `GET /sources/{source}/followers`."""
    return Request("GET", f"/sources/{part(source)}/followers", query=query)


def get_source(source: Source) -> Request[SourceView]:
    """Get a source's number of followers, and its mode: `GET /sources/{source}`."""
    return Request("GET", f"/sources/{part(source)}")


def put_seen(user: Name, body: Seen) -> Request[None]:
    """Mark a feed as seen up to an event: `PUT /feeds/{user}/seen`."""
    return Request("PUT", f"/feeds/{part(user)}/seen", body=body)


class StreamFeedQuery(TypedDict):
    cursor: NotRequired[Cursor]
    type: NotRequired[EventType]


def stream_feed(user: Name, headers: Headers | None = None, **query: Unpack[StreamFeedQuery]) -> Request[None]:
    """Follow a user's feed live: `GET /feeds/{user}/live`."""
    return Request("GET", f"/feeds/{part(user)}/live", headers=headers or {}, query=query)


class GetProfileQuery(TypedDict):
    consistent: NotRequired[bool]


def get_profile(user: Name, **query: Unpack[GetProfileQuery]) -> Request[Document]:
    """Get a user's profile: `GET /users/{user}/profile`."""
    return Request("GET", f"/users/{part(user)}/profile", query=query)


def put_profile(user: Name, body: Document, headers: Headers | None = None) -> Request[Document]:
    """Create or replace a user's profile: `PUT /users/{user}/profile`."""
    return Request("PUT", f"/users/{part(user)}/profile", body=body, headers=headers or {})


def delete_profile(user: Name, headers: Headers | None = None) -> Request[None]:
    """Delete a user's profile: `DELETE /users/{user}/profile`."""
    return Request("DELETE", f"/users/{part(user)}/profile", headers=headers or {})


class GetSettingsQuery(TypedDict):
    consistent: NotRequired[bool]


def get_settings(app: Name, **query: Unpack[GetSettingsQuery]) -> Request[Document]:
    """Get an application's settings: `GET /settings/{app}`."""
    return Request("GET", f"/settings/{part(app)}", query=query)


def put_settings(app: Name, body: Document, headers: Headers | None = None) -> Request[Document]:
    """Create or replace an application's settings: `PUT /settings/{app}`."""
    return Request("PUT", f"/settings/{part(app)}", body=body, headers=headers or {})


def delete_settings(app: Name, headers: Headers | None = None) -> Request[None]:
    """Delete an application's settings: `DELETE /settings/{app}`."""
    return Request("DELETE", f"/settings/{part(app)}", headers=headers or {})


class ListIssuesQuery(TypedDict):
    status: NotRequired[IssueStatus]
    priority: NotRequired[IssuePriority]
    from_: NotRequired[IssueNumber]
    to: NotRequired[IssueNumber]
    order: NotRequired[Literal["desc", "asc"]]
    limit: NotRequired[int]
    cursor: NotRequired[Cursor]
    wait_for: NotRequired[str]
    consistent: NotRequired[bool]


def list_issues(owner: RepositoryPart, repo: RepositoryPart, **query: Unpack[ListIssuesQuery]) -> Request[IssueList]:
    """List a repository's issues, by number: `GET /repos/{owner}/{repo}/issues`."""
    return Request("GET", f"/repos/{part(owner)}/{part(repo)}/issues", query=query)


def post_issue(owner: RepositoryPart, repo: RepositoryPart, body: NewIssue) -> Request[Issue]:
    """Open an issue: `POST /repos/{owner}/{repo}/issues`."""
    return Request("POST", f"/repos/{part(owner)}/{part(repo)}/issues", body=body)


class GetIssueQuery(TypedDict):
    consistent: NotRequired[bool]


def get_issue(owner: RepositoryPart, repo: RepositoryPart, number: IssueNumber, **query: Unpack[GetIssueQuery]) -> Request[Issue]:
    """Get an issue: `GET /repos/{owner}/{repo}/issues/{number}`."""
    return Request("GET", f"/repos/{part(owner)}/{part(repo)}/issues/{part(number)}", query=query)


def patch_issue(owner: RepositoryPart, repo: RepositoryPart, number: IssueNumber, body: IssueChange, headers: Headers | None = None) -> Request[Issue]:
    """Change, close or reopen an issue: `PATCH /repos/{owner}/{repo}/issues/{number}`."""
    return Request("PATCH", f"/repos/{part(owner)}/{part(repo)}/issues/{part(number)}", body=body, headers=headers or {})


class ListSessionsQuery(TypedDict):
    user: NotRequired[Name]
    limit: NotRequired[int]
    cursor: NotRequired[Cursor]


def list_sessions(**query: Unpack[ListSessionsQuery]) -> Request[SessionList]:
    """List the sessions, without their tokens: `GET /sessions`."""
    return Request("GET", f"/sessions", query=query)


def post_session(body: NewSession) -> Request[SessionToken]:
    """Create a session: `POST /sessions`."""
    return Request("POST", f"/sessions", body=body)


class DeleteSessionsQuery(TypedDict):
    user: Name


def delete_sessions(**query: Unpack[DeleteSessionsQuery]) -> Request[RevokedSessions]:
    """Revoke all sessions of a user: `DELETE /sessions`."""
    return Request("DELETE", f"/sessions", query=query)


def get_own_session() -> Request[OwnSession]:
    """Get the caller's own session or JWT: `GET /sessions/self`."""
    return Request("GET", f"/sessions/self")


def get_session(id: SessionId) -> Request[Session]:
    """Get a session, without its token: `GET /sessions/{id}`."""
    return Request("GET", f"/sessions/{part(id)}")


def delete_session(id: SessionId) -> Request[None]:
    """Revoke a session: `DELETE /sessions/{id}`."""
    return Request("DELETE", f"/sessions/{part(id)}")


class ListErasuresQuery(TypedDict):
    limit: NotRequired[int]
    cursor: NotRequired[Cursor]


def list_erasures(**query: Unpack[ListErasuresQuery]) -> Request[ErasureList]:
    """List the erasures of the last days: `GET /erasures`."""
    return Request("GET", f"/erasures", query=query)


def post_erasure(body: NewErasure) -> Request[Erasure]:
    """Erase an actor, a user, or both: `POST /erasures`."""
    return Request("POST", f"/erasures", body=body)


def get_erasure(id: ErasureId) -> Request[Erasure]:
    """Get an erasure: `GET /erasures/{id}`."""
    return Request("GET", f"/erasures/{part(id)}")


def get_consumer(topic: Name, name: Name) -> Request[Consumer]:
    """Get a consumer's position: `GET /topics/{topic}/consumers/{name}`."""
    return Request("GET", f"/topics/{part(topic)}/consumers/{part(name)}")


def put_consumer(topic: Name, name: Name, body: NewConsumer | None = None) -> Request[Consumer]:
    """Create or change a consumer: `PUT /topics/{topic}/consumers/{name}`."""
    return Request("PUT", f"/topics/{part(topic)}/consumers/{part(name)}", body=body or {})


def delete_consumer(topic: Name, name: Name) -> Request[None]:
    """Delete a consumer: `DELETE /topics/{topic}/consumers/{name}`."""
    return Request("DELETE", f"/topics/{part(topic)}/consumers/{part(name)}")


def poll(topic: Name, name: Name, body: Poll | None = None) -> Request[Polled[Any]]:
    """Get the next batch: `POST /topics/{topic}/consumers/{name}/poll`."""
    return Request("POST", f"/topics/{part(topic)}/consumers/{part(name)}/poll", body=body or {})


def commit(topic: Name, name: Name, body: Commit) -> Request[None]:
    """Commit a batch: `POST /topics/{topic}/consumers/{name}/commit`."""
    return Request("POST", f"/topics/{part(topic)}/consumers/{part(name)}/commit", body=body)


def seek(topic: Name, name: Name, body: Seek) -> Request[Consumer]:
    """Move a consumer to another position: `POST /topics/{topic}/consumers/{name}/seek`."""
    return Request("POST", f"/topics/{part(topic)}/consumers/{part(name)}/seek", body=body)


class ListRunsQuery(TypedDict):
    limit: NotRequired[int]
    cursor: NotRequired[Cursor]


def list_runs(topic: Name, name: Name, **query: Unpack[ListRunsQuery]) -> Request[RunList]:
    """List the runs of a reporting consumer: `GET /topics/{topic}/consumers/{name}/runs`."""
    return Request("GET", f"/topics/{part(topic)}/consumers/{part(name)}/runs", query=query)


def get_health() -> Request[Health]:
    """Check that the service runs: `GET /health`."""
    return Request("GET", f"/health")


def get_open_api() -> Request[dict[str, Any]]:
    """Get this document: `GET /openapi.json`."""
    return Request("GET", f"/openapi.json")
