// Generated from the OpenAPI document by clients/generate. Do not edit.

import { path, type Data, type Request } from "./request.js";

/** A page of the list of topics. */
export interface TopicList {
  /** The topics, by name. */
  topics: TopicSummary[];
  /** The cursor of the next page; null at the end. */
  next: Cursor | null;
}

/** A topic in a list. A list does not read the topics' buckets. */
export interface TopicSummary {
  /** The width of a bucket; fixed at creation. */
  bucket: "quarter-hour" | "hour" | "day" | "month";
  /** The days after which events expire; with null they never expire. */
  retention_days: number | null;
  /** The smallest number of shards of a new bucket; at most max_shards. */
  min_shards: Shards;
  /** The most shards of a bucket. */
  max_shards: Shards;
  /** If true, events are pushed to feeds; needs the views actor and subject. */
  fan_out: boolean;
  /** The views that list later events. */
  views: ("actor" | "subject" | "type")[];
  /** Its name. */
  topic: Name;
  /** When it was created. */
  created_at: Time;
}

/** The position at which the next page continues. Its content is opaque. */
export type Cursor = string;

/** The name of a topic, an actor, a user, an application or a consumer. */
export type Name = string;

/** RFC 3339 with an offset, in the years 1970 to 9999. Answers are in UTC, with milliseconds. */
export type Time = string;

export type Shards = 1 | 2 | 4 | 8 | 16 | 32 | 64 | 128 | 256;

/** A topic, with its newest buckets. */
export interface Topic {
  /** The width of a bucket; fixed at creation. */
  bucket: "quarter-hour" | "hour" | "day" | "month";
  /** The days after which events expire; with null they never expire. */
  retention_days: number | null;
  /** The smallest number of shards of a new bucket; at most max_shards. */
  min_shards: Shards;
  /** The most shards of a bucket. */
  max_shards: Shards;
  /** If true, events are pushed to feeds; needs the views actor and subject. */
  fan_out: boolean;
  /** The views that list later events. */
  views: ("actor" | "subject" | "type")[];
  /** Its name. */
  topic: Name;
  /** When it was created. */
  created_at: Time;
  /** The change of its retention that goes through its events. */
  retention_change?: RetentionChange;
  /** Its newest buckets that contain events, newest first. */
  buckets: Bucket[];
}

/** The progress of a change of a topic's retention. */
export interface RetentionChange {
  /** When it began. */
  begun_at: Time;
  /** The events that it has handled. */
  events: number;
  /** The bucket that it has come to, from the newest to the oldest. */
  bucket: string | null;
}

/** A bucket of a topic. */
export interface Bucket {
  /** The name of the bucket's window of time. */
  label: string;
  /** The number of its shards. */
  shards: Shards;
}

/** The body of `PUT /topics/{topic}`: the settings to set. Absent settings stay as they are; a new topic gets their defaults. */
export interface TopicChange {
  /** The width of a bucket; fixed at creation. */
  bucket?: "quarter-hour" | "hour" | "day" | "month" | undefined;
  /** The days after which events expire; with null they never expire. */
  retention_days?: number | null | undefined;
  /** The smallest number of shards of a new bucket; at most max_shards. */
  min_shards?: Shards | undefined;
  /** The most shards of a bucket. */
  max_shards?: Shards | undefined;
  /** If true, events are pushed to feeds; needs the views actor and subject. */
  fan_out?: boolean | undefined;
  /** The views that list later events. */
  views?: ("actor" | "subject" | "type")[] | undefined;
}

/** A topic as its directory knows it: the response to a deletion's dry run. */
export interface DeletionPreview {
  /** The topic's name. */
  topic: Name;
  /** The buckets that hold events. */
  buckets: number;
  /** The oldest of these buckets. It is absent if there is none. */
  oldest?: string;
  /** The newest of these buckets. It is absent if there is none. */
  newest?: string;
  /** The shards of all these buckets together. */
  shards: number;
  /** The consumers. */
  consumers: number;
}

/** The deletion of a topic, with its counts so far. */
export interface TopicDeletion {
  /** The topic's name. */
  topic: Name;
  /** `done`: everything is deleted, and the name may be used again. */
  state: "deleting" | "done";
  /** When the deletion began. */
  begun_at: Time;
  /** The time at which the last item was removed. */
  finished_at?: Time;
  /** The events that were deleted so far. */
  events: number;
  /** The buckets that were deleted so far. */
  buckets: number;
  /** The consumers that were deleted so far. */
  consumers: number;
}

/** An event. */
export type Event<T = unknown> = {
  id: EventId;
  /** The time of the event, which the id contains. */
  at: Time;
  type: EventType;
  actor: Name;
  subject?: Subject;
} & Data<T>;

/** All of a batch was written. */
export interface Accepted<T = unknown> {
  /** The number of events. */
  accepted: number;
  /** The events. */
  events: Event<T>[];
}

/** A UUIDv7 whose time is the event's. */
export type EventId = string;

/** The type of an event. */
export type EventType = string;

/** The subject of an event. */
export type Subject = string;

/** An event that a client sends. */
export type NewEvent<T = unknown> = {
  /** The kind of event. */
  type: EventType;
  /** The actor who did it. */
  actor: Name;
  /** The subject that it was done to. */
  subject?: Subject | undefined;
  /** The time of the event; the default is now. */
  at?: Time | Date | undefined;
} & Data<T>;

/** A batch. */
export type NewEvents<T = unknown> = NewEvent<T>[];

