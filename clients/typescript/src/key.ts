// Idempotency keys.

import { LatelyProblem } from "./problem.js";

/** A key that nobody else has. Pages that are not secure contexts have no `crypto.randomUUID`. */
export const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The header of a key. Other characters than these cannot be sent in a header. */
export function keyHeader(key: string | null): { "Idempotency-Key"?: string } {
  if (key === null) return {};
  if (!/^[\t -~]*$/.test(key)) {
    throw new LatelyProblem({ status: 400, code: "invalid-idempotency-key", detail: "Use printable ASCII characters." });
  }
  return { "Idempotency-Key": key };
}
