// A hook: the newest matches that meet a filter, kept live, and older ones as they are asked for.
import { useCallback, useEffect, useReducer, useRef, useState } from "../../vendor/preact.js";
import { Problem, get, halted, recoveries } from "../api.js";
import { millis } from "../format.js";
import { openTail } from "./tail.js";

const PAGE = 50;
const MOST_SHOWN = 1_000;

const EMPTY = { matches: [], waiting: [], fresh: new Set(), nextCursor: null, newest: 0, loading: true, problem: null, status: "" };
const BY_ARRIVAL = (one, other) => other.number - one.number;
const ORDERS = {
  "-number": BY_ARRIVAL,
  "-end": (one, other) => millis(other.end) - millis(one.end) || BY_ARRIVAL(one, other),
  end: (one, other) => millis(one.end) - millis(other.end) || BY_ARRIVAL(other, one),
};

function next(state, [what, value]) {
  switch (what) {
    case "begin":
      return { ...EMPTY, matches: state.matches };
    case "loaded":
      return { ...EMPTY, loading: false, matches: value.items, nextCursor: value.next_cursor, newest: value.newest };
    case "older":
      return { ...state, matches: [...state.matches, ...unknown(state.matches, value.items)], nextCursor: value.next_cursor };
    case "failed":
      return { ...state, loading: false, problem: value };
    case "arrived":
      return {
        ...state,
        waiting: [...unknown([...state.matches, ...state.waiting], value).toReversed(), ...state.waiting],
        newest: Math.max(state.newest, ...value.map(({ number }) => number)),
      };
    case "shown": {
      const { matches, waiting, nextCursor } = state;
      const last = matches.at(-1);
      // What lies behind the last one shown comes with the next page.
      const added = nextCursor && last ? waiting.filter((match) => value(match, last) < 0) : waiting;
      return { ...state, matches: [...matches, ...added].sort(value), waiting: [], fresh: new Set(added.map(({ number }) => number)) };
    }
    case "changed": {
      if (![...state.matches, ...state.waiting].some(({ number }) => number === value.number)) return state;
      const renew = (match) => (match.number === value.number ? { ...match, triage: value.triage, stands_for: value.stands_for } : match);
      return { ...state, matches: state.matches.map(renew), waiting: state.waiting.map(renew) };
    }
    case "status":
      return { ...state, status: value };
    default:
      throw new Error(`unknown: ${what}`);
  }
}

function unknown(known, found) {
  const numbers = new Set(known.map(({ number }) => number));
  return found.filter(({ number }) => !numbers.has(number));
}

/**
 * @param {string} source the path of the list @param {object} wanted the filters
 * @param {"-end"|"end"|"-number"} sort by event time, latest or earliest first, or as they came, newest first
 * @param {boolean} isHeld whether new ones wait until they are asked for
 * @returns {object} {matches, waiting (newest first), newest (its number), fresh, loading, problem, status, nextCursor, older(), show(),
 *   changed(match): shows what was changed of one here, reload()}
 */
export function useMatches(source, wanted, sort, isHeld) {
  const [state, tell] = useReducer(next, EMPTY);
  const held = useRef(isHeld);
  held.current = isHeld;
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify([source, wanted, sort]);
  const isOpenEnded = !wanted.until;
  const shown = useRef(0);
  shown.current = state.matches.length + state.waiting.length;
  const isUnread = useRef(false);
  const recovered = recoveries.value;

  useEffect(() => {
    if (isUnread.current) setTurn((before) => before + 1);
  }, [recovered]);

  useEffect(() => {
    let close = () => {};
    let isGone = false;
    const load = async () => {
      close();
      isUnread.current = false;
      tell(["begin"]);
      try {
        const page = await get(source, { ...wanted, sort, limit: PAGE });
        if (isGone) return;
        tell(["loaded", page]);
        const after = page.newest;
        const changesAfter = page.newest_change;
        if (isOpenEnded) close = openTail({ source, wanted, after, changesAfter, onMatches, onChanged, onStatus });
      } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        if (isGone) return;
        if (problem.status === 0 || halted.value) isUnread.current = true;
        else tell(["failed", problem]);
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
      if (!held.current) tell(["shown", ORDERS[sort]]);
    };
    load();
    return () => {
      isGone = true;
      close();
    };
  }, [key, turn]);

  useEffect(() => {
    if (!isHeld) tell(["shown", ORDERS[sort]]);
  }, [isHeld]);

  const older = useCallback(async () => {
    try {
      tell(["older", await get(source, { ...wanted, sort, limit: PAGE, cursor: state.nextCursor })]);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      if (problem.status !== 0) tell(["failed", problem]);
    }
  }, [key, state.nextCursor]);

  return { ...state, older, show: () => tell(["shown", ORDERS[sort]]), changed: (match) => tell(["changed", match]), reload: () => setTurn(turn + 1) };
}