export interface Page<T = unknown> {
  events: Event<T>[];
  /** The cursor that continues in the page's own order. */
  next: Cursor | null;
  /** On newest-first pages: the cursor of later events, oldest first. Events of two seconds may come again. */
  newer: Cursor | null;
  /** True if there are more entries now. */
  has_more: boolean;
}

export interface TimelinePage<T = unknown> {
  events: TimelineEvent<T>[];
  /** The cursor that continues in the page's own order. */
  next: Cursor | null;
  /** On newest-first pages: the cursor of later events, oldest first. Events of two seconds may come again. */
  newer: Cursor | null;
  /** True if there are more entries now. */
  has_more: boolean;
}

/** A page of a feed: a page's JSON. The feed's first page also has `unread` and `unread_more`. */
export interface FeedPage<T = unknown> {
  events: TimelineEvent<T>[];
  /** The cursor that continues in the page's own order. */
  next: Cursor | null;
  /** On newest-first pages: the cursor of later events, oldest first. Events of two seconds may come again. */
  newer: Cursor | null;
  /** True if there are more entries now. */
  has_more: boolean;
  /** The number of this page's entries that are newer than the seen mark and not the user's own. Only on newest-first pages without filter and cursor. */
  unread?: number;
  /** True if the page ends before the seen mark, so that more unread entries may follow. */
  unread_more?: boolean;
}

/** The unread entries of a feed. */
export interface Unread {
  /** The number of entries that are newer than the seen mark and not the user's own. */
  unread: number;
  /** True if the count stopped at 64 read units, so that there may be more. */
  more: boolean;
}

/** A source that a user follows. */
export interface Following {
  /** The followed source. */
  source: Source;
  /** When the follow began. */
  since: Time;
}

/** An actor or a subject, which users can follow: `actor:<name>` or `subject:<name>`. */
export type Source = string;

/** The body of a follow. */
export interface Follow {
  /** The number of the source's events from before the follow that the feed will show. */
  backfill?: number | undefined;
}

/** A page of the sources that a user follows, sorted by source. */
export interface FollowingList {
  /** The followed sources. */
  following: Following[];
  /** The cursor of the next page; null at the end. */
  next: Cursor | null;
}

/** A page of a source's followers, in an arbitrary order. */
export interface FollowerList {
  /** The followers. */
  followers: Follower[];
  /** The cursor of the next page; null at the end. */
  next: Cursor | null;
}

/** A follower of a source. */
export interface Follower {
  /** The follower. */
  user: Name;
  /** When the follow began. */
  since: Time;
}

/** A source. */
export interface SourceView {
  /** Its name. */
  source: Source;
  /** The number of its followers. */
  followers: number;
  /** `push`: events are copied into feeds. `pull`: events are read at each read of a feed. `promoting`: the source changes from push to pull. */
  mode: "push" | "promoting" | "pull";
}

/** The body of `PUT /feeds/{user}/seen`. */
export interface Seen {
  /** The event. */
  id: EventId;
}

/** Any JSON object of at most 64 KiB as it is sent, nested at most 60 levels deep. Responses return it as the same text. */
export type Document = Record<string, unknown>;

/** A page of a repository's issues. */
export interface IssueList {
  /** The issues, in the requested order. */
  issues: Issue[];
  /** The cursor of the next page; null at the end. */
  next: Cursor | null;
}

/** The owner of a repository, or its name. */
export type RepositoryPart = string;

export type IssueNumber = number;

/** An issue as a response shows it. */
export interface Issue {
  /** The owner of the repository. */
  owner: RepositoryPart;
  /** The repository. */
  repo: RepositoryPart;
  /** The number in the repository. */
  number: IssueNumber;
  /** The title: one line. */
  title: IssueTitle;
  /** The text. */
  body?: IssueBody;
  /** The labels. */
  labels: Labels;
  /** Open or closed. */
  status: IssueStatus;
  /** The priority. */
  priority: IssuePriority;
  /** The actor who opened it. */
  opened_by: Name;
  /** When it was opened. */
  opened_at: Time;
  /** When it was last changed. */
  updated_at: Time;
  /** The revision rises with every change; in quotes it is the `ETag`. */
  revision: number;
}

/** One line: no control characters, and not only white space. */
export type IssueTitle = string;

/** At most 65536 bytes of text; the only control characters are tabs and line ends. */
export type IssueBody = string;

/** Each label once, of at most 50 bytes, without control characters, and without white space at its ends. */
export type Labels = string[];

export type IssueStatus = "open" | "closed";

export type IssuePriority = "high" | "medium" | "low";

/** The body of `POST /repos/{owner}/{repo}/issues`. */
export interface NewIssue {
  /** The title: one line. */
  title: IssueTitle;
  /** The text. */
  body?: IssueBody | undefined;
  /** The labels. */
  labels?: Labels | undefined;
}

/** The body of `PATCH /repos/{owner}/{repo}/issues/{number}`: the fields to set. Absent fields stay as they are. */
export interface IssueChange {
  /** The title: one line. */
  title?: IssueTitle | undefined;
  /** The text; null removes it. */
  body?: IssueBody | null | undefined;
  /** All labels: they replace the present ones. */
  labels?: Labels | undefined;
  /** Open or closed. */
  status?: IssueStatus | undefined;
  /** The priority. Once set, it no longer follows the labels. */
  priority?: IssuePriority | undefined;
}

/** The response to the creation of a session: the only response that contains its token. */
export interface SessionToken {
  /** The session's id. */
  id: SessionId;
  /** The token is returned only once, and stored only as a hash. */
  token: string;
  /** When it expires. */
  expires_at: Time;
}

/** A UUID in lower case. It is not a secret. */
export type SessionId = string;

