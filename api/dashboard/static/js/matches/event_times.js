// Reads when the events of a match happened, and lays them out on a line.
const WITHOUT_ZONE = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$/;
const DATED = /^\d{4}-\d\d-\d\d/;
const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  900_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000,
];
const TICKS = 5;

/** Returns an event time in milliseconds since 1970, or null. Without a zone it is UTC. */
export function eventTimeMs(value) {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || !DATED.test(value)) return null;
  const ms = Date.parse(WITHOUT_ZONE.test(value) ? `${value.replace(" ", "T")}Z` : value);
  return Number.isNaN(ms) ? null : ms;
}

/**
 * Returns the events of a match in order of time: [{step, event, atMs, key}]; `atMs` is null where
 * an event has no time that can be read.
 * @param {object} events by step @param {string} column that of the event time
 */
export function inOrder(events, column) {
  const found = Object.entries(events).flatMap(([step, some]) =>
    some.map((event, index) => ({ step, event, atMs: eventTimeMs(event[column]), key: `${step}/${index}` })),
  );
  return found.sort((one, other) => (one.atMs ?? 0) - (other.atMs ?? 0));
}

/** Returns the steps in the order of their first events. */
export function stepsOf(ordered) {
  return [...new Set(ordered.map(({ step }) => step))];
}

/**
 * Returns the stretch of time a match takes and where each event lies on it, in percent; events
 * are spread evenly if any of them has no time.
 * @returns {{fromMs: number, untilMs: number, isTimed: boolean, places: number[], endPlace: number}}
 */
export function layOut(ordered, startMs, endMs) {
  const isTimed = ordered.every(({ atMs }) => atMs !== null);
  const times = isTimed ? ordered.map(({ atMs }) => atMs) : [];
  const fromMs = Math.min(...times, startMs);
  const untilMs = Math.max(...times, endMs);
  const place = (ms) => (untilMs > fromMs ? (100 * (ms - fromMs)) / (untilMs - fromMs) : 50);
  const places = isTimed
    ? ordered.map(({ atMs }) => place(atMs))
    : ordered.map((_, index) => (100 * (index + 0.5)) / ordered.length);
  return { fromMs, untilMs, isTimed, places, endPlace: place(endMs) };
}

/** Returns round distances from the start of a stretch, in milliseconds: its tick marks. */
export function ticks(lengthMs) {
  if (lengthMs <= 0) return [0];
  const day = STEPS_MS.at(-1);
  const step = STEPS_MS.find((each) => lengthMs / each <= TICKS) ?? day * Math.ceil(lengthMs / TICKS / day);
  return Array.from({ length: Math.floor(lengthMs / step) + 1 }, (_, index) => index * step);
}
