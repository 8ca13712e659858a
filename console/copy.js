// Copies for other programs: a request as a curl command or as a command of `lately`, and events as JSON or as a file.

import { apiUrl, isLocal, isUsual } from "./api.js";
import { announce, button, el } from "./dom.js";
import { succeeds } from "./task.js";

/** The API that `lately` uses unless it is told another. */
const DEFAULT_URL = "http://127.0.0.1:3000";

/** A button that copies the text of `text()`, and says so for a while. */
export function copyButton(label, text) {
  const control = button(
    label,
    async () => {
      const copied = await succeeds(navigator.clipboard.writeText(text()));
      control.textContent = copied ? "Copied" : "The browser refused to copy";
      announce(control.textContent);
      setTimeout(() => (control.textContent = label), 1500);
    },
    { class: "as-link" },
  );
  return control;
}

/** A button that saves the text of `text()` as a file. */
export const saveButton = (label, name, text) =>
  button(
    label,
    () => {
      const href = URL.createObjectURL(new Blob([text()]));
      el("a", { href, download: name }).click();
      // The browser has begun to read the file by then.
      setTimeout(() => URL.revokeObjectURL(href), 60_000);
      announce(`Saved as ${name}.`);
    },
    { class: "as-link" },
  );

/** Events as lines of JSON. */
export const ndjson = (events) => events.map((event) => `${JSON.stringify(event)}\n`).join("");

const COLUMNS = ["id", "at", "topic", "type", "actor", "subject", "data"];

/**
 * Events as CSV (RFC 4180), with their data as JSON. No value can be a spreadsheet's formula: names begin with a letter or a
 * digit, and JSON does not begin with `=`, `+` or `@`.
 */
export function csv(events) {
  const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const line = (event) =>
    COLUMNS.map((name) => (name === "data" ? JSON.stringify(event.data) : event[name]) ?? "").map(quoted).join(",");
  return [COLUMNS.join(","), ...events.map(line), ""].join("\r\n");
}

/** A word of a shell command. */
const word = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`);

/** The curl command that reads a path of the API. The token of a deployed API is not copied: it is in the environment. */
export function curl(target) {
  const token = isLocal() && isUsual() ? "dev" : "$LATELY_TOKEN";
  return `curl -s ${word(apiUrl() + target)} -H "Authorization: Bearer ${token}"`;
}

/** A command of `lately`, with the options that have a value. */
export function lately(command, topic, options) {
  const given = Object.entries({ ...options, url: apiUrl() === DEFAULT_URL ? "" : apiUrl() })
    .filter(([, value]) => value)
    .map(([name, value]) => `${name.length === 1 ? "-" : "--"}${name}=${word(value)}`);
  return ["lately", command, word(topic), ...given].join(" ");
}

/** The buttons that copy an event and the ways to it. */
export function copiesOf(event, target) {
  const { topic, type, actor, subject, data } = event;
  const again = { type, actor, subject, data: data === undefined ? "" : JSON.stringify(data) };
  return [
    copyButton("Copy link", () => location.href),
    copyButton("Copy as JSON", () => JSON.stringify(event, null, 2)),
    copyButton("Copy as curl", () => curl(target)),
    copyButton("Copy as lately post", () => lately("post", topic, again)),
  ];
}
