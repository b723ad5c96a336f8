// Changes the triage of matches: of one from the state that was seen, of those ticked, of all that meet a filter.
import { get, send, withQuery } from "../api.js";
import { path } from "../router.js";

const OUTDATED = 412;

/** Changes one match and returns its triage; what somebody else decided meanwhile is thrown, with `isOutdated`. */
export async function changeOne({ stream, match_id: id, triage }, change) {
  const target = path`/v1/streams/${stream}/matches/${id}/triage`;
  try {
    return await send("PATCH", target, change, { etag: `"${triage.revision}"` });
  } catch (problem) {
    problem.isOutdated = problem.status === OUTDATED;
    throw problem;
  }
}

/** Changes matches as they were seen, all or none. @returns {Promise<{changed: number, unchanged: number}>} */
export function changeSeen(stream, matches, change) {
  const seen = matches.map((match) => ({ match_id: match.match_id, revision: match.triage.revision }));
  return send("POST", path`/v1/streams/${stream}/triage`, { ...change, matches: seen });
}

/**
 * Changes all matches that meet a filter, page by page, and tells how many it has done so far.
 * @param {object} wanted the filter @param {number} upTo the newest match that was seen
 * @param {(done: number) => void} onProgress
 * @returns {Promise<{changed: number, unchanged: number}>}
 */
export async function changeFound(stream, wanted, upTo, change, onProgress) {
  const total = { changed: 0, unchanged: 0 };
  let cursor = null;
  do {
    const target = withQuery(path`/v1/streams/${stream}/triage`, { ...wanted, cursor });
    const page = await send("POST", target, { ...change, up_to: upTo });
    total.changed += page.changed;
    total.unchanged += page.unchanged;
    cursor = page.next_cursor;
    onProgress(total.changed + total.unchanged);
  } while (cursor);
  return total;
}

/** The names to whom matches of a stream are assigned. */
export async function readAssignees(stream) {
  return (await get(path`/v1/streams/${stream}/triage/assignees`)).map(({ value }) => value);
}
