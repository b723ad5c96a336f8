// Two changes of one text, made apart, as one text.
import { diffArrays } from "../../vendor/diff.js";

// As version control writes them: no rule that holds one can be read, so none is published by mistake.
const MARKS = { theirs: "<<<<<<< theirs", base: "||||||| before", between: "=======", mine: ">>>>>>> yours" };

/**
 * Both changes of a text together, line by line.
 * @param {string} base what both began with
 * @returns {string|null} null where both changed the same lines, or lines side by side
 */
export function merged(base, mine, theirs) {
  const parts = mergedParts(base, mine, theirs);
  return conflictsIn(parts) ? null : markedText(parts);
}

/** How many parts could not be merged. @param {object[]} parts as mergedParts gives them */
export function conflictsIn(parts) {
  return parts.filter(({ by }) => by === "conflict").length;
}

/** The parts as one text; what could not be merged stands in it three times, between marks. */
export function markedText(parts) {
  return parts.flatMap(linesOf).join("\n");
}

function linesOf({ by, base, mine, theirs }) {
  if (by !== "conflict") return by === "theirs" ? theirs : mine;
  return [MARKS.theirs, ...theirs, MARKS.base, ...base, MARKS.between, ...mine, MARKS.mine];
}

/**
 * A text and two changes of it, in parts.
 * @returns {{by: string, base: string[], mine: string[], theirs: string[]}[]} lines of each of the three, in
 *   order; `by` is who changed them: nobody, mine, theirs, both (alike), or conflict (each in another way).
 */
export function mergedParts(base, mine, theirs) {
  const lines = base.split("\n");
  const both = { mine: edits(lines, mine.split("\n")), theirs: edits(lines, theirs.split("\n")) };
  const parts = [];
  let at = 0;
  const keep = (to) => {
    const same = lines.slice(at, to);
    if (same.length) parts.push({ by: "nobody", base: same, mine: same, theirs: same });
    at = to;
  };
  for (const [from, to] of regions([...both.mine, ...both.theirs])) {
    keep(from);
    const part = { base: lines.slice(from, to) };
    for (const who of ["mine", "theirs"]) part[who] = changed(lines, both[who], from, to);
    parts.push({ by: changedBy(part), ...part });
    at = to;
  }
  keep(lines.length);
  return parts;
}

/** Where something changes: edits that touch are one region. */
function regions(all) {
  const sorted = [...all].sort((a, b) => a.from - b.from || a.to - b.to);
  const found = [];
  for (const { from, to } of sorted) {
    const last = found.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else found.push([from, to]);
  }
  return found;
}

function changed(lines, found, from, to) {
  const result = [];
  let at = from;
  for (const edit of found.filter((each) => each.from >= from && each.to <= to)) {
    result.push(...lines.slice(at, edit.from), ...edit.added);
    at = edit.to;
  }
  return [...result, ...lines.slice(at, to)];
}

function changedBy({ base, mine, theirs }) {
  const [text, left, right] = [base, mine, theirs].map((each) => JSON.stringify(each));
  if (left === right) return "both";
  if (left === text) return "theirs";
  return right === text ? "mine" : "conflict";
}

/** What replaces which lines: [{from, to, added}], `to` not included. */
function edits(before, after) {
  const found = [];
  let at = 0;
  let open = null;
  for (const part of diffArrays(before, after)) {
    if (!part.added && !part.removed) {
      at += part.value.length;
      open = null;
      continue;
    }
    if (!open) {
      open = { from: at, to: at, added: [] };
      found.push(open);
    }
    if (part.added) {
      open.added.push(...part.value);
    } else {
      at += part.value.length;
      open.to = at;
    }
  }
  return found;
}
