// The form that posts an event and shows its cost. Timelines and feeds use it.
//
// A text is sent as `{"text": …}`. Other data can be entered as JSON, which is sent unchanged. A request whose response was
// lost may be repeated, because it has an idempotency key: the event is written once.

import { apiUrl, call, isLocal, path, tokenUser } from "./api.js";
import { announce, el, field, form, suggested, suggestions } from "./dom.js";
import { cost } from "./format.js";
import { pressed } from "./task.js";

/** The users of the demo. */
export const PEOPLE = ["ada", "bob", "carol"];

/** Actors to suggest: only the local program has the demo's users. */
const people = () => (isLocal() ? PEOPLE : []);

/** The type of a post to a topic of which no events were read. */
const EXAMPLE = "note.added";

/** The most types, and the most subjects, that are remembered of a topic. */
const MOST = 100;

/** The types and subjects of the events that were read, by API and topic. */
const known = new Map();

const knownOf = (topic) => known.get(`${apiUrl()} ${topic}`) ?? { types: new Set(), subjects: new Set() };

/** Remembers the types and subjects of events that were read, newest first. Forms suggest them. */
export function learn(events) {
  for (const { topic, type, subject } of events) {
    const { types, subjects } = knownOf(topic);
    if (types.size < MOST) types.add(type);
    if (subject && subjects.size < MOST) subjects.add(subject);
    known.set(`${apiUrl()} ${topic}`, { types, subjects });
  }
  dispatchEvent(new Event("learnt"));
}

/** The types to suggest for a topic. Any other type can be entered. */
export const typesOf = (topic) => [...knownOf(topic).types].sort();

/** The fault of a text that is not JSON. */
function faultOf(text) {
  try {
    if (text.trim()) JSON.parse(text);
    return "";
  } catch (error) {
    return `This is not valid JSON: ${error.message}`;
  }
}

/** Makes the form. `posted(event)` is called with each accepted event. */
export function composer({ topic, actor = tokenUser() ?? people()[0], actors = people(), posted, signal }) {
  const who = suggested(actors, { name: "actor", value: actor ?? "", required: true });
  const type = suggested([], { name: "type", required: true });
  const text = el("input", { placeholder: "What happened?", autocomplete: "off" });
  const subject = suggested([], { name: "subject", placeholder: "none" });
  const json = el("textarea", { name: "data", rows: "3", spellcheck: "false", placeholder: '{"amount": 12.50}' });
  const submit = el("button", { type: "submit", class: "primary" }, "Post");
  const price = el("output", { class: "price" });
  const summary = el("summary", {});

  /** Checks the text and the JSON. The summary says what the closed part holds. */
  const check = () => {
    const data = json.value.trim();
    text.required = !data;
    json.setCustomValidity(data && text.value ? "Enter a text or JSON, not both." : faultOf(data));
    const holds = [subject.value.trim() && "a subject", data && "JSON"].filter(Boolean).join(" and ");
    summary.textContent = holds ? `Subject and data: has ${holds}` : "Subject and data";
  };

  const suggest = () => {
    const { types, subjects } = knownOf(topic);
    suggestions(type, typesOf(topic));
    suggestions(subject, [...subjects].sort());
    const [newest = EXAMPLE] = types;
    // A value that the user typed stays.
    type.defaultValue = newest;
  };
  addEventListener("learnt", suggest, { signal });

  /** The last request that was not accepted. */
  let attempt = null;
  const post = () =>
    pressed(submit, element, async () => {
      const parts = { type: type.value.trim(), actor: who.value.trim() };
      if (subject.value.trim()) parts.subject = subject.value.trim();
      const data = json.value.trim() || JSON.stringify({ text: text.value });
      const body = `${JSON.stringify(parts).slice(0, -1)},"data":${data}}`;
      price.textContent = "";
      if (attempt?.body !== body) attempt = { body, key: crypto.randomUUID() };
      const headers = { "Idempotency-Key": attempt.key };
      const answer = await call("POST", `${path("topics", topic)}/events`, { body, headers, signal });
      attempt = null;
      const wasThere = answer.status === 200 ? "The first request had already written the event. " : "";
      price.textContent = `${wasThere}${cost(answer)}, with an idempotency key`;
      announce(`Posted: ${price.textContent}.`);
      text.value = json.value = "";
      check();
      posted?.({ topic, ...answer.data });
    });

  const element = form(
    { class: "composer", "aria-label": `Post to ${topic}`, oninput: check },
    post,
    el("div", { class: "fields" }, field("Actor", who), field("Type", type), field("Text", text, { wide: true }), submit),
    el(
      "div",
      { class: "below" },
      el(
        "details",
        {},
        summary,
        el(
          "div",
          { class: "fields" },
          field("Subject", subject),
          field("Data, as JSON (replaces the text)", json, { wide: true }),
        ),
      ),
      price,
    ),
  );
  check();
  suggest();
  return element;
}
