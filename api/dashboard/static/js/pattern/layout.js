// Where the parts of a drawing stand: pure arithmetic from the tree of a pattern, in pixels.

import { wrongWords } from "./folding.js";
import { remarks, timesBadge } from "./words.js";

const MONO = 7.25; // width of a character of the condition, at 12 px
const NAME = 8.2;
const LINE = 17;
const PADDING = 12;
const GROUP_PADDING = 14;
const GROUP_HEAD = 26;
const GROUP_TITLE = 6.6; // width of a character of it
const HANDLE = 22; // pixels of the square at the end of a group's title that folds it
const MOST_LINES = 5;
const CARD = { narrowest: 116, widest: 250 };
const CONNECTOR = { shortest: 64, high: 46 };
const TERMINAL = 26;
const BRACKET = 34;
const STACK_GAP = 12;
const SHRUNK = 0.85; // how far a row is made smaller before it becomes a column
const EDGE_LABELS = {
  next: "next",
  followed_by: "followed by",
  followed_by_any: "followed by any",
  not_next: "not next",
  not_followed_by: "not followed by",
};

/**
 * Lay a pattern out from left to right, or from top to bottom where that is too wide.
 * @param {ReturnType<import("./model.js").readPattern>} pattern
 * @param {number} available Width in pixels.
 * @param {Record<string, string>} [notes] A note per step name, shown in its card.
 * @returns {{direction: "row"|"column", width: number, height: number, parts: object[]}}
 */
export function layout(pattern, available, notes = {}) {
  const row = laidOut(pattern, { isRow: true, width: CARD.widest, notes });
  if (row.width * SHRUNK <= available) return { direction: "row", ...row };
  const width = Math.max(Math.min(available - 2 * BRACKET, 420), 200);
  return { direction: "column", ...laidOut(pattern, { isRow: false, width, notes }) };
}

function laidOut(pattern, options) {
  const sequence = options.isRow ? rowOf(pattern.elements, options) : columnOf(pattern.elements, options);
  const parts = [...sequence.parts];
  const end = options.isRow
    ? { x: sequence.width + CONNECTOR.shortest - 20, y: sequence.axis }
    : { x: sequence.axis, y: sequence.height + CONNECTOR.high - 12 };
  if (pattern.elements.length) {
    const from = options.isRow ? { x: sequence.width, y: end.y } : { x: end.x, y: sequence.height };
    const to = options.isRow ? { x: end.x - TERMINAL / 2, y: end.y } : { x: end.x, y: end.y - TERMINAL / 2 };
    parts.push({ type: "edge", from, to, contiguity: "", label: "", gap: "" });
    parts.push({ type: "terminal", ...end });
  }
  let width = options.isRow ? end.x + TERMINAL / 2 : sequence.width;
  let height = options.isRow ? sequence.height : end.y + TERMINAL / 2;
  if (pattern.within) {
    const label = pattern.withinType === "previous_and_current"
      ? `at most ${pattern.within} from event to event`
      : `within ${pattern.within}`;
    if (options.isRow) {
      parts.push({ type: "bracket", x: 0, y: height + 14, length: sequence.width, isRow: true, label });
      height += BRACKET;
      width = Math.max(width, label.length * 6.8);
    } else {
      parts.forEach((part) => shift(part, BRACKET - 4, 0));
      parts.push({ type: "bracket", x: 18, y: 0, length: sequence.height, isRow: false, label });
      width += BRACKET - 4;
    }
  }
  return { width: Math.ceil(width), height: Math.ceil(height), parts };
}

function rowOf(elements, options) {
  const boxes = elements.map((element) => boxOf(element, options));
  const axis = Math.max(0, ...boxes.map((box) => box.axis));
  const below = Math.max(0, ...boxes.map((box) => box.height - box.axis));
  const parts = [];
  let x = 0;
  boxes.forEach((box, index) => {
    const element = elements[index];
    if (index > 0) {
      const edge = edgeTo(element);
      const length = Math.max(CONNECTOR.shortest, Math.max(edge.label.length, edge.gap.length) * 6.3 + 22);
      parts.push({ ...edge, from: { x, y: axis }, to: { x: x + length, y: axis } });
      x += length;
    }
    box.parts.forEach((part) => parts.push(shift(part, x, axis - box.axis)));
    x += box.width;
  });
  return { width: x, height: axis + below, axis, parts };
}

function columnOf(elements, options) {
  const parts = [];
  const middle = Math.min(options.width / 2, 40);
  let y = 0;
  elements.forEach((element, index) => {
    const box = boxOf(element, options);
    if (index > 0) {
      parts.push({ ...edgeTo(element), from: { x: middle, y }, to: { x: middle, y: y + CONNECTOR.high } });
      y += CONNECTOR.high;
    }
    box.parts.forEach((part) => parts.push(shift(part, 0, y)));
    y += box.height;
  });
  return { width: options.width, height: y, axis: middle, parts };
}

// Parts that do not follow each other: alternatives, or what may come in any order.
function stackOf(elements, options) {
  const parts = [];
  let y = 0;
  let width = options.isRow ? 0 : options.width;
  elements.forEach((element, index) => {
    const box = boxOf(element, options);
    if (index > 0) y += STACK_GAP;
    box.parts.forEach((part) => parts.push(shift(part, 0, y)));
    y += box.height;
    width = Math.max(width, box.width);
  });
  return { width, height: y, axis: y / 2, parts };
}

function boxOf(element, options) {
  if (element.kind !== "group") return cardBox(element, options);
  return element.fold?.isFolded ? foldBox(element, options) : groupBox(element, options);
}

