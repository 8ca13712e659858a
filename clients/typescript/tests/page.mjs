// Runs the sample posts.tsx of docs/clients.md in a page, as a user: says hi, and waits until the topic has it.
// clients/quickstarts copies this file beside the compiled sample.

import { JSDOM } from "jsdom";

const { window } = new JSDOM("<main></main>");
const { document, navigator } = window;
Object.assign(globalThis, { window, document, navigator, IS_REACT_ACT_ENVIRONMENT: true });

const { act, createElement } = await import("react");
const { createRoot } = await import("react-dom/client");
const { Lately } = await import("@lately/client");
const { Posts } = await import("./posts.js");

const lately = new Lately({ url: process.env.LATELY_URL, token: "dev" });
const notes = lately.topic("notes");
await notes.put();
await lately.user("bob").follow("actor:ada");
const { id } = await notes.post({ type: "note", actor: "ada", data: { text: "Hello" } });
await lately.feed("bob").page({ wait_for: id });

/** Only failures reach this bound. */
const latest = Date.now() + 60_000;
const root = createRoot(document.querySelector("main"));
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
await act(async () => root.render(createElement(Posts, { lately, user: "bob" })));
while (!/^[1-9]\d* new.*Hello/.test(document.body.textContent)) {
  if (Date.now() > latest) throw new Error(document.body.textContent);
  await act(pause);
}
await act(async () => document.querySelectorAll("button")[1].click());
while (!(await notes.page()).events.some(({ data }) => data.text === "Hi")) {
  if (Date.now() > latest) throw new Error(document.body.textContent);
  await act(pause);
}
console.log(document.body.textContent);
await act(async () => root.unmount());
