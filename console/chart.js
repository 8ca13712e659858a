// A small line chart over time, for values that change every second. The page also shows the last value as text, so the
// drawing alone carries no information.

import { svg } from "./dom.js";

const WIDTH = 240;
const HEIGHT = 48;

export class Chart {
  #values = [];
  #line = svg("polyline", { class: "chart-line", fill: "none" });
  #area = svg("polygon", { class: "chart-area" });

  /** Keeps `points` values; older values are dropped. The vertical axis ends at `least` or above. */
  constructor({ points = 60, least = 1 } = {}) {
    Object.assign(this, { points, least });
    const properties = {
      class: "chart",
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    };
    this.element = svg("svg", properties, this.#area, this.#line);
  }

  add(value) {
    this.#values = [...this.#values, value].slice(-this.points);
    const top = Math.max(this.least, ...this.#values) * 1.1;
    const step = WIDTH / (this.points - 1);
    const left = WIDTH - (this.#values.length - 1) * step;
    const places = this.#values.map(
      (each, at) => `${(left + at * step).toFixed(1)},${(HEIGHT - 1 - (each / top) * (HEIGHT - 4)).toFixed(1)}`,
    );
    this.#line.setAttribute("points", places.join(" "));
    this.#area.setAttribute("points", `${left.toFixed(1)},${HEIGHT} ${places.join(" ")} ${WIDTH},${HEIGHT}`);
  }
}
