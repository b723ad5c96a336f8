// Durations as documents hold them (text, or milliseconds) → short words.

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
  ["millisecond", 1],
];

/**
 * A duration in words, such as "1 hour 30 minutes".
 * @param {number} milliseconds
 * @returns {string}
 */
export function durationWords(milliseconds) {
  let rest = Math.round(milliseconds);
  const parts = [];
  for (const [unit, length] of UNITS) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count) parts.push(`${count} ${unit}${count === 1 ? "" : "s"}`);
  }
  return parts.join(" ") || "0 milliseconds";
}

/**
 * The duration under `key` or `key_ms` of a mapping in words; "" if there is none.
 * Text is shown as its author wrote it.
 * @param {object} mapping
 * @param {string} key
 * @returns {string}
 */
export function durationAt(mapping, key) {
  const inMilliseconds = mapping[`${key}_ms`];
  if (typeof inMilliseconds === "number") return inMilliseconds ? durationWords(inMilliseconds) : "";
  const written = mapping[key];
  return typeof written === "string" ? written : "";
}
