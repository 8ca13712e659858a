// Profiles of users and settings of applications: JSON objects with revisions.

import { chooser } from "./address.js";
import { apiUrl, call, exactly, path, tokenUser } from "./api.js";
import { faultOf } from "./compose.js";
import { announce, button, div, el, empty, field, heading, nameInput } from "./dom.js";
import { asTyped, Editor } from "./editor.js";
import { watch } from "./live.js";
import { userForm } from "./people.js";
import { asking } from "./task.js";

/** The panels of the kinds of records, each with `open(place, parameters, signal)`. */
export const profile = { open: (place, parameters, signal) => openProfile(place, parameters.get("user") ?? tokenUser() ?? "", signal) };
export const settings = { open: (place, parameters, signal) => openSettings(place, parameters.get("app") ?? "", signal) };

const ABOUT = "A JSON object with a revision. A write with an old revision is rejected, so nobody overwrites a change that they have not seen.";

function openProfile(place, user, signal) {
  place.append(heading("Profile", ABOUT), userForm("profile", user));
  show(place, "Profile", user, path("users", user, "profile"), signal);
}

function openSettings(place, app, signal) {
  const name = nameInput({ value: app, required: true });
  place.append(heading("Settings of applications", ABOUT), chooser("settings", "Application", "app", name));
  show(place, "Settings", app, path("settings", app), signal);
}

function show(place, title, name, target, signal) {
  if (name) edit(place, `${title} of ${name}`, target, signal);
  else place.append(div("card", empty("No record is selected.", "Enter a name.")));
}

/** The editor of a record's text. */
function edit(place, title, target, signal) {
  const text = (value) => JSON.stringify(value) ?? "absent";
  const write = (version, body) => call("PUT", target, { body, headers: editor.condition(version), as: "text", signal });
  const remove = (version) =>
    editor.unlessChanged(version, version.data, async () => {
      await call("DELETE", target, { headers: editor.condition(version), signal });
      announce("The record is deleted.");
      await editor.discard();
    });
  const controls = (version, typed = version.data) => {
    const data = el("textarea", { rows: "14", spellcheck: "false", required: true, placeholder: '{"name": "Ada"}', value: typed });
    const check = () => data.setCustomValidity(faultOfObject(data.value));
    const tidy = button("Format", () => {
      if (!data.reportValidity()) return;
      data.value = JSON.stringify(exactly(data.value), null, 2);
      data.dispatchEvent(new Event("input", { bubbles: true }));
    });
    data.addEventListener("input", check);
    check();
    const ask = asking("Delete", "Delete this record? Other readers no longer find it.", editor.said, () => remove(version));
    return {
      fields: [field("JSON object", data, { wide: true })],
      buttons: tidy,
      below: version.etag === null ? [] : [ask],
      typed: () => (data.value === asTyped(version.data) ? null : data.value),
    };
  };
  const versions = (...texts) => {
    const [before, mine, theirs] = texts.map((it) => exactly((it.data ?? it) || "{}"));
    return { before, mine, theirs };
  };
  const merge = (fields) => JSON.stringify(fields, null, 2);
  const editor = new Editor(title, signal, { what: "record", address: apiUrl() + target, target, optional: true, as: "text", text, controls, write, versions, merge });
  place.append(editor.element);
  signal.addEventListener("abort", watch({ begin: () => editor.shown.querySelector("form") ?? editor.open() }));
}

/** The fault of a text that is not a JSON object. */
const faultOfObject = (text) => faultOf(text) || (/^\s*\{/.test(text) ? "" : "Enter a JSON object: { … }.");
