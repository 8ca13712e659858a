// Splits a list of events into the batches of single requests.

import type { NewEvent } from "./api.js";

const MOST_EVENTS = 500;
const MOST_BYTES = 3 * 1024 * 1024;

/** Batches that the API accepts. The same events give the same batches, so that a repetition has the same bodies. */
export function* batchesOf<E extends NewEvent>(events: Iterable<E>): Generator<E[]> {
  const encoder = new TextEncoder();
  let batch: E[] = [];
  // Two brackets around the batch, and a comma behind each event.
  let bytes = 2;
  for (const event of events) {
    const size = encoder.encode(JSON.stringify(event)).length + 1;
    if (batch.length === MOST_EVENTS || (batch.length > 0 && bytes + size > MOST_BYTES)) {
      yield batch;
      [batch, bytes] = [[], 2];
    }
    batch.push(event);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