/** The body of `POST /sessions`. */
export interface NewSession {
  /** The writes a minute; without limit if absent. */
  writes_per_minute?: WritesPerMinute | undefined;
  /** The reads a minute; without limit if absent. */
  reads_per_minute?: ReadsPerMinute | undefined;
  /** The user for whom the session acts; absent for a service. */
  user?: Name | undefined;
  /** Its scopes; at least one. */
  scopes: Scope[];
  /** The only topics to which the scopes apply; all if absent. */
  topics?: Name[] | undefined;
  /** Its lifetime. */
  ttl_seconds: number;
}

/** `read`; `write` (post, delete, follow, change records, as the session's own user); `import`; `consume`; `act-as` (act as any user); `admin` (all of these, and topics, sessions, settings). */
export type Scope = "read" | "write" | "import" | "consume" | "act-as" | "admin";

/** The writes that the token may make in a minute; each event of a batch counts. Without limit if absent. */
export type WritesPerMinute = number;

/** The reads that the token may make in a minute. Without limit if absent. */
export type ReadsPerMinute = number;

/** A page of the list of sessions. */
export interface SessionList {
  /** The sessions that have not ended, newest first. A page with ended sessions has fewer than the limit. */
  sessions: Session[];
  /** The cursor of the next page; null at the end. */
  next: Cursor | null;
}

/** A session, without its token. */
export interface Session {
  /** The writes a minute; without limit if absent. */
  writes_per_minute?: WritesPerMinute;
  /** The reads a minute; without limit if absent. */
  reads_per_minute?: ReadsPerMinute;
  /** Its id. */
  id: SessionId;
  /** The user that it acts for. */
  user?: Name;
  /** Its scopes. */
  scopes: Scope[];
  /** The only topics to which the scopes apply; all if absent. */
  topics?: Name[];
  /** When it was created. */
  created_at: Time;
  /** The time from which on the session is refused. */
  expires_at: Time;
}

/** The response to the revocation of a user's sessions. */
export interface RevokedSessions {
  /** The number of sessions that this request ended. */
  revoked: number;
}

/** The response to a caller that asks about its own token. */
export interface OwnSession {
  /** The writes a minute; without limit if absent. */
  writes_per_minute?: WritesPerMinute;
  /** The reads a minute; without limit if absent. */
  reads_per_minute?: ReadsPerMinute;
  /** The user that the token acts for. */
  user?: Name;
  /** The token's scopes. */
  scopes: Scope[];
  /** The only topics to which the scopes apply; all if absent. */
  topics?: Name[];
  /** The end of the token. Clocks and caches may accept the token for a minute more. */
  expires_at?: Time;
  /** The issuer of a JWT; absent for a session's token. */
  issuer?: string;
}

/** An erasure, with its counts so far. When its state is `done`, this is the receipt. It does not contain the erased names. */
export interface Erasure {
  /** Its id. */
  id: ErasureId;
  /** `done`: everything that the erasure covers is removed. */
  state: "erasing" | "done";
  /** The erased items, by kind. */
  counts: ErasureCounts;
  /** The SHA-256, in hexadecimal, over the erased event ids as text, sorted, each followed by a newline. */
  ids_sha256?: string;
  /** When it began. */
  started_at: Time;
  /** The time at which the last item was removed. */
  finished_at?: Time;
  /** Data that the erasure cannot reach, such as report files and backups. */
  not_covered: string[];
}

/** A UUID in lower case. It is not a secret. */
export type ErasureId = string;

/** The number of items of each kind that the erasure itself removed. */
export interface ErasureCounts {
  /** Events of the actor. */
  events: number;
  /** Sources that the user followed. */
  follows: number;
  /** Followers of the actor. */
  followers: number;
  /** The user's profile. */
  profile: number;
  /** Sessions of the user. */
  sessions: number;
  /** Items of the user's feed. */
  feed: number;
  /** Issues whose `opened_by` was replaced. */
  issues: number;
}

/** The body of `POST /erasures`. */
export interface NewErasure {
  /** The actor whose events are erased, with their copies and the actor's followers. */
  actor?: Name | undefined;
  /** The user whose profile, sessions, feed, follows and other traces are erased. */
  user?: Name | undefined;
  /** The name again, so that nobody erases a person by mistake: the actor's, or the user's if there is no actor. */
  confirm: Name;
}

/** A page of the list of erasures. */
export interface ErasureList {
  /** The erasures of the last days, newest first. */
  erasures: Erasure[];
  /** The cursor of the next page; null at the end. */
  next: Cursor | null;
}

/** A consumer. */
export interface Consumer {
  /** All events at or before this position are committed. */
  position: EventId | null;
  /** The batch that was returned and is not committed. */
  outstanding: BatchToken | null;
  /** The age of the oldest event that is not committed. */
  lag_seconds: number;
  /** The number of events that arrived behind the position and are not committed. */
  late: number;
  /** True if one request could not count all late events; absent otherwise. */
  late_more?: true;
  /** The time that it stays behind the present. */
  settle_seconds: number;
}

/** The name of a batch. Its content is opaque. */
export type BatchToken = string;

/** The body of `PUT /topics/{topic}/consumers/{name}`. */
export interface NewConsumer {
  /** The position at which a new consumer begins: the oldest event, now, or a time. */
  start?: "earliest" | "latest" | Time | Date | undefined;
  /** The seconds that the consumer stays behind now, so that writes under way can arrive. */
  settle_seconds?: number | undefined;
}

