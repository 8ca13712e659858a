// The form that posts an event and shows its cost. Timelines and feeds use it.
//
// A text is sent as `{"text": …}`. Other data can be entered as JSON, which is sent unchanged. A request whose response was
// lost may be repeated, because it has an idempotency key: the event is written once.

import { apiUrl, call, exactly, isLocal, path, tokenUser } from "./api.js";
import { announce, button, div, el, field, form, mark, nameInput, suggested, suggestions, unmark } from "./dom.js";
import { cost } from "./format.js";
import { pressed } from "./task.js";

/** The users of the demo. */
export const PEOPLE = ["ada", "bob", "carol"];

/** Actors to suggest: only the local program has the demo's users. */
const people = () => (isLocal() ? PEOPLE : []);

/** The most rows of the field for JSON. */
const MOST_ROWS = 20;

/** The most types, and the most subjects, that are remembered of a topic. */
const MOST = 100;

/** The type of the last post of this tab, by API and topic. */
const posts = new Map();

const last = (topic) => posts.get(`${apiUrl()} ${topic}`) ?? "";

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
export function faultOf(text) {
  try {
    if (text.trim()) JSON.parse(text);
    return "";
  } catch (error) {
    return `This is not valid JSON: ${error.message}`;
  }
}

/**
 * Makes the form. `topic`, `actor` and `subject` are what it begins with. `posted(event)` is called with each accepted event.
 * Returns its element, and `fill(event)`, which writes a copy of an event into the form, to be changed and posted.
 */
export function composer({ topic, actor = tokenUser() ?? people()[0], subject: about = "", posted, signal }) {
  const where = nameInput({ name: "topic", value: topic, required: true });
  const place = () => where.value.trim();
  const who = suggested(people(), { name: "actor", value: actor ?? "", required: true });
  const type = suggested([], { name: "type", value: last(topic), placeholder: "note.added", required: true });
  const text = el("input", { placeholder: "What happened?", autocomplete: "off" });
  const subject = suggested([], { name: "subject", value: about, placeholder: "none" });
  const json = el("textarea", { name: "data", rows: "3", spellcheck: "false", placeholder: '{"amount": 12.50}' });
  const tidy = button("Format", () => {
    if (json.value.trim() && json.reportValidity()) write(exactly(json.value));
  });
  const submit = el("button", { type: "submit", class: "primary" }, "Post");
  const price = el("output", { class: "price" });
  const summary = el("summary", {});

  /** Checks the text and the JSON. The summary says what the closed part holds. */
  const check = () => {
    const data = json.value.trim();
    const fault = data && text.value ? "Enter a text or JSON, not both." : faultOf(data);
    text.required = !data;
    json.setCustomValidity(fault);
    if (fault) mark(json, fault);
    else unmark(json);
    const holds = [subject.value.trim() && "a subject", data && "JSON"].filter(Boolean).join(" and ");
    summary.textContent = holds ? `Subject and data: has ${holds}` : "Subject and data";
  };

  /** Writes data into the form as JSON, on as many lines as there are, up to some. */
  const write = (data) => {
    json.value = JSON.stringify(data, null, 2);
    json.rows = Math.min(MOST_ROWS, json.value.split("\n").length + 1);
    check();
  };

  const fill = ({ topic, actor, type: like, subject: about, data }) => {
    [where.value, who.value, type.value, subject.value] = [topic, actor, like, about ?? ""];
    const isText = typeof data?.text === "string" && Object.keys(data).length === 1;
    text.value = isText ? data.text : "";
    json.value = "";
    if (isText || data === undefined) check();
    else write(data);
    more.open = Boolean(about) || !isText;
    (isText ? text : json).focus();
  };

  const suggest = () => {
    suggestions(type, typesOf(place()));
    suggestions(subject, [...knownOf(place()).subjects].sort());
  };
  addEventListener("learnt", suggest, { signal });
  where.addEventListener("change", () => {
    suggest();
    type.value ||= last(place());
  });

  /** The last request that was not accepted. */
  let attempt = null;
  const post = () =>
    pressed(submit, element, async () => {
      const parts = { type: type.value.trim(), actor: who.value.trim() };
      if (subject.value.trim()) parts.subject = subject.value.trim();
      const data = json.value.trim() || JSON.stringify({ text: text.value });
      const topic = place();
      const body = `${JSON.stringify(parts).slice(0, -1)},"data":${data}}`;
      price.textContent = "";
      if (attempt?.body !== body || attempt.topic !== topic) attempt = { topic, body, key: crypto.randomUUID() };
      const headers = { "Idempotency-Key": attempt.key };
      const answer = await call("POST", `${path("topics", topic)}/events`, { body, headers, signal });
      attempt = null;
      posts.set(`${apiUrl()} ${topic}`, parts.type);
      const wasThere = answer.status === 200 ? "The first request had already written the event. " : "";
      price.textContent = `${wasThere}${cost(answer)}, with an idempotency key`;
      announce(`Posted: ${price.textContent}.`);
      text.value = json.value = "";
      check();
      posted?.({ topic, ...answer.data });
    });

  const more = el(
    "details",
    {},
    summary,
    div(
      "fields",
      field("Subject", subject),
      field("Data, as JSON (replaces the text)", json, { wide: true }),
      div("actions wide", tidy),
    ),
  );
  const element = form(
    { class: "composer", "aria-label": "Post an event" },
    post,
    div("fields", field("To topic", where), field("Actor", who), field("Type", type), field("Text", text, { wide: true }), submit),
    div("actions", more, price),
  );
  // After the form's own listener, which removes the mark of a field that changes.
  element.addEventListener("input", check);
  check();
  suggest();
  return { element, fill };
}
