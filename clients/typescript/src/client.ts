// The client: a handle for each thing of the API. A handle sends nothing until one of its methods is called.

import * as api from "./api.js";
import type { Cost } from "./cost.js";
import { Feed, User } from "./feed.js";
import { Document, Issue } from "./record.js";
import type { Request } from "./request.js";
import { Timeline } from "./timeline.js";
import { Topic } from "./topic.js";
import { Transport, type Options } from "./transport.js";

export class Lately {
  readonly #transport: Transport;

  constructor(options: Options | Transport) {
    this.#transport = options instanceof Transport ? options : new Transport(options);
  }

  /** The same client with other options, such as the `signal` or the `onCall` of a single call. */
  using(options: Partial<Options>): Lately {
    return new Lately(this.#transport.using(options));
  }

  /** The cost of all calls until now. */
  get cost(): Readonly<Cost> {
    return { ...this.#transport.shared.cost };
  }

  /** Sends any request that the functions of `api` build. */
  send<T>(request: Request<T>): Promise<T> {
    return this.#transport.value(request);
  }

  topics(query: api.ListTopicsQuery = {}): AsyncGenerator<api.TopicSummary> {
    return this.#transport.list(api.listTopics, ({ topics }) => topics, query);
  }

  /** A topic. `T` is the type of its events' `data`, as far as the caller knows it: nothing checks this at run time. */
  topic<T = unknown>(name: string): Topic<T> {
    return new Topic(this.#transport, name);
  }

  /** The events that an actor did. */
  actor<T = unknown>(name: string): Timeline<api.GetActorEventsQuery, api.TimelinePage<T>> {
    return new Timeline(this.#transport, "actors", name, (query) => api.getActorEvents(name, query));
  }

  /** The events about a subject. */
  subject<T = unknown>(name: string): Timeline<api.GetSubjectEventsQuery, api.TimelinePage<T>> {
    return new Timeline(this.#transport, "subjects", name, (query) => api.getSubjectEvents(name, query));
  }

  feed<T = unknown>(user: string): Feed<T> {
    return new Feed(this.#transport, user);
  }

  user(name: string): User {
    return new User(this.#transport, name);
  }

  /** An actor or a subject that users can follow: `actor:ada`, `subject:repo:octo:hello`. */
  source(name: string): Source {
    return new Source(this.#transport, name);
  }

  /** The settings of an application. */
  settings<T extends object = api.Document>(app: string): Document<T> {
    return new Document(this.#transport, {
      get: (query) => api.getSettings(app, query),
      put: (value, headers) => api.putSettings(app, value, headers),
      delete: (headers) => api.deleteSettings(app, headers),
    });
  }

  repo(owner: string, name: string): Repo {
    return new Repo(this.#transport, owner, name);
  }

  get sessions(): Sessions {
    return new Sessions(this.#transport);
  }

  get erasures(): Erasures {
    return new Erasures(this.#transport);
  }

  health(): Promise<api.Health> {
    return this.#transport.value(api.getHealth());
  }
}

export class Source {
  constructor(
    private readonly transport: Transport,
    readonly name: string,
  ) {}

  get(): Promise<api.SourceView> {
    return this.transport.value(api.getSource(this.name));
  }

  followers(query: api.ListFollowersQuery = {}): AsyncGenerator<api.Follower> {
    return this.transport.list(
      (query) => api.listFollowers(this.name, query),
      ({ followers }) => followers,
      query,
    );
  }
}

export class Repo {
  constructor(
    private readonly transport: Transport,
    readonly owner: string,
    readonly name: string,
  ) {}

  /** Opens an issue. The client repeats this only after 429, because a repetition opens another issue. */
  open(issue: api.NewIssue): Promise<api.Issue> {
    return this.transport.value(api.postIssue(this.owner, this.name, issue));
  }

  issues(query: api.ListIssuesQuery = {}): AsyncGenerator<api.Issue> {
    return this.transport.list(
      (query) => api.listIssues(this.owner, this.name, query),
      ({ issues }) => issues,
      query,
    );
  }

  issue(number: number): Issue {
    return new Issue(this.transport, this.owner, this.name, number);
  }
}

/** The sessions of tokens (scope `admin`, but for `self`). */
export class Sessions {
  constructor(private readonly transport: Transport) {}

  /** The session of the client's own token. */
  self(): Promise<api.OwnSession> {
    return this.transport.value(api.getOwnSession());
  }

  /** Creates a session. Only this response has the token. */
  create(session: api.NewSession): Promise<api.SessionToken> {
    return this.transport.value(api.postSession(session));
  }

  list(query: api.ListSessionsQuery = {}): AsyncGenerator<api.Session> {
    return this.transport.list(api.listSessions, ({ sessions }) => sessions, query);
  }

  get(id: string): Promise<api.Session> {
    return this.transport.value(api.getSession(id));
  }

  revoke(id: string): Promise<void> {
    return this.transport.value(api.deleteSession(id));
  }

  revokeAll(user: string): Promise<api.RevokedSessions> {
    return this.transport.value(api.deleteSessions({ user }));
  }
}

/** Erasures of actors and users (scope `admin`). */
export class Erasures {
  constructor(private readonly transport: Transport) {}

  /** Erases an actor, a user, or both. This call ends when the erasure has begun; `get` says how far it is. */
  begin(erasure: api.NewErasure): Promise<api.Erasure> {
    return this.transport.value(api.postErasure(erasure));
  }

  /** The erasures of the last days, newest first. */
  list(query: api.ListErasuresQuery = {}): AsyncGenerator<api.Erasure> {
    return this.transport.list(api.listErasures, ({ erasures }) => erasures, query);
  }

  /** An erasure; when its state is `done`, the receipt. */
  get(id: string): Promise<api.Erasure> {
    return this.transport.value(api.getErasure(id));
  }
}
