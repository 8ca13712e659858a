// Posting an event, and what it cost. The same form stands on timelines and feeds.
//
// A text becomes `{"text": …}`; who wants other data writes the JSON itself, which is sent as it stands.

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

/** Types that one may expect in a topic: suggestions, no more. */
export const typesOf = (topic) => TYPES[topic] ?? ["note.added"];

/** `posted(event)` is told of what was accepted. */
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
    el("div", { class: "fields" }, field("As", who), field("Type", type), field("Text", text, { wide: true }), submit),
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
          field("Data, as JSON instead of the text", json, { wide: true }),
        ),
      ),
      price,
    ),
  );
  return element;
}
