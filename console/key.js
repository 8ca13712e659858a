// A stored item: partition key, sort key and attributes. Colours and the `#` between them separate the parts of a key.

import { el } from "./dom.js";
import { bytes } from "./format.js";

/** The number of colours for parts of a key; the style has a class for each. */
const PARTS = 4;

/** The characters of an attribute that are shown. */
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

/** `{"S": "x"}` becomes `x`. Nested values stay in DynamoDB's JSON. */
function plain(value) {
  const [[type, inner]] = Object.entries(value);
  const text = type === "S" || type === "N" ? String(inner) : JSON.stringify(inner);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
