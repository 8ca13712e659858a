// Records: profiles, settings and issues. Each has a revision, and a write names the revision that it replaces, so that
// no update is lost.
//
// The client repeats no such write after a failure that leaves open whether it was done (503, or no response): read the
// record to know.

import * as api from "./api.js";
import { LatelyProblem } from "./problem.js";
import type { Request } from "./request.js";
import type { Transport } from "./transport.js";

export interface Versioned<T> {
  value: T;
  revision: string;
}

type Headers = { "If-Match"?: string; "If-None-Match"?: "*" };

interface RecordRoutes {
  get: (query: { consistent?: boolean }) => Request<api.Document>;
  put: (value: api.Document, headers: Headers) => Request<api.Document>;
  delete: (headers: Headers) => Request<void>;
}

const ifMatch = (revision: string | number) => ({ "If-Match": `"${revision}"` });

/** A profile or the settings of an application: any JSON object. */
export class Document<T extends object = api.Document> {
  constructor(
    private readonly transport: Transport,
    private readonly routes: RecordRoutes,
  ) {}

  async get(query: { consistent?: boolean } = {}): Promise<Versioned<T>> {
    return (await this.transport.send(this.routes.get(query))) as Versioned<T>;
  }

  /** Creates the record, or replaces the given revision. */
  async put(value: T, revision?: string): Promise<Versioned<T>> {
    const headers: Headers = revision === undefined ? { "If-None-Match": "*" } : ifMatch(revision);
    return (await this.transport.send(this.routes.put(value as api.Document, headers))) as Versioned<T>;
  }

  /** Deletes the given revision. Without a revision, only a record that does not exist is "deleted". */
  delete(revision?: string): Promise<void> {
    return this.transport.value(this.routes.delete(revision === undefined ? {} : ifMatch(revision)));
  }

  /** Reads, changes and writes the record, and begins again if somebody else wrote meanwhile. `null`: no record yet. */
  update(change: (value: T | null) => T): Promise<Versioned<T>> {
    return untilCurrent(this.transport, async () => {
      const current = await this.get({ consistent: true }).catch((error: unknown) => {
        if (error instanceof LatelyProblem && error.code === "not-found") return null;
        throw error;
      });
      return this.put(change(current?.value ?? null), current?.revision);
    });
  }
}

export class Issue {
  constructor(
    private readonly transport: Transport,
    readonly owner: string,
    readonly repo: string,
    readonly number: number,
  ) {}

  get(query: api.GetIssueQuery = {}): Promise<api.Issue> {
    return this.transport.value(api.getIssue(this.owner, this.repo, this.number, query));
  }

  /** Changes the given revision of the issue. */
  change(change: api.IssueChange, revision: number | string): Promise<api.Issue> {
    return this.transport.value(api.patchIssue(this.owner, this.repo, this.number, change, ifMatch(revision)));
  }

  /** Reads and changes the issue, and begins again if somebody else wrote meanwhile. */
  update(change: (issue: api.Issue) => api.IssueChange): Promise<api.Issue> {
    return untilCurrent(this.transport, async () => {
      const issue = await this.get({ consistent: true });
      return this.change(change(issue), issue.revision);
    });
  }
}

/** Runs an update again while its revision is not the current one. */
async function untilCurrent<T>(transport: Transport, update: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await update();
    } catch (error) {
      const outdated = error instanceof LatelyProblem && error.code === "revision-mismatch";
      if (!outdated || attempt >= transport.attempts) throw error;
      await transport.pause(attempt);
    }
  }
}
