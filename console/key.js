// An item as the design draws it: partition key, sort key, attributes. The parts of a key are set apart by colour and by the `#`
// between them.

import { el } from "./dom.js";
import { bytes } from "./format.js";

/** Colours of a key's parts; the style has a class for each. */
const PARTS = 4;

/** What is shown of an attribute. */
const SHOWN = 80;

const PLACES = { event: "the event", source: "a source's timeline", feed: "a feed", index: "an index" };

export function key(text) {
  const parts = String(text).split("#");
  return el(
    "code",
    { class: "key" },
    parts.flatMap((part, at) => [
      at > 0 && el("span", { class: "hash" }, "#"),
      el("span", { class: `part-${at % PARTS}` }, part),
    ]),
  );
}

/** A row of a table of items. */
export function item({ place, index, pk, sk, attributes, bytes: size }) {
  const names = Object.entries(attributes).map(([name, value]) =>
    el("div", {}, el("span", { class: "attribute" }, name), " ", el("bdi", {}, plain(value))),
  );
  return [
    index ? `${PLACES[place]}, ${index}` : PLACES[place],
    key(pk),
    key(sk),
    el("code", { class: "attributes" }, names),
    bytes(size),
  ];
}

/** `{"S": "x"}` is `x`; what is nested stays as DynamoDB writes it. */
function plain(value) {
  const [[type, inner]] = Object.entries(value);
  const text = type === "S" || type === "N" ? String(inner) : JSON.stringify(inner);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
