// Which parts of a drawing are folded: groups, and the middle of a long sequence, each with what it still tells.
//
//     model.js, row_model.js ─ elements ─► folded() ─ elements with `fold` ─► layout.js ─► graph.js

import { stepsOf } from "./model.js";

const MOST_SHOWN = 12; // of one sequence; a fold in its middle leaves so many
const AT_EACH_END = MOST_SHOWN / 2;

/**
 * @typedef {object} Fold
 * @property {string} key Where it stands, such as "/3"; the same while the pattern grows behind it.
 * @property {boolean} isRun Whether it is the middle of a sequence; else a group.
 * @property {boolean} isFolded
 * @property {number} steps How many steps are in it.
 * @property {string[]} names Of its first and its last step.
 * @property {string[]} notes Of the first and the last of its steps that have one.
 * @property {number} wrong How many of its steps are wrong.
 */

/**
 * Elements with what can be folded: groups have a `fold`, and the middle of a long sequence becomes such a group.
 * @param {import("./model.js").Element[]} elements
 * @param {{toggled: Set<string>, wrong: string[], notes: Record<string, string>}} marks
 *   toggled: keys of groups that are folded, and of middles that are not.
 * @param {{path?: string, isStack?: boolean}} [place]
 */
export function folded(elements, marks, { path = "", isStack = false } = {}) {
  const inner = elements.map((element, index) => {
    if (element.kind !== "group") return element;
    const key = `${path}/${index}`;
    const parts = folded(element.elements, marks, { path: key, isStack: element.isStack });
    return { ...element, elements: parts, fold: foldOf(element.elements, key, false, marks) };
  });
  if (inner.length <= MOST_SHOWN + 1) return inner;
  const run = runOf(inner.slice(AT_EACH_END, -AT_EACH_END), `${path}/middle`, isStack, marks);
  return [...inner.slice(0, AT_EACH_END), run, ...inner.slice(-AT_EACH_END)];
}

/**
 * The folds in elements, whether folded or not, outermost first.
 * @param {object[]} elements As `folded` returns them.
 * @returns {Fold[]}
 */
export function foldsOf(elements) {
  return elements.flatMap((element) => (element.kind === "group" ? [element.fold, ...foldsOf(element.elements)] : []));
}

/** Whether something that is wrong is at a pointer or below it. @param {string} pointer @param {string[]} wrong */
export function isWrong(pointer, wrong) {
  return wrong.some((each) => each === pointer || each.startsWith(`${pointer}/`));
}

/** What a fold holds, in words: for its button, whatever its state. @param {Fold} fold */
export function foldLabel({ isRun, steps, names, wrong }) {
  const what = isRun ? `${steps} more steps` : `Group of ${steps} ${steps === 1 ? "step" : "steps"}`;
  const span = names.length === 2 ? `, from ${names[0]} to ${names[1]}` : names.length ? `, ${names[0]}` : "";
  return `${what}${span}${wrong ? `, ${wrongWords(wrong)}` : ""}`;
}

/** @param {number} count At least one. */
export function wrongWords(count) {
  return count === 1 ? "1 step is wrong" : `${count} steps are wrong`;
}

function runOf(elements, key, isStack, marks) {
  const [{ contiguity, gapWindow }] = elements;
  return {
    kind: "group",
    isRun: true,
    isStack,
    pointer: "#", // no pointer into a document begins so: it is no part of one
    title: "",
    contiguity,
    gapWindow,
    minimum: 1,
    maximum: 1,
    isOptional: false,
    elements,
    fold: foldOf(elements, key, true, marks),
  };
}

function foldOf(elements, key, isRun, { toggled, wrong, notes }) {
  const steps = stepsOf(elements);
  const noted = ends(steps.filter((step) => notes[step.name]));
  return {
    key,
    isRun,
    isFolded: isRun !== toggled.has(key),
    steps: steps.length,
    names: ends(steps).map((step) => step.name),
    notes: noted.map((step) => `${step.name}: ${notes[step.name]}`),
    wrong: countWrong(elements, wrong),
  };
}

function ends(steps) {
  return steps.length > 1 ? [steps[0], steps.at(-1)] : steps;
}

function countWrong(elements, wrong) {
  return elements.reduce((sum, { kind, pointer, elements: inner }) => {
    const own = isWrong(pointer, wrong) ? 1 : 0;
    return sum + (kind === "group" ? Math.max(own, countWrong(inner, wrong)) : own);
  }, 0);
}
