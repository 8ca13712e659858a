// Work that goes on after its response: the page reads how far it is until it is done, or until the panel is closed.

import { call, isLocal } from "./api.js";
import { polling } from "./meter.js";

/** The time between two reads. A deployed stack's reads cost money. */
const pause = () => (isLocal() ? 1000 : 5000);

/** Reads `target` again and again, and passes what it says to `show`. Ends when its `state` is `done`. */
export async function untilDone(target, show, signal) {
  for (;;) {
    const { data } = await polling(() => call("GET", target, { signal }));
    show(data);
    if (data.state === "done") return;
    await new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, pause());
      signal.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
    });
  }
}
