// The client of Lately. `api` has the types of the API, and a function for each of its requests.

export * as api from "./api.js";
export type { Code, Event, Issue as IssueView, NewEvent, TimelineEvent } from "./api.js";
export { Lately, Repo, Sessions, Source } from "./client.js";
export { Consumer } from "./consumer.js";
export type { Cost } from "./cost.js";
export { Feed, User } from "./feed.js";
export type { Followed, FollowOptions } from "./follow.js";
export { LatelyProblem, type ProblemCode } from "./problem.js";
export { Document, Issue, type Versioned } from "./record.js";
export type { Request } from "./request.js";
export { Timeline, type EventPage } from "./timeline.js";
export { Topic, type PostOptions } from "./topic.js";
export type { Call, Options } from "./transport.js";
