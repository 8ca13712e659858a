// The one error of this client. Act on `code`, which is stable.

import type { Code, EventId, Fault } from "./api.js";
import type { Cost } from "./cost.js";

/** A code of the API, or one of the client: no response came, or a response that is not Lately's. */
export type ProblemCode = Code | "rate-limited" | "unreachable" | "invalid-response" | (string & {});

export interface ProblemFields {
  /** 0 if no response came. */
  status: number;
  code: ProblemCode;
  title?: string | undefined;
  detail?: string | undefined;
  /** The faults of single fields. */
  errors?: Fault[] | undefined;
  /** With `partially-accepted`: the events that were written, and those that were not. */
  accepted?: { index: number; id: EventId }[] | undefined;
  rejected?: { index: number; code: Code }[] | undefined;
  request_id?: string | undefined;
}

export class LatelyProblem extends Error implements ProblemFields {
  readonly status: number;
  readonly code: ProblemCode;
  readonly title: string;
  readonly detail: string;
  readonly errors: Fault[];
  readonly accepted: { index: number; id: EventId }[];
  readonly rejected: { index: number; code: Code }[];
  readonly request_id: string | undefined;
  /** The seconds that the server asks to wait. */
  readonly retryAfter: number | undefined;
  /** With `revision-mismatch`: the current revision, if the record exists. */
  readonly revision: string | undefined;
  /** The price of the failed call. */
  readonly cost: Cost;

  constructor(
    fields: ProblemFields,
    {
      retryAfter,
      revision,
      cost = {},
      cause,
    }: { retryAfter?: number | undefined; revision?: string | undefined; cost?: Cost; cause?: unknown } = {},
  ) {
    const [fault] = fields.errors ?? [];
    const detail = fields.detail ?? fields.title ?? "";
    super(`${fields.status} ${fields.code}: ${detail}${fault ? ` ${fault.path}: ${fault.message}` : ""}`, { cause });
    this.name = "LatelyProblem";
    this.status = fields.status;
    this.code = fields.code;
    this.title = fields.title ?? fields.code;
    this.detail = fields.detail ?? "";
    this.errors = fields.errors ?? [];
    this.accepted = fields.accepted ?? [];
    this.rejected = fields.rejected ?? [];
    this.request_id = fields.request_id;
    this.retryAfter = retryAfter;
    this.revision = revision;
    this.cost = cost;
  }

  /** Whether the same request may succeed later. */
  get isTemporary(): boolean {
    return [0, 429, 502, 503].includes(this.status) || (this.status === 504 && this.code !== "not-yet-visible");
  }

  /** Whether another token may help. The gateway's own 403, which has no title, does not say why. */
  get refusesToken(): boolean {
    return this.status === 401 || this.code === "invalid-token" || (this.status === 403 && this.title === this.code);
  }
}

// Responses that the gateway itself makes have no code.
const GATEWAY_CODES: Record<number, ProblemCode> = {
  401: "missing-token",
  403: "forbidden",
  404: "route-not-found",
  413: "too-large",
  429: "rate-limited",
  502: "unavailable",
  503: "unavailable",
  504: "unavailable",
};

/** The fields of a problem, from the body of a response that is not 2xx. */
export function problemFields(status: number, text: string): ProblemFields {
  let body: Partial<ProblemFields & { message: string }> | null = null;
  try {
    body = JSON.parse(text);
  } catch {
    // Another server's page.
  }
  if (typeof body?.code === "string") return { ...body, status, code: body.code };
  return { status, code: GATEWAY_CODES[status] ?? "invalid-response", detail: body?.message ?? "" };
}

/** The problem of a request that got no response. `fetch` of Node.js has the reason in the error's cause. */
export function unreachable(cause: unknown): LatelyProblem {
  const { code, message = "" } = (cause as { cause?: { code?: string; message?: string } } | undefined)?.cause ?? {};
  const reason = code ?? message;
  const detail = `${String(cause)}${reason && ` (${reason})`}`;
  return new LatelyProblem({ status: 0, code: "unreachable", detail }, { cause });
}
