// Items in the order of their keys, largest first. Each key is there once.

export class Ordered {
  items = [];
  #keys = new Set();
  #key;

  /** `key(item)` orders the items. */
  constructor(key) {
    this.#key = key;
  }

  get length() {
    return this.items.length;
  }

  get last() {
    return this.items.at(-1);
  }

  has(key) {
    return this.#keys.has(key);
  }

  set(items) {
    this.items = [...items];
    this.#keys = new Set(items.map(this.#key));
  }

  /** Adds items that come after all others. Returns the new ones. */
  append(items) {
    const added = items.filter((item) => this.#learn(item));
    this.items.push(...added);
    return added;
  }

  /** Inserts items in order. Returns the new ones. */
  merge(items) {
    const key = this.#key;
    const added = items.filter((item) => this.#learn(item));
    if (added.length === 0) return added;
    const least = added.map(key).reduce((one, other) => (one < other ? one : other));
    const head = [...this.items.splice(0, this.place(least)), ...added];
    this.items = head.sort((a, b) => (key(a) > key(b) ? -1 : 1)).concat(this.items);
    return added;
  }

  /** Removes the item with a key. Returns the index that it had, or -1. */
  remove(key) {
    if (!this.#keys.delete(key)) return -1;
    const at = this.place(key) - 1;
    this.items.splice(at, 1);
    return at;
  }

  /** Drops all but the first `most` items. */
  cut(most) {
    for (const item of this.items.splice(most)) this.#keys.delete(this.#key(item));
  }

  /** The number of items whose key is this one or larger. */
  place(key) {
    let low = 0;
    let high = this.items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#key(this.items[middle]) >= key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #learn(item) {
    const key = this.#key(item);
    return !this.#keys.has(key) && Boolean(this.#keys.add(key));
  }
}