/** The response to a poll. */
export interface Polled<T = unknown> {
  /** The batch to commit; null if there are no events. */
  batch: BatchToken | null;
  /** The next events, oldest first. */
  events: Event<T>[];
  /** The events that arrived behind the position, oldest first. The list may repeat an event. */
  late: Event<T>[];
  /** True if there are no more events up to `settle_seconds` ago. False for a batch that is returned again. */
  caught_up: boolean;
}

/** The body of a poll. */
export interface Poll {
  /** The most events of the batch, late events included. */
  limit?: number | undefined;
}

/** The body of a commit. */
export interface Commit {
  /** The batch that the client has processed. */
  batch: BatchToken;
}

/** The body of a seek. */
export interface Seek {
  /** The position to continue from. */
  to: "earliest" | "latest" | Time | Date | EventId;
}

/** A page of a consumer's runs, newest first. */
export interface RunList {
  /** The runs. */
  runs: Run[];
  /** The cursor of the next page; null at the end. */
  next: Cursor | null;
}

/** A report run: its range, its counting and, once it is committed, its counts and files. */
export interface Run {
  /** The run reports the events after this id. */
  from: EventId;
  /** The run reports the events up to this id, included. */
  to: EventId;
  /** The time at which the run began. */
  announced_at: Time;
  /** The time at which the run was committed; null until then, like the counts. */
  committed_at: Time | null;
  /** The number of events that the run reports, late events included. */
  events: number | null;
  /** The number of these events that arrived too late for the run that covers their time. */
  late: number | null;
  /** The size of the events' file in bytes. */
  bytes: number | null;
  /** The field by which its summary groups events. */
  group_by: "actor" | "subject" | "type";
  /** The field of `data` that the summary adds up. */
  sum: string | null;
  /** The names of the run's files, below the location of the reports: the events and the summary. The files appear a moment after the run is committed. */
  files: string[];
}

/** The service runs. */
export interface Health {
  status: "ok";
}

/** The reason why a request failed (RFC 9457). `code` is stable. */
export interface Problem {
  /** With `partially-accepted`: the events that were written. */
  accepted?: {
  /** Its position in the batch, from 0. */
  index: number;
  /** Its id. */
  id: EventId;
}[];
  /** With `partially-accepted`: the events that were certainly not written. The outcome of an event in neither list is unknown. */
  rejected?: {
  /** Its position in the batch, from 0. */
  index: number;
  /** The reason: a problem's stable code. */
  code: Code;
}[];
  type: string;
  title: string;
  status: number;
  /** The kind of problem. A published code never changes. */
  code: Code;
  detail: string;
  /** Every fault, with its position in the request. */
  errors?: Fault[];
  /** The request's id in the log; give it to the operator of the service. */
  request_id?: string;
}

export type Code = "invalid-name" | "invalid-id" | "invalid-query" | "invalid-cursor" | "invalid-idempotency-key" | "invalid-precondition" | "malformed-json" | "missing-token" | "invalid-token" | "forbidden" | "origin-refused" | "route-not-found" | "method-not-allowed" | "topic-not-found" | "event-not-found" | "not-found" | "stale-batch" | "has-runs" | "topic-is-being-deleted" | "actor-is-being-erased" | "bucket-is-fixed" | "too-many-pull-sources" | "too-many-consumers" | "too-many-issues" | "revision-mismatch" | "too-large" | "unsupported-encoding" | "invalid-body" | "invalid-event" | "too-many-events" | "invalid-topic" | "idempotency-key-reused" | "rate-limited" | "revision-required" | "partially-accepted" | "not-yet-visible" | "unavailable";

/** One error to correct. */
export interface Fault {
  /** A JSON Pointer into the body, as `/1/type`, or the name of a query parameter, as `/limit`. */
  path: string;
  /** The rule that must hold. It never repeats text that the client sent. */
  message: string;
}

/** An event with its topic. */
export type TimelineEvent<T = unknown> = {
  id: EventId;
  /** The time of the event, which the id contains. */
  at: Time;
  topic: Name;
  type: EventType;
  actor: Name;
  subject?: Subject;
} & Data<T>;

/** The body of a response that the gateway itself makes on AWS. */
export interface GatewayMessage {
  message: string;
}

export type ListTopicsQuery = {
  /** The most entries of a page. */
  limit?: number | undefined;
  /** The `next` of a page. */
  cursor?: Cursor | undefined;
};

/** List all topics, by name: `GET /topics`. */
export const listTopics = (query: ListTopicsQuery = {}): Request<TopicList> => ({
  method: "GET",
  path: path`/topics`,
  query,
});

/** Get a topic with its newest buckets: `GET /topics/{topic}`. */
export const getTopic = (topic: Name): Request<Topic> => ({
  method: "GET",
  path: path`/topics/${topic}`,
});

/** Create or change a topic: `PUT /topics/{topic}`. */
export const putTopic = (topic: Name, body: TopicChange = {}): Request<Topic> => ({
  method: "PUT",
  path: path`/topics/${topic}`,
  body,
});

export type DeleteTopicQuery = {
  /** The name of the topic, so that nobody deletes a topic by mistake. Only a dry run may omit it. */
  confirm?: Name | undefined;
  /** If true, nothing is deleted, and the response says what a deletion would delete. */
  dry_run?: boolean | undefined;
};

/** Delete a topic: `DELETE /topics/{topic}`. */
export const deleteTopic = (topic: Name, query: DeleteTopicQuery = {}): Request<DeletionPreview | TopicDeletion> => ({
  method: "DELETE",
  path: path`/topics/${topic}`,
  query,
});

/** Get the progress of a topic's deletion: `GET /topics/{topic}/deletion`. */
export const getDeletion = (topic: Name): Request<TopicDeletion> => ({
  method: "GET",
  path: path`/topics/${topic}/deletion`,
});

