// The form that posts an event and shows its cost. Timelines and feeds use it.
//
// A text is sent as `{"text": …}`. Other data can be entered as JSON, which is sent unchanged.

import { call, path } from "./api.js";
import { announce, el, field, form, suggested } from "./dom.js";
import { cost } from "./format.js";
import { pressed } from "./task.js";

export const PEOPLE = ["ada", "bob", "carol"];

const TYPES = {
  posts: ["post.created", "post.liked", "post.edited"],
  billing: ["invoice.issued", "invoice.paid", "usage.metered", "refund.made"],
  deploys: ["deploy.started", "deploy.finished", "deploy.rolled-back"],
  issues: ["issue.opened", "issue.updated", "issue.closed", "issue.reopened"],
};

/** Types to suggest for a topic. Any other type can be entered. */
export const typesOf = (topic) => TYPES[topic] ?? ["note.added"];

/** Makes the form. `posted(event)` is called with each accepted event. */
export function composer({ topic, actor = "ada", actors = PEOPLE, posted, signal }) {
  const who = suggested(actors, { value: actor, required: true });
  const type = suggested(typesOf(topic), { value: typesOf(topic)[0], required: true });
  const text = el("input", { placeholder: "What happened?", autocomplete: "off" });
  const subject = suggested(["repo:octo:hello", "repo:octo:engine", "repo:lately:console"], { placeholder: "none" });
  const json = el("textarea", { rows: "3", spellcheck: "false", placeholder: '{"amount": 12.50}' });
  const submit = el("button", { type: "submit", class: "primary" }, "Post");
  const price = el("output", { class: "price" });

  const post = () =>
    pressed(submit, element, async () => {
      const parts = { type: type.value.trim(), actor: who.value.trim() };
      if (subject.value.trim()) parts.subject = subject.value.trim();
      const data = json.value.trim() || JSON.stringify({ text: text.value });
      const body = `${JSON.stringify(parts).slice(0, -1)},"data":${data}}`;
      price.textContent = "";
      const answer = await call("POST", `${path("topics", topic)}/events`, { body, signal });
      price.textContent = cost(answer);
      announce(`Posted: ${cost(answer)}.`);
      text.value = "";
      posted?.({ topic, ...answer.data });
    });

  const element = form(
    { class: "composer", "aria-label": `Post to ${topic}` },
    post,
    el("div", { class: "fields" }, field("Actor", who), field("Type", type), field("Text", text, { wide: true }), submit),
    el(
      "div",
      { class: "below" },
      el(
        "details",
        {},
        el("summary", {}, "Subject and data"),
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
  return element;
}
