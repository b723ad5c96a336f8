// A pattern document → a tree that is easy to draw and to tell; forgiving, as drafts are unfinished.

import { durationAt } from "./durations.js";

const NEGATIVE = new Set(["not_next", "not_followed_by"]);
const CONTIGUITIES = new Set(["next", "followed_by", "followed_by_any", ...NEGATIVE]);

/**
 * @typedef {object} Element
 * @property {"step"|"group"} kind
 * @property {string} pointer JSON Pointer into the processor document.
 * @property {string} name "" for a group.
 * @property {string} contiguity "" for the first of a sequence.
 * @property {boolean} isNegative
 * @property {string} where The condition as text; "" = every event.
 * @property {string} subtype
 * @property {number} minimum
 * @property {number|null} maximum null = without end.
 * @property {boolean} isOptional
 * @property {boolean} isGreedy
 * @property {string} inner "relaxed", "consecutive" or "allow_combinations".
 * @property {string} until
 * @property {string} gapWindow The longest gap in front of it, in words.
 * @property {string} wholeWindow A window over the whole match that stands here, in words.
 * @property {string} timesWithin
 * @property {Element[]} elements Of a group.
 */

/**
 * Read a pattern document.
 * @param {unknown} document
 * @returns {{elements: Element[], within: string, withinType: string, skip: object, hasQuirks: boolean}}
 */
export function readPattern(document) {
  const pattern = isMapping(document) ? document : {};
  const windowType = pattern.within_type === "previous_and_current" ? "previous_and_current" : "first_and_last";
  const elements = readElements(pattern.steps, "/pattern/steps");
  return {
    elements,
    within: durationAt(pattern, "within"),
    withinType: windowType,
    skip: readSkip(pattern.after_match_skip),
    hasQuirks: pattern.flink_quirks === true,
  };
}

/**
 * Every step of a pattern in order, groups opened.
 * @param {Element[]} elements
 * @returns {Element[]}
 */
export function stepsOf(elements) {
  return elements.flatMap((element) => (element.kind === "step" ? [element] : stepsOf(element.elements)));
}

/**
 * A condition of a document as one text.
 * @param {unknown} condition
 * @returns {string}
 */
export function conditionText(condition) {
  if (condition === undefined || condition === null) return "";
  if (!isMapping(condition)) return String(condition);
  if (isMapping(condition.python)) return `Python: ${condition.python.name ?? "signed code"}`;
  for (const [key, word] of [["all_of", " AND "], ["any_of", " OR "]]) {
    if (Array.isArray(condition[key])) return condition[key].map(inBrackets).join(word);
  }
  return JSON.stringify(condition);
}

function inBrackets(condition) {
  const text = conditionText(condition);
  return / OR /i.test(text) ? `(${text})` : text;
}

function readElements(documents, pointer) {
  if (!Array.isArray(documents)) return [];
  return documents.map((document, index) =>
    readElement(isMapping(document) ? document : {}, `${pointer}/${index}`, index === 0),
  );
}

function readElement(document, pointer, isFirst) {
  const isGroup = isMapping(document.group);
  const contiguity = CONTIGUITIES.has(document.contiguity) ? document.contiguity : "";
  const { minimum, maximum } = readTimes(document.times);
  const isGapWindow = document.within_type === "previous_and_current";
  const window = durationAt(document, "within");
  return {
    kind: isGroup ? "group" : "step",
    pointer,
    name: isGroup ? "" : String(document.name ?? "…"),
    contiguity: isFirst ? "" : contiguity || "next",
    isNegative: NEGATIVE.has(contiguity),
    where: conditionText(document.where),
    subtype: readSubtype(document.subtype),
    minimum,
    maximum,
    isOptional: document.optional === true || minimum === 0,
    isGreedy: document.greedy === true,
    inner: ["consecutive", "allow_combinations"].includes(document.inner) ? document.inner : "relaxed",
    until: conditionText(document.until),
    gapWindow: durationAt(document, "within_previous") || (isGapWindow ? window : ""),
    wholeWindow: isGapWindow ? "" : window,
    timesWithin: durationAt(document, "times_within"),
    elements: isGroup ? readElements(document.group.steps, `${pointer}/group/steps`) : [],
  };
}

function readTimes(times) {
  if (typeof times === "number") return { minimum: times, maximum: times };
  if (!isMapping(times)) return { minimum: 1, maximum: 1 };
  const minimum = typeof times.from === "number" ? times.from : 1;
  return { minimum, maximum: typeof times.to === "number" ? times.to : null };
}

function readSubtype(subtype) {
  if (isMapping(subtype)) return `${subtype.field ?? "type"} is ${subtype.name ?? "…"}`;
  return subtype ? `type is ${subtype}` : "";
}

function readSkip(skip) {
  if (!isMapping(skip)) return { strategy: "no_skip", step: "" };
  return { strategy: String(skip.strategy ?? "no_skip"), step: String(skip.step ?? "") };
}

function isMapping(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