export type GetLatestQuery = {
  /** The most entries of a page. */
  limit?: number | undefined;
  /** `desc` (the default) is newest first. Optional with a cursor. */
  order?: "desc" | "asc" | undefined;
  /** The `next` or `newer` of a page. Repeat the filters of that page's query; `limit` and `consistent` may change. */
  cursor?: Cursor | undefined;
  /** Events of this time and later; not after `to`. */
  from?: Time | Date | undefined;
  /** Events before this time. */
  to?: Time | Date | undefined;
  /** Events of this type. */
  type?: EventType | undefined;
  /** If true, the read shows every acknowledged write, at twice the price. */
  consistent?: boolean | undefined;
  /** The response to an empty page is delayed until an event arrives, for at most this many seconds. Only with the cursor of an oldest-first page. */
  wait?: number | undefined;
};

/** Get a page of a topic's events, newest first or oldest first: `GET /topics/{topic}/events`. */
export const getLatest = <T = unknown>(topic: Name, query: GetLatestQuery = {}): Request<Page<T>> => ({
  method: "GET",
  path: path`/topics/${topic}/events`,
  query,
});

export type PostEventsHeaders = {
  /** The name of the request, for 24 hours: the same key and body return the first response again, and another body is refused. 1 to 128 printable ASCII characters. */
  "Idempotency-Key"?: string | undefined;
};

/** Write one event, or a batch: `POST /topics/{topic}/events`. */
export const postEvents = <T = unknown>(topic: Name, body: NewEvent<T> | NewEvents<T>, headers: PostEventsHeaders = {}): Request<Event<T> | Accepted<T>> => ({
  method: "POST",
  path: path`/topics/${topic}/events`,
  body,
  headers,
});

/** Get an event: `GET /topics/{topic}/events/{id}`. */
export const getEvent = <T = unknown>(topic: Name, id: EventId): Request<Event<T>> => ({
  method: "GET",
  path: path`/topics/${topic}/events/${id}`,
});

/** Delete an event: `DELETE /topics/{topic}/events/{id}`. */
export const deleteEvent = (topic: Name, id: EventId): Request<void> => ({
  method: "DELETE",
  path: path`/topics/${topic}/events/${id}`,
});

export type GetActorEventsQuery = {
  /** The most entries of a page. */
  limit?: number | undefined;
  /** `desc` (the default) is newest first. Optional with a cursor. */
  order?: "desc" | "asc" | undefined;
  /** The `next` or `newer` of a page. Repeat the filters of that page's query; `limit` and `consistent` may change. */
  cursor?: Cursor | undefined;
  /** Events of this time and later; not after `to`. */
  from?: Time | Date | undefined;
  /** Events before this time. */
  to?: Time | Date | undefined;
  /** Events of this type. */
  type?: EventType | undefined;
  /** If true, the read shows every acknowledged write, at twice the price. */
  consistent?: boolean | undefined;
  /** The response to an empty page is delayed until an event arrives, for at most this many seconds. Only with the cursor of an oldest-first page. */
  wait?: number | undefined;
  /** Only events of this topic. */
  topic?: Name | undefined;
  /** Only events of this month. Not with `from` or `to`. */
  month?: string | undefined;
  /** Waits at most 5 s until this event shows. For an event older than two minutes the server looks only once; an id in the future is refused. Not with `cursor`. */
  wait_for?: EventId | undefined;
};

/** Get an actor's events, newest first: `GET /actors/{actor}/events`. */
export const getActorEvents = <T = unknown>(actor: Name, query: GetActorEventsQuery = {}): Request<TimelinePage<T>> => ({
  method: "GET",
  path: path`/actors/${actor}/events`,
  query,
});

export type GetSubjectEventsQuery = {
  /** The most entries of a page. */
  limit?: number | undefined;
  /** `desc` (the default) is newest first. Optional with a cursor. */
  order?: "desc" | "asc" | undefined;
  /** The `next` or `newer` of a page. Repeat the filters of that page's query; `limit` and `consistent` may change. */
  cursor?: Cursor | undefined;
  /** Events of this time and later; not after `to`. */
  from?: Time | Date | undefined;
  /** Events before this time. */
  to?: Time | Date | undefined;
  /** Events of this type. */
  type?: EventType | undefined;
  /** If true, the read shows every acknowledged write, at twice the price. */
  consistent?: boolean | undefined;
  /** The response to an empty page is delayed until an event arrives, for at most this many seconds. Only with the cursor of an oldest-first page. */
  wait?: number | undefined;
  /** Only events of this topic. */
  topic?: Name | undefined;
  /** Only events of this month. Not with `from` or `to`. */
  month?: string | undefined;
  /** Waits at most 5 s until this event shows. For an event older than two minutes the server looks only once; an id in the future is refused. Not with `cursor`. */
  wait_for?: EventId | undefined;
};

/** Get a subject's events, newest first: `GET /subjects/{subject}/events`. */
export const getSubjectEvents = <T = unknown>(subject: Subject, query: GetSubjectEventsQuery = {}): Request<TimelinePage<T>> => ({
  method: "GET",
  path: path`/subjects/${subject}/events`,
  query,
});

export type StreamTopicEventsQuery = {
  /** The cursor of an oldest-first page, or the id of a live message. Without it, the stream starts now. */
  cursor?: Cursor | undefined;
  /** Events of this type. */
  type?: EventType | undefined;
};

export type StreamTopicEventsHeaders = {
  /** The id of the last message. It wins over `cursor`. */
  "Last-Event-ID"?: Cursor | undefined;
};

