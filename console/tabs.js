// Messages between this browser's tabs of the console. They cost no requests, so they also work with a deployed stack.

const channel = new BroadcastChannel("lately");

/** Sends `value` to the other tabs. */
export const tell = (kind, value) => channel.postMessage({ kind, value });

/** Calls `listener` with the values that other tabs send. */
export const hear = (kind, listener, signal) =>
  channel.addEventListener("message", ({ data }) => data.kind === kind && listener(data.value), { signal });
