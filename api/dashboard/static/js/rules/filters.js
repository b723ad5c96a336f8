// What the address says about the list of rules, and what that is to the service.

/** Filters by their name in the address, which is that of the service. */
export const FILTERS = ["text", "standing", "problem", "tag", "owner", "severity"];

/** The order that leaves the address clean. */
export const DEFAULT_SORT = "id";

/** Returns the query for the service. @param {object} query that of the address */
export function listQuery(query, cursor, limit) {
  const wanted = Object.fromEntries(FILTERS.map((name) => [name, query[name]]));
  wanted.tag = tagsOf(query);
  return { ...wanted, job: query.job, sort: query.sort ?? DEFAULT_SORT, cursor, limit };
}

/** The tags that a rule must have; in the address they stand behind one another. @returns {string[]} */
export function tagsOf(query) {
  return (query.tag ?? "").split(",").filter(Boolean);
}

/** Tags as the address has them; null = none. */
export function withTags(tags) {
  return tags.join(",") || null;
}

/** Returns whether any filter is in force. */
export function isFiltered(query) {
  return FILTERS.some((name) => query[name]);
}

/** Returns what takes all filters out of the address. */
export function withoutFilters() {
  return Object.fromEntries(FILTERS.map((name) => [name, null]));
}
