// The drawing of a MATCH_RECOGNIZE clause, asked of the service: the browser has no parser.

import { useEffect, useState } from "../../vendor/preact.js";
import { ask, recoveries } from "../api.js";

const kept = new Map(); // by clause; a page draws and tells the same one
const MOST_KEPT = 50;

/**
 * The clause of a pattern document, "" if it is written in steps.
 * @param {unknown} pattern
 * @returns {string}
 */
export function clauseOf(pattern) {
  const clause = pattern?.match_recognize;
  return typeof clause === "string" ? clause : "";
}

/**
 * What is drawn of a clause; while it cannot be read, the newest that could.
 * @param {string} clause "" = there is none
 * @returns {object|null} The answer of the service.
 */
export function useDrawing(clause) {
  const [drawing, setDrawing] = useState(null);
  const turn = recoveries.value;
  useEffect(() => {
    if (!clause) {
      setDrawing(null);
      return undefined;
    }
    let isWanted = true;
    asked(clause).then((answer) => isWanted && setDrawing(answer), () => {});
    return () => {
      isWanted = false;
    };
  }, [clause, turn]);
  return drawing;
}

function asked(clause) {
  if (!kept.has(clause)) {
    if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value);
    const answer = ask("/v1/drafts/drawing", { match_recognize: clause });
    kept.set(clause, answer);
    answer.catch(() => kept.delete(clause));
  }
  return kept.get(clause);
}
