// Hears of new matches, of changes of their triage and of what they stand for as they come: server-sent events, and plain reading where no seat is free.
import { Problem, get, withQuery } from "../api.js";

const KINDS = ["match", "timeout", "shadow", "suppressed", "grouped"];
const CHANGES = ["triage", "group"];
const RETRY_MS = 5_000;
const PATIENCE_MS = 3_000;
const FLUSH_MS = 250;
const PAGE = 100;

/**
 * Listens until it is closed; while the tab is hidden it rests, and afterwards catches up.
 * @param {object} options
 *   source: the path of the list of matches. wanted: the filters.
 *   after: the number of the newest match that is known. changesAfter: that of the newest change.
 *   onMatches: called with new ones, oldest first. onChanged: called with a match as it is after a change.
 *   onStatus: "live", "reading" or "lost".
 * @returns {() => void} closes it
 */
export function openTail({ source, wanted, after, changesAfter, onMatches, onChanged, onStatus }) {
  const timers = new Set();
  let events = null;
  let newest = after;
  let newestChange = changesAfter;
  let arrived = [];
  let isClosed = false;

  const later = (act, ms) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      act();
    }, ms);
    timers.add(timer);
    return timer;
  };
  const take = (match) => {
    if (match.number <= newest) return;
    newest = match.number;
    if (!arrived.length) later(flush, FLUSH_MS);
    arrived.push(match);
  };
  const flush = () => {
    const some = arrived;
    arrived = [];
    if (some.length) onMatches(some);
  };
  const listen = () => {
    if (isClosed || events || document.visibilityState === "hidden") return;
    const opened = new EventSource(withQuery(`${source}/stream`, { ...wanted, after: newest, changes_after: newestChange }));
    events = opened;
    let isOpen = false;
    opened.onopen = () => {
      isOpen = true;
      onStatus("live");
    };
    for (const kind of KINDS) {
      opened.addEventListener(kind, (event) => take(JSON.parse(event.data)));
    }
    for (const change of CHANGES) {
      opened.addEventListener(change, (event) => {
        newestChange = Number(event.lastEventId.split(".")[1]);
        onChanged(JSON.parse(event.data));
      });
    }
    opened.onerror = () => {
      isOpen = false;
      if (opened.readyState === EventSource.CLOSED) {
        rest();
        readOnce();
      } else {
        // The service ends an answer after a while and the browser comes back: no news for anybody.
        later(() => !isOpen && events === opened && onStatus("lost"), PATIENCE_MS);
      }
    };
  };
  const readOnce = async () => {
    if (isClosed) return;
    try {
      const { items } = await get(source, { ...wanted, limit: PAGE });
      if (isClosed) return;
      items.filter((match) => match.number <= newest).forEach(onChanged);
      items.reverse().forEach(take);
      onStatus("reading");
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      if (!isClosed) onStatus("lost");
    }
    later(listen, RETRY_MS);
  };
  const rest = () => {
    events?.close();
    events = null;
  };
  const onVisibility = () => (document.visibilityState === "hidden" ? rest() : listen());

  document.addEventListener("visibilitychange", onVisibility);
  listen();
  return () => {
    isClosed = true;
    document.removeEventListener("visibilitychange", onVisibility);
    timers.forEach(clearTimeout);
    rest();
  };
}
