// A range of event time that ends now, such as the last hour: its name is in the address, so that a link means it of its own time.
import { useEffect, useMemo, useState } from "../../vendor/preact.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const STEP_MS = 30_000; // so often what has become too old leaves

/** By the name in the address: how long the range is, in milliseconds, and what people call it. */
export const RANGES = new Map([
  ["15m", [15 * MINUTE_MS, "Last 15 minutes"]],
  ["1h", [HOUR_MS, "Last hour"]],
  ["24h", [DAY_MS, "Last 24 hours"]],
  ["7d", [7 * DAY_MS, "Last 7 days"]],
]);

/** Returns the name of the range in force, or null; what has a beginning or an end of its own has none. @param {object} query that of the address */
export function rangeOf(query) {
  return !query.since && !query.until && RANGES.has(query.last) ? query.last : null;
}

/** Returns when a range begins that ends now. @param {string} range @param {number} nowMs */
export function beginningOf(range, nowMs = Date.now()) {
  return new Date(nowMs - RANGES.get(range)[0]).toISOString();
}

/**
 * A hook: when the range in force began as it was chosen, and when it begins now; both null without one. What is read once is of the
 * first: a list that was read anew all the time would lose what has been opened in it.
 * @param {object} query that of the address
 */
export function useRange(query) {
  const range = rangeOf(query);
  const since = useMemo(() => range && beginningOf(range), [range]);
  const [nowMs, setNow] = useState(0);
  useEffect(() => {
    if (!range) return undefined;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), STEP_MS);
    return () => clearInterval(timer);
  }, [range]);
  if (!range) return { since: null, now: null };
  const now = beginningOf(range, nowMs);
  return { since, now: now < since ? since : now };
}
