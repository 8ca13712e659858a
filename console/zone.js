// The zone in which times are shown: UTC, like buckets, or the browser's. The choice is kept for the next visit.

const KEPT = "lately.zone";

export const isUtc = () => localStorage.getItem(KEPT) !== "local";

export function useUtc(utc) {
  if (utc) localStorage.removeItem(KEPT);
  else localStorage.setItem(KEPT, "local");
}

/** The name of the browser's own zone. */
export const localName = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The milliseconds to add to the chosen zone's time to get UTC. */
export const offset = (at) => (isUtc() ? 0 : new Date(at).getTimezoneOffset() * 60_000);

/** A time of the API as a clock of the chosen zone shows it: `2026-11-22T10:03:35.808`. */
export function clock(at) {
  const utc = isUtc() ? at : new Date(Date.parse(at) - offset(at)).toISOString();
  return utc.replace("Z", "");
}

/** A time of the chosen zone as the API wants it. */
export const instant = (shown) => iso(isUtc() ? `${shown}Z` : shown);

/** A time in UTC. A text that is no time stays: the API refuses it. */
export function iso(time) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : date.toISOString().replace(".000Z", "Z");
}