/** Follow a topic live: `GET /topics/{topic}/live`. */
export const streamTopicEvents = (topic: Name, query: StreamTopicEventsQuery = {}, headers: StreamTopicEventsHeaders = {}): Request<void> => ({
  method: "GET",
  path: path`/topics/${topic}/live`,
  query,
  headers,
});

export type StreamActorEventsQuery = {
  /** The cursor of an oldest-first page, or the id of a live message. Without it, the stream starts now. */
  cursor?: Cursor | undefined;
  /** Events of this type. */
  type?: EventType | undefined;
  /** Only events of this topic. */
  topic?: Name | undefined;
};

export type StreamActorEventsHeaders = {
  /** The id of the last message. It wins over `cursor`. */
  "Last-Event-ID"?: Cursor | undefined;
};

/** Follow an actor live: `GET /actors/{actor}/live`. */
export const streamActorEvents = (actor: Name, query: StreamActorEventsQuery = {}, headers: StreamActorEventsHeaders = {}): Request<void> => ({
  method: "GET",
  path: path`/actors/${actor}/live`,
  query,
  headers,
});

export type StreamSubjectEventsQuery = {
  /** The cursor of an oldest-first page, or the id of a live message. Without it, the stream starts now. */
  cursor?: Cursor | undefined;
  /** Events of this type. */
  type?: EventType | undefined;
  /** Only events of this topic. */
  topic?: Name | undefined;
};

export type StreamSubjectEventsHeaders = {
  /** The id of the last message. It wins over `cursor`. */
  "Last-Event-ID"?: Cursor | undefined;
};

/** Follow a subject live: `GET /subjects/{subject}/live`. */
export const streamSubjectEvents = (subject: Subject, query: StreamSubjectEventsQuery = {}, headers: StreamSubjectEventsHeaders = {}): Request<void> => ({
  method: "GET",
  path: path`/subjects/${subject}/live`,
  query,
  headers,
});

export type GetFeedQuery = {
  /** The most entries of a page. */
  limit?: number | undefined;
  /** `desc` (the default) is newest first. Optional with a cursor. */
  order?: "desc" | "asc" | undefined;
  /** The `next` or `newer` of a page. Repeat the filters of that page's query; `limit` and `consistent` may change. */
  cursor?: Cursor | undefined;
  /** Events of this time and later; not after `to`. */
  from?: Time | Date | undefined;
  /** Events before this time. */
  to?: Time | Date | undefined;
  /** Events of this type. */
  type?: EventType | undefined;
  /** If true, the read shows every acknowledged write, at twice the price. */
  consistent?: boolean | undefined;
  /** The response to an empty page is delayed until an event arrives, for at most this many seconds. Only with the cursor of an oldest-first page. */
  wait?: number | undefined;
  /** Waits at most 5 s until this event shows. For an event older than two minutes the server looks only once; an id in the future is refused. Not with `cursor`. */
  wait_for?: EventId | undefined;
};

/** Get a user's feed, newest first: `GET /feeds/{user}`. */
export const getFeed = <T = unknown>(user: Name, query: GetFeedQuery = {}): Request<FeedPage<T>> => ({
  method: "GET",
  path: path`/feeds/${user}`,
  query,
});

/** Count the unread entries of a feed: `GET /feeds/{user}/unread`. */
export const getUnread = (user: Name): Request<Unread> => ({
  method: "GET",
  path: path`/feeds/${user}/unread`,
});

/** Follow a source: `PUT /users/{user}/following/{source}`. */
export const putFollowing = (user: Name, source: Source, body: Follow = {}): Request<Following> => ({
  method: "PUT",
  path: path`/users/${user}/following/${source}`,
  body,
});

/** Unfollow a source: `DELETE /users/{user}/following/{source}`. */
export const deleteFollowing = (user: Name, source: Source): Request<void> => ({
  method: "DELETE",
  path: path`/users/${user}/following/${source}`,
});

export type ListFollowingQuery = {
  /** The most entries of a page. */
  limit?: number | undefined;
  /** The `next` of a page. */
  cursor?: Cursor | undefined;
};

/** List the sources that a user follows: `GET /users/{user}/following`. */
export const listFollowing = (user: Name, query: ListFollowingQuery = {}): Request<FollowingList> => ({
  method: "GET",
  path: path`/users/${user}/following`,
  query,
});

export type ListFollowersQuery = {
  /** The most entries of a page. */
  limit?: number | undefined;
  /** The `next` of a page. */
  cursor?: Cursor | undefined;
};

/** List the followers of a source: `GET /sources/{source}/followers`. */
export const listFollowers = (source: Source, query: ListFollowersQuery = {}): Request<FollowerList> => ({
  method: "GET",
  path: path`/sources/${source}/followers`,
  query,
});

/** Get a source's number of followers, and its mode: `GET /sources/{source}`. */
export const getSource = (source: Source): Request<SourceView> => ({
  method: "GET",
  path: path`/sources/${source}`,
});

/** Mark a feed as seen up to an event: `PUT /feeds/{user}/seen`. */
export const putSeen = (user: Name, body: Seen): Request<void> => ({
  method: "PUT",
  path: path`/feeds/${user}/seen`,
  body,
});

export type StreamFeedQuery = {
  /** The cursor of an oldest-first page, or the id of a live message. Without it, the stream starts now. */
  cursor?: Cursor | undefined;
  /** Events of this type. */
  type?: EventType | undefined;
};

export type StreamFeedHeaders = {
  /** The id of the last message. It wins over `cursor`. */
  "Last-Event-ID"?: Cursor | undefined;
};

