// A small line chart over time, for values that change every second. The page also shows the last value as text, so the
// drawing alone carries no information. The line has a gap where a value is not known.

import { svg } from "./dom.js";

const WIDTH = 240;
const HEIGHT = 48;

export class Chart {
  #values = [];
  #line = svg("path", { class: "chart-line", fill: "none" });
  #area = svg("path", { class: "chart-area" });

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

  /** Adds a value; `null` if it is not known. */
  add(value) {
    this.#values = [...this.#values, value].slice(-this.points);
    const top = Math.max(this.least, ...this.#values) * 1.1;
    const step = WIDTH / (this.points - 1);
    const left = WIDTH - (this.#values.length - 1) * step;
    /** The values without gaps between them, each as its places. */
    const runs = [[]];
    this.#values.forEach((each, at) => {
      if (each === null) runs.push([]);
      else runs.at(-1).push([(left + at * step).toFixed(1), (HEIGHT - 1 - (each / top) * (HEIGHT - 4)).toFixed(1)]);
    });
    const drawn = runs.filter((run) => run.length > 0);
    this.#line.setAttribute("d", drawn.map((run) => `M${run.join("L")}`).join(""));
    const area = (run) => `M${run[0][0]},${HEIGHT}L${run.join("L")}L${run.at(-1)[0]},${HEIGHT}Z`;
    this.#area.setAttribute("d", drawn.map(area).join(""));
  }
}
