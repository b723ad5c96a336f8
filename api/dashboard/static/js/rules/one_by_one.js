// Many rules are changed one by one: each that fails is told, and the others go on.
import { Problem } from "../api.js";

const MOST_NAMED = 20;
const BUSY = 429;
const WAIT_MS = 1_000;
const NOT_ALL = 207;

/**
 * Changes rules in their order.
 * @param {string[]} ids
 * @param {(id: string) => Promise<boolean>} change whether the rule is another one now; throws a Problem
 * @param {(done: number) => void} onProgress called after each
 * @param {AbortSignal} stop ends it before the next rule
 * @returns {Promise<{changed: string[], unchanged: string[], failed: {pointer: string, detail: string}[]}>}
 */
export async function oneByOne(ids, change, onProgress, stop) {
  const result = { changed: [], unchanged: [], failed: [] };
  for (const [index, id] of ids.entries()) {
    if (stop.aborted) break;
    try {
      const isChanged = await patiently(() => change(id), stop);
      result[isChanged ? "changed" : "unchanged"].push(id);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      // Whatever comes next would fail in the same way.
      if (problem.status === 0 || problem.status === 401) throw problem;
      result.failed.push({ pointer: id, detail: detailOf(problem) });
    }
    onProgress(index + 1);
  }
  return result;
}

/** What a dialog shows of rules that could not be changed. @param {{pointer: string, detail: string}[]} failed */
export function notAll(failed, number) {
  const more = failed.length - MOST_NAMED;
  const errors = failed.slice(0, MOST_NAMED);
  if (more > 0) errors.push({ detail: `And ${more} more.` });
  const title = `${failed.length} of ${number} could not be changed`;
  return new Problem({ status: NOT_ALL, title, detail: "They are still selected. The others are done.", errors });
}

// More requests than the service lets one token make: it says so, and is asked again.
async function patiently(act, stop) {
  for (;;) {
    try {
      return await act();
    } catch (problem) {
      if (problem.status !== BUSY || stop.aborted) throw problem;
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    }
  }
}

function detailOf({ detail, title, errors }) {
  return errors.map((flaw) => flaw.detail).join(" ") || detail || title;
}
