// Formats times, numbers and costs. Times are in the chosen zone; a time's tooltip has both UTC and the local time.

import { parseCost } from "./client.js";
import { el } from "./dom.js";
import { clock } from "./zone.js";

const numbers = new Intl.NumberFormat("en");

export const count = (value) => numbers.format(value);

/** Reads are billed by half units. Sums are shown with one decimal. */
export const units = (value) => numbers.format(Math.round(value * 10) / 10);

export const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/** `10:03:35.808` today; with month and day, and without milliseconds, on other days; with the year in other years. */
export function time(at) {
  const [day, hours] = clock(at).split("T");
  const [today] = clock(new Date().toISOString()).split("T");
  if (day === today) return hours;
  return `${day.slice(0, 4) === today.slice(0, 4) ? day.slice(5) : day} ${hours.slice(0, 8)}`;
}

const local = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "long" });

/** The whole time, and the local time: `2026-11-22T10:03:35.808Z · 11/22/26, 11:03:35 AM GMT+1`. */
export const whole = (at) => `${at} · ${local.format(new Date(at))}`;

/** A time as an element. Its tooltip has the whole time and the local time. */
export const moment = (at) => el("time", { datetime: at, title: whole(at) }, time(at));

export function bytes(value) {
  if (value < 1024) return `${count(value)} B`;
  return value < 1024 * 1024
    ? `${count(Math.round(value / 102.4) / 10)} KB`
    : `${count(Math.round(value / 104857.6) / 10)} MB`;
}

export function seconds(value) {
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 120) return `${count(Math.round(value * 10) / 10)} s`;
  if (value < 7200) return `${count(Math.round(value / 60))} min`;
  return value < 172_800 ? `${count(Math.round(value / 3600))} h` : `${count(Math.round(value / 86_400))} days`;
}

const unit = (value) => (value === 1 ? "unit" : "units");

/** The DynamoDB cost of a response, in words. */
export function cost(answer) {
  const { read_units: read, write_units: write, calls, rounds } = parseCost(answer.cost);
  const parts = [];
  if (!answer.cost) parts.push("this API does not show its cost");
  if (read !== undefined) parts.push(`${units(read)} read ${unit(read)}`);
  if (write !== undefined) parts.push(`${units(write)} write ${unit(write)}`);
  if (calls !== undefined) parts.push(plural(calls, "call"));
  if (rounds > 0) parts.push(plural(rounds, "round"));
  if (answer.milliseconds !== undefined) parts.push(`${Math.round(answer.milliseconds)} ms`);
  return parts.join(" · ");
}
