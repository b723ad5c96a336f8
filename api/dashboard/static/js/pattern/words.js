// A pattern in words: what people read beside the drawing, and what screen readers read instead.

const LEADS = {
  "": "First",
  next: "Directly next",
  followed_by: "Later",
  followed_by_any: "Any time later",
  not_next: "Not directly next",
  not_followed_by: "Never in between",
};
const SKIPS = {
  no_skip: "Every possible match is reported; matches do not exclude each other.",
  skip_to_next: "After a match, others that begin with the same event are dropped.",
  skip_past_last_event: "After a match, everything that started before its last event is dropped.",
  skip_to_first: (step) => `After a match, everything that began before its first “${step}” is dropped.`,
  skip_to_last: (step) => `After a match, everything that began before its last “${step}” is dropped.`,
};

/**
 * How often an element comes, short: "3×", "2–4×", "≥ 1×", "0–1×".
 * @param {import("./model.js").Element} element
 * @returns {string} "" for exactly once.
 */
export function timesBadge(element) {
  const { minimum, maximum, isOptional } = element;
  const least = isOptional && minimum === 1 && maximum === 1 ? 0 : minimum;
  if (maximum === null) return isOptional && least > 0 ? `0 or ≥ ${least}×` : `≥ ${least}×`;
  if (isOptional && least > 1) return `0 or ${rangeText(least, maximum)}×`;
  return least === 1 && maximum === 1 ? "" : `${rangeText(least, maximum)}×`;
}

/**
 * The finer points of an element, each a few words.
 * @param {import("./model.js").Element} element
 * @returns {string[]}
 */
export function remarks(element) {
  const repeats = element.maximum === null || element.maximum > 1;
  return [
    element.isGreedy && "greedy",
    repeats && element.inner === "consecutive" && "nothing in between",
    repeats && element.inner === "allow_combinations" && "all combinations",
    element.timesWithin && `each within ${element.timesWithin}`,
    element.until && `until ${element.until}`,
    element.manner,
  ].filter(Boolean);
}

/**
 * What a step takes, in words: "3 to 5 events where …".
 * @param {import("./model.js").Element} element
 * @returns {{count: string, condition: string, remarks: string[]}}
 */
export function takes(element) {
  const what = element.kind === "group" ? ["sequence", "sequences"] : ["event", "events"];
  const conditions = [element.subtype, element.where].filter(Boolean);
  return {
    count: element.isNegative ? "no event" : countWords(element, what),
    condition: conditions.join(" AND "),
    remarks: remarks(element),
  };
}

/**
 * How an element follows what is in front of it, in words.
 * @param {import("./model.js").Element} element
 * @param {boolean} isLast Whether nothing follows it.
 * @returns {string}
 */
export function lead(element, isLast) {
  if (element.contiguity === "not_followed_by" && isLast) return "Never until the window closes";
  const gap = element.gapWindow ? `, at most ${element.gapWindow} after` : "";
  return `${LEADS[element.contiguity] ?? "Then"}${gap}`;
}

/**
 * What holds for the pattern as a whole, a sentence each.
 * @param {ReturnType<import("./model.js").readPattern>} pattern
 * @returns {string[]}
 */
export function sentences(pattern) {
  const skip = SKIPS[pattern.skip.strategy] ?? SKIPS.no_skip;
  return [
    windowSentence(pattern),
    typeof skip === "function" ? skip(pattern.skip.step) : skip,
    pattern.hasQuirks && "Flink-compatible quirks are on: parts of it may be ignored, as in Flink.",
  ].filter(Boolean);
}

/**
 * The whole pattern as one text, for the label of the drawing.
 * @param {ReturnType<import("./model.js").readPattern>} pattern
 * @returns {string}
 */
export function asText(pattern) {
  return [...sequenceText(pattern.elements), ...sentences(pattern)].join(" ");
}

function sequenceText(elements) {
  return elements.map((element, index) => {
    const { count, condition } = takes(element);
    const name = element.kind === "group" ? `of: ${sequenceText(element.elements).join(" ")}` : `“${element.name}”`;
    const where = condition ? ` where ${condition}` : "";
    return `${lead(element, index === elements.length - 1)}: ${count} ${name}${where}.`;
  });
}

function windowSentence(pattern) {
  if (!pattern.within) return "";
  return pattern.withinType === "previous_and_current"
    ? `From one event to the next at most ${pattern.within}.`
    : `All within ${pattern.within}, from the first event to the last.`;
}

function countWords(element, [one, many]) {
  const { minimum, maximum, isOptional } = element;
  const perhaps = isOptional ? "perhaps " : "";
  if (maximum === null) return `${perhaps}${Math.max(minimum, 1)} or more ${many}`;
  if (minimum === maximum) return `${perhaps}${minimum === 1 ? `one ${one}` : `${minimum} ${many}`}`;
  const least = Math.max(minimum, 1);
  return least === maximum ? `${perhaps}one ${one}` : `${perhaps}${least} to ${maximum} ${many}`;
}

function rangeText(least, most) {
  return least === most ? `${least}` : `${least}–${most}`;
}
