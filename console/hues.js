// The colours of event types in a list: by rank, so that the most frequent types have colours of their own. A type keeps
// its colour while the list is shown. Further types share one grey.

/** The number of colours; the style has a class for each, and one for all further types. */
const HUES = 6;

export class Hues {
  #of = new Map();

  /** Gives colours to the types of events that have none yet, the most frequent types first. */
  learn(events) {
    if (this.#of.size === HUES) return;
    const sizes = new Map();
    for (const { type } of events) if (!this.#of.has(type)) sizes.set(type, (sizes.get(type) ?? 0) + 1);
    const types = [...sizes].sort(([one, size], [other, more]) => more - size || (one < other ? -1 : 1));
    for (const [type] of types.slice(0, HUES - this.#of.size)) this.#of.set(type, `hue-${this.#of.size}`);
  }

  /** The class of a type's colour. */
  of(type) {
    return this.#of.get(type) ?? "hue-rest";
  }
}

/** All classes, in the order of the colours. */
export const CLASSES = [...Array.from({ length: HUES }, (_, number) => `hue-${number}`), "hue-rest"];
