// The system while it works, and while it is disturbed: the table's stream with fan-out, which reads it, the batches that
// fan-out gave up on, and faults. Only the local program has them; a deployed stack has none of this.

import { el, heading } from "./dom.js";
import { faults } from "./faults.js";
import { watch } from "./live.js";
import { stream } from "./stream.js";

export function open(place, parameters, signal) {
  const disturbed = faults(parameters, signal);
  const watched = stream(signal, disturbed.fail);
  const [figures, failures, shards] = watched.parts;
  const [forms, showcase, history] = disturbed.parts;
  place.append(
    heading(
      "Stream and faults",
      "The table's stream is the message bus. Fan-out reads it in batches, retries a batch that fails, splits a batch that keeps failing, and stores a batch that it gives up on, so that you can redrive it. Inject faults below and watch the system recover.",
    ),
    figures,
    showcase,
    el("h2", {}, "Faults"),
    forms,
    failures,
    shards,
    history,
  );
  const begin = () => Promise.all([watched.begin(), disturbed.begin()]);
  signal.addEventListener("abort", watch({ begin }));
  // A link that names a partition leads to the fault's form.
  if (parameters.has("throttle")) setTimeout(() => forms.querySelector("input").focus());
}