function groupBox(element, options) {
  const inner = { ...options, width: options.isRow ? options.width : options.width - 2 * GROUP_PADDING };
  const arranged = element.isStack ? stackOf : options.isRow ? rowOf : columnOf;
  const sequence = arranged(element.elements, inner);
  const title = groupTitle(element);
  const beside = 24 + (element.fold ? HANDLE : 0);
  const wanted = Math.max(sequence.width + 2 * GROUP_PADDING, title.length * GROUP_TITLE + beside);
  const width = options.isRow ? wanted : options.width;
  const shown = clipped(title, Math.floor((width - beside) / GROUP_TITLE));
  const height = sequence.height + GROUP_HEAD + GROUP_PADDING;
  const frame = { type: "group", x: 0, y: 0, width, height, title: shown, fullTitle: title, pointer: element.pointer };
  frame.isExcluded = element.isExcluded === true;
  frame.isRun = element.isRun === true;
  const handle = { type: "handle", x: width - HANDLE - 4, y: 2, width: HANDLE, height: HANDLE, fold: element.fold };
  return {
    width,
    height,
    axis: GROUP_HEAD + sequence.axis,
    parts: [frame, ...(element.fold ? [handle] : []), ...sequence.parts.map((part) => shift(part, GROUP_PADDING, GROUP_HEAD))],
  };
}

function groupTitle(element) {
  const own = [timesBadge(element), element.title, ...remarks(element)].filter(Boolean).join(" · ");
  return own || (element.isRun ? `${element.fold.steps} steps` : "group");
}

// What is folded is one card: how many steps, from which to which, and the marks that they would have.
function foldBox(element, options) {
  const { fold } = element;
  const steps = `${fold.steps} ${fold.steps === 1 ? "step" : "steps"}`;
  const title = fold.isRun ? `… ${fold.steps} more steps` : `${groupTitle(element)} of ${steps}`;
  const told = [
    ["remark", fold.names.join(" … ")],
    ...fold.notes.map((note) => ["note", note]),
    ...(fold.wrong ? [["wrong", `⚠ ${wrongWords(fold.wrong)}`]] : []),
  ];
  const longest = Math.max(...told.map(([, text]) => text.length)) * 6.8;
  const natural = Math.min(Math.max(title.length * NAME + HANDLE, longest, CARD.narrowest) + 2 * PADDING, CARD.widest);
  const width = options.isRow ? natural : options.width;
  const room = width - 2 * PADDING;
  const height = 34 + told.length * LINE + PADDING - 4;
  const card = {
    type: "fold",
    x: 0,
    y: 0,
    width,
    height,
    title: clipped(title, Math.floor((room - HANDLE) / NAME)),
    lines: told.map(([kind, text]) => [kind, clipped(text, Math.floor(room / 6.6))]),
    fold,
  };
  return { width, height, axis: height / 2, parts: [card] };
}

function cardBox(element, options) {
  const badge = timesBadge(element);
  const condition = [element.subtype, element.where].filter(Boolean).join(" AND ");
  const fine = remarks(element).join(" · ");
  const note = options.notes[element.name] ?? "";
  const nameWidth = element.name.length * NAME + (badge ? badge.length * 7 + 26 : 0) + (element.isNegative ? 40 : 0);
  const wanted = Math.max(nameWidth, condition.length * MONO, Math.min(fine.length, 34) * 6.6, note.length * 6.6);
  const natural = Math.min(Math.max(wanted + 2 * PADDING, CARD.narrowest), CARD.widest);
  const width = options.isRow ? natural : options.width;
  const room = width - 2 * PADDING;
  const lines = wrapped(condition || "any event", Math.floor(room / MONO), MOST_LINES);
  const fineLines = fine ? wrapped(fine, Math.floor(room / 6.4), 2) : [];
  const noteLines = note ? [note] : [];
  const height = 34 + (lines.length + fineLines.length + noteLines.length) * LINE + PADDING - 4;
  const card = {
    type: "card",
    x: 0,
    y: 0,
    width,
    height,
    pointer: element.pointer,
    name: clipped(element.name, Math.floor((room - (badge ? badge.length * 7 + 26 : 0) - (element.isNegative ? 40 : 0)) / NAME)),
    fullName: element.name,
    badge,
    isNegative: element.isNegative,
    isOptional: element.isOptional,
    isLooping: element.maximum === null,
    lines,
    isAny: !condition,
    fineLines,
    noteLines,
    title: [element.name, condition, fine].filter(Boolean).join("\n"),
  };
  return { width, height, axis: height / 2, parts: [card] };
}

function edgeTo(element) {
  return {
    type: "edge",
    contiguity: element.contiguity,
    label: EDGE_LABELS[element.contiguity] ?? "",
    gap: element.gapWindow ? `≤ ${element.gapWindow}` : "",
  };
}

function shift(part, dx, dy) {
  if (part.type === "edge") {
    part.from = { x: part.from.x + dx, y: part.from.y + dy };
    part.to = { x: part.to.x + dx, y: part.to.y + dy };
  } else {
    part.x += dx;
    part.y += dy;
  }
  return part;
}

/**
 * Break a text into lines at spaces; what does not fit into `most` lines ends in "…".
 * @param {string} text
 * @param {number} width Characters per line.
 * @param {number} most
 * @returns {string[]}
 */
export function wrapped(text, width, most) {
  const lines = [];
  let line = "";
  for (const word of text.replace(/\s+/g, " ").trim().split(" ")) {
    const longer = line ? `${line} ${word}` : word;
    if (longer.length <= width || !line) line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  lines.push(line);
  const shown = lines.slice(0, most).map((each) => clipped(each, width));
  if (lines.length > most) shown[most - 1] = clipped(`${shown[most - 1]} …`, width);
  return shown;
}

function clipped(text, width) {
  return text.length <= width ? text : `${text.slice(0, Math.max(width - 1, 1))}…`;
}