/** Follow a user's feed live: `GET /feeds/{user}/live`. */
export const streamFeed = (user: Name, query: StreamFeedQuery = {}, headers: StreamFeedHeaders = {}): Request<void> => ({
  method: "GET",
  path: path`/feeds/${user}/live`,
  query,
  headers,
});

export type GetProfileQuery = {
  /** If true, the read shows every acknowledged write, at twice the price. */
  consistent?: boolean | undefined;
};

/** Get a user's profile: `GET /users/{user}/profile`. */
export const getProfile = (user: Name, query: GetProfileQuery = {}): Request<Document> => ({
  method: "GET",
  path: path`/users/${user}/profile`,
  query,
});

export type PutProfileHeaders = {
  /** The `ETag` of the document to change or delete: exactly one, as a response returned it. Without it, an existing document is not changed, and the response has the current `ETag`. Not with `If-None-Match`. */
  "If-Match"?: string | undefined;
  /** `*`: write only if the document does not exist yet. */
  "If-None-Match"?: "*" | undefined;
};

/** Create or replace a user's profile: `PUT /users/{user}/profile`. */
export const putProfile = (user: Name, body: Document, headers: PutProfileHeaders = {}): Request<Document> => ({
  method: "PUT",
  path: path`/users/${user}/profile`,
  body,
  headers,
});

export type DeleteProfileHeaders = {
  /** The `ETag` of the document to change or delete: exactly one, as a response returned it. Without it, an existing document is not changed, and the response has the current `ETag`. Not with `If-None-Match`. */
  "If-Match"?: string | undefined;
  /** `*`: write only if the document does not exist yet. */
  "If-None-Match"?: "*" | undefined;
};

/** Delete a user's profile: `DELETE /users/{user}/profile`. */
export const deleteProfile = (user: Name, headers: DeleteProfileHeaders = {}): Request<void> => ({
  method: "DELETE",
  path: path`/users/${user}/profile`,
  headers,
});

export type GetSettingsQuery = {
  /** If true, the read shows every acknowledged write, at twice the price. */
  consistent?: boolean | undefined;
};

/** Get an application's settings: `GET /settings/{app}`. */
export const getSettings = (app: Name, query: GetSettingsQuery = {}): Request<Document> => ({
  method: "GET",
  path: path`/settings/${app}`,
  query,
});

export type PutSettingsHeaders = {
  /** The `ETag` of the document to change or delete: exactly one, as a response returned it. Without it, an existing document is not changed, and the response has the current `ETag`. Not with `If-None-Match`. */
  "If-Match"?: string | undefined;
  /** `*`: write only if the document does not exist yet. */
  "If-None-Match"?: "*" | undefined;
};

/** Create or replace an application's settings: `PUT /settings/{app}`. */
export const putSettings = (app: Name, body: Document, headers: PutSettingsHeaders = {}): Request<Document> => ({
  method: "PUT",
  path: path`/settings/${app}`,
  body,
  headers,
});

export type DeleteSettingsHeaders = {
  /** The `ETag` of the document to change or delete: exactly one, as a response returned it. Without it, an existing document is not changed, and the response has the current `ETag`. Not with `If-None-Match`. */
  "If-Match"?: string | undefined;
  /** `*`: write only if the document does not exist yet. */
  "If-None-Match"?: "*" | undefined;
};

/** Delete an application's settings: `DELETE /settings/{app}`. */
export const deleteSettings = (app: Name, headers: DeleteSettingsHeaders = {}): Request<void> => ({
  method: "DELETE",
  path: path`/settings/${app}`,
  headers,
});

export type ListIssuesQuery = {
  /** Only issues of this status. Not with `priority`. */
  status?: IssueStatus | undefined;
  /** Only issues of this priority. Not with `status`. */
  priority?: IssuePriority | undefined;
  /** Issues of this number and higher; not after `to`. */
  from?: IssueNumber | undefined;
  /** Issues of this number and lower. */
  to?: IssueNumber | undefined;
  /** `desc` (the default) is newest first. Optional with a cursor. */
  order?: "desc" | "asc" | undefined;
  /** The most entries of a page. */
  limit?: number | undefined;
  /** The `next` of a page. Repeat the filters of that page's query; `limit` and `consistent` may change. */
  cursor?: Cursor | undefined;
  /** The `<number>@<revision>` of an issue. Waits at most 5 s until the list shows that revision of the issue, or a later one. Not with `cursor`. */
  wait_for?: string | undefined;
  /** If true, the read shows every acknowledged write, at twice the price. Not with `status` or `priority`, because these are read from an index. */
  consistent?: boolean | undefined;
};

/** List a repository's issues, by number: `GET /repos/{owner}/{repo}/issues`. */
export const listIssues = (owner: RepositoryPart, repo: RepositoryPart, query: ListIssuesQuery = {}): Request<IssueList> => ({
  method: "GET",
  path: path`/repos/${owner}/${repo}/issues`,
  query,
});

/** Open an issue: `POST /repos/{owner}/{repo}/issues`. */
export const postIssue = (owner: RepositoryPart, repo: RepositoryPart, body: NewIssue): Request<Issue> => ({
  method: "POST",
  path: path`/repos/${owner}/${repo}/issues`,
  body,
});

export type GetIssueQuery = {
  /** If true, the read shows every acknowledged write, at twice the price. */
  consistent?: boolean | undefined;
};

/** Get an issue: `GET /repos/{owner}/{repo}/issues/{number}`. */
export const getIssue = (owner: RepositoryPart, repo: RepositoryPart, number: IssueNumber, query: GetIssueQuery = {}): Request<Issue> => ({
  method: "GET",
  path: path`/repos/${owner}/${repo}/issues/${number}`,
  query,
});

