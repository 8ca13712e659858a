// A request as data: the functions of api.ts build requests, the transport sends them.

import { LatelyProblem } from "./problem.js";

/** A request whose successful response has a body of type `T`. */
export interface Request<T> {
  method: string;
  path: string;
  query?: object;
  headers?: Record<string, string | undefined> | undefined;
  body?: unknown;
  /** Never set: this field only carries the type. */
  readonly result?: T;
}

/** The data of an event: any JSON, which responses return as it was sent. It may be absent if `T` may be undefined. */
export type Data<T> = undefined extends T ? { data?: T } : { data: T };

/** A path whose parts are percent-encoded. */
export const path = (texts: TemplateStringsArray, ...parts: (string | number)[]): string =>
  String.raw({ raw: texts }, ...parts.map(part));

// A URL cannot contain these parts: `fetch` would take them away and ask another route.
function part(value: string | number): string {
  if (["", ".", ".."].includes(String(value))) {
    throw new LatelyProblem({ status: 400, code: "invalid-name", detail: `"${value}" cannot be a part of a path.` });
  }
  return encodeURIComponent(value);
}

/** Whether sending the request twice ends like sending it once. */
export function isRepeatable({ method, path, headers = {} }: Request<unknown>): boolean {
  if (headers["Idempotency-Key"] !== undefined) return true;
  // The first sending raises the revision, so the second would be refused.
  if (headers["If-Match"] !== undefined || headers["If-None-Match"] !== undefined) return false;
  return ["GET", "PUT", "DELETE"].includes(method) || /\/(poll|commit|seek|erasures)$/.test(path);
}
