// A hook: the newest matches that meet a filter, kept live, and older ones as they are asked for.
import { useCallback, useEffect, useReducer, useRef, useState } from "../../vendor/preact.js";
import { Problem, get } from "../api.js";
import { openTail } from "./tail.js";

const PAGE = 50;
const MOST_SHOWN = 1_000;

const EMPTY = { matches: [], waiting: [], fresh: new Set(), nextCursor: null, loading: true, problem: null, status: "" };

function next(state, [what, value]) {
  switch (what) {
    case "begin":
      return { ...EMPTY, matches: state.matches };
    case "loaded":
      return { ...EMPTY, loading: false, matches: value.items, nextCursor: value.next_cursor };
    case "older":
      return { ...state, matches: [...state.matches, ...value.items], nextCursor: value.next_cursor };
    case "failed":
      return { ...state, loading: false, problem: value };
    case "arrived":
      return { ...state, waiting: [...value.toReversed(), ...state.waiting] };
    case "shown":
      return {
        ...state,
        matches: [...state.waiting, ...state.matches],
        waiting: [],
        fresh: new Set(state.waiting.map(({ number }) => number)),
      };
    case "changed": {
      const renew = (match) => (match.number === value.number ? { ...match, triage: value.triage } : match);
      return { ...state, matches: state.matches.map(renew), waiting: state.waiting.map(renew) };
    }
    case "status":
      return { ...state, status: value };
    default:
      throw new Error(`unknown: ${what}`);
  }
}

/**
 * @param {string} source the path of the list @param {object} wanted the filters
 * @param {boolean} isHeld whether new ones wait until they are asked for
 * @returns {object} {matches (newest first), waiting, fresh, loading, problem, status, nextCursor, older(), show(),
 *   changed(match): shows what was changed of one here, reload()}
 */
export function useMatches(source, wanted, isHeld) {
  const [state, tell] = useReducer(next, EMPTY);
  const held = useRef(isHeld);
  held.current = isHeld;
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify([source, wanted]);
  const isOpenEnded = !wanted.until;
  const shown = useRef(0);
  shown.current = state.matches.length + state.waiting.length;

  useEffect(() => {
    let close = () => {};
    let isGone = false;
    const load = async () => {
      close();
      tell(["begin"]);
      try {
        const page = await get(source, { ...wanted, limit: PAGE });
        if (isGone) return;
        tell(["loaded", page]);
        const after = page.items[0]?.number ?? 0;
        const changesAfter = page.newest_change;
        if (isOpenEnded) close = openTail({ source, wanted, after, changesAfter, onMatches, onChanged, onStatus });
      } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        if (!isGone) tell(["failed", problem]);
      }
    };
    const onChanged = (match) => tell(["changed", match]);
    const onStatus = (status) => tell(["status", status]);
    const onMatches = (arrived) => {
      // Nobody reads a thousand rows; the list begins anew instead of growing without end.
      if (shown.current + arrived.length > MOST_SHOWN) {
        load();
        return;
      }
      tell(["arrived", arrived]);
      if (!held.current) tell(["shown"]);
    };
    load();
    return () => {
      isGone = true;
      close();
    };
  }, [key, turn]);

  useEffect(() => {
    if (!isHeld) tell(["shown"]);
  }, [isHeld]);

  const older = useCallback(async () => {
    try {
      tell(["older", await get(source, { ...wanted, limit: PAGE, cursor: state.nextCursor })]);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      tell(["failed", problem]);
    }
  }, [key, state.nextCursor]);

  return { ...state, older, show: () => tell(["shown"]), changed: (match) => tell(["changed", match]), reload: () => setTurn(turn + 1) };
}