export type PatchIssueHeaders = {
  /** The `ETag` of the document to change or delete: exactly one, as a response returned it. Without it, an existing document is not changed, and the response has the current `ETag`. Not with `If-None-Match`. */
  "If-Match"?: string | undefined;
};

/** Change, close or reopen an issue: `PATCH /repos/{owner}/{repo}/issues/{number}`. */
export const patchIssue = (owner: RepositoryPart, repo: RepositoryPart, number: IssueNumber, body: IssueChange, headers: PatchIssueHeaders = {}): Request<Issue> => ({
  method: "PATCH",
  path: path`/repos/${owner}/${repo}/issues/${number}`,
  body,
  headers,
});

export type ListSessionsQuery = {
  /** Only sessions of this user. */
  user?: Name | undefined;
  /** The most entries of a page. */
  limit?: number | undefined;
  /** The `next` of a page. */
  cursor?: Cursor | undefined;
};

/** List the sessions, without their tokens: `GET /sessions`. */
export const listSessions = (query: ListSessionsQuery = {}): Request<SessionList> => ({
  method: "GET",
  path: path`/sessions`,
  query,
});

/** Create a session: `POST /sessions`. */
export const postSession = (body: NewSession): Request<SessionToken> => ({
  method: "POST",
  path: path`/sessions`,
  body,
});

export type DeleteSessionsQuery = {
  /** The user whose sessions are revoked. */
  user: Name;
};

/** Revoke all sessions of a user: `DELETE /sessions`. */
export const deleteSessions = (query: DeleteSessionsQuery): Request<RevokedSessions> => ({
  method: "DELETE",
  path: path`/sessions`,
  query,
});

/** Get the caller's own session or JWT: `GET /sessions/self`. */
export const getOwnSession = (): Request<OwnSession> => ({
  method: "GET",
  path: path`/sessions/self`,
});

/** Get a session, without its token: `GET /sessions/{id}`. */
export const getSession = (id: SessionId): Request<Session> => ({
  method: "GET",
  path: path`/sessions/${id}`,
});

/** Revoke a session: `DELETE /sessions/{id}`. */
export const deleteSession = (id: SessionId): Request<void> => ({
  method: "DELETE",
  path: path`/sessions/${id}`,
});

export type ListErasuresQuery = {
  /** The most entries of a page. */
  limit?: number | undefined;
  /** The `next` of a page. */
  cursor?: Cursor | undefined;
};

/** List the erasures of the last days: `GET /erasures`. */
export const listErasures = (query: ListErasuresQuery = {}): Request<ErasureList> => ({
  method: "GET",
  path: path`/erasures`,
  query,
});

/** Erase an actor, a user, or both: `POST /erasures`. */
export const postErasure = (body: NewErasure): Request<Erasure> => ({
  method: "POST",
  path: path`/erasures`,
  body,
});

/** Get an erasure: `GET /erasures/{id}`. */
export const getErasure = (id: ErasureId): Request<Erasure> => ({
  method: "GET",
  path: path`/erasures/${id}`,
});

/** Get a consumer's position: `GET /topics/{topic}/consumers/{name}`. */
export const getConsumer = (topic: Name, name: Name): Request<Consumer> => ({
  method: "GET",
  path: path`/topics/${topic}/consumers/${name}`,
});

/** Create or change a consumer: `PUT /topics/{topic}/consumers/{name}`. */
export const putConsumer = (topic: Name, name: Name, body: NewConsumer = {}): Request<Consumer> => ({
  method: "PUT",
  path: path`/topics/${topic}/consumers/${name}`,
  body,
});

/** Delete a consumer: `DELETE /topics/{topic}/consumers/{name}`. */
export const deleteConsumer = (topic: Name, name: Name): Request<void> => ({
  method: "DELETE",
  path: path`/topics/${topic}/consumers/${name}`,
});

/** Get the next batch: `POST /topics/{topic}/consumers/{name}/poll`. */
export const poll = <T = unknown>(topic: Name, name: Name, body: Poll = {}): Request<Polled<T>> => ({
  method: "POST",
  path: path`/topics/${topic}/consumers/${name}/poll`,
  body,
});

/** Commit a batch: `POST /topics/{topic}/consumers/{name}/commit`. */
export const commit = (topic: Name, name: Name, body: Commit): Request<void> => ({
  method: "POST",
  path: path`/topics/${topic}/consumers/${name}/commit`,
  body,
});

/** Move a consumer to another position: `POST /topics/{topic}/consumers/{name}/seek`. */
export const seek = (topic: Name, name: Name, body: Seek): Request<Consumer> => ({
  method: "POST",
  path: path`/topics/${topic}/consumers/${name}/seek`,
  body,
});

export type ListRunsQuery = {
  /** The most entries of a page. */
  limit?: number | undefined;
  /** The `next` of a page. */
  cursor?: Cursor | undefined;
};

/** List the runs of a reporting consumer: `GET /topics/{topic}/consumers/{name}/runs`. */
export const listRuns = (topic: Name, name: Name, query: ListRunsQuery = {}): Request<RunList> => ({
  method: "GET",
  path: path`/topics/${topic}/consumers/${name}/runs`,
  query,
});

/** Check that the service runs: `GET /health`. */
export const getHealth = (): Request<Health> => ({
  method: "GET",
  path: path`/health`,
});

/** Get this document: `GET /openapi.json`. */
export const getOpenApi = (): Request<Record<string, unknown>> => ({
  method: "GET",
  path: path`/openapi.json`,
});
