// What the address says about the list of matches, and what that is to the service.
import { millis } from "../format.js";

/** Filters by their name in the address, which is that of the service. */
export const FILTERS = ["processor", "version", "job", "kind", "key", "key_prefix", "group", "text", "since", "until", "status", "assignee", "unassigned"];

/** Orders by their name in the address; the first one leaves it clean. */
export const SORTS = [
  ["-end", "Latest event time"],
  ["end", "Earliest event time"],
  ["-number", "Latest arrival"],
];

/** Returns the order in force. @param {object} query that of the address */
export function sortOf(query) {
  return SORTS.some(([name]) => name === query.sort) ? query.sort : SORTS[0][0];
}

/** Returns the filters in force. @param {object} query that of the address */
export function wantedMatches(query) {
  return Object.fromEntries(FILTERS.filter((name) => query[name]).map((name) => [name, query[name]]));
}

/** Returns what takes all filters out of the address. */
export function withoutFilters() {
  return Object.fromEntries(FILTERS.map((name) => [name, null]));
}

/** Returns an instant as a field for local dates and times wants it. */
export function localField(instant) {
  const ms = millis(instant ?? "");
  if (Number.isNaN(ms)) return "";
  const date = new Date(ms);
  return new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Returns the instant that stands in a field for local dates and times; null if none does. */
export function instantOf(text) {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}
