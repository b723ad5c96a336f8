// Leaves out the part of a history that lies before anything was counted, so that a young one is not a spike.
const LEAST_BUCKETS = 10;

/**
 * Returns from which bucket on histories are worth showing: the one before the first in which any of
 * them has a number, and some buckets at least.
 * @param {{times: any[], series: object}[]} histories of the same buckets
 */
export function firstTold(histories) {
  const length = Math.max(0, ...histories.map((history) => history.times.length));
  const series = histories.flatMap((history) => Object.values(history.series));
  const first = Math.min(length, ...series.map((values) => values.findIndex(Boolean)).filter((index) => index >= 0));
  return Math.max(Math.min(first - 1, length - LEAST_BUCKETS), 0);
}
