// What the address says about the list of matches, and what that is to the service.

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

/** Returns the filters in force. @param {object} query that of the address @param {string|null} since when a range begins that ends now */
export function wantedMatches(query, since) {
  const wanted = Object.fromEntries(FILTERS.filter((name) => query[name]).map((name) => [name, query[name]]));
  return since ? { ...wanted, since } : wanted;
}

/** Returns what takes all filters out of the address. */
export function withoutFilters() {
  return Object.fromEntries([...FILTERS, "last"].map((name) => [name, null]));
}
