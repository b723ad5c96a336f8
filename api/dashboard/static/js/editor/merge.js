// Two changes of one text, made apart, as one text.
import { diffArrays } from "../../vendor/diff.js";

/**
 * Both changes of a text together, line by line.
 * @param {string} base what both began with
 * @returns {string|null} null where both changed the same lines, or lines side by side
 */
export function merged(base, mine, theirs) {
  const lines = base.split("\n");
  const [left, right] = [mine, theirs].map((text) => edits(lines, text.split("\n")));
  const both = [...left, ...right.filter((edit) => !left.some((other) => isSame(edit, other)))];
  both.sort((a, b) => a.from - b.from || a.to - b.to);
  if (both.some((edit, index) => index > 0 && both[index - 1].to >= edit.from)) return null;
  for (const { from, to, added } of both.reverse()) lines.splice(from, to - from, ...added);
  return lines.join("\n");
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

function isSame(edit, other) {
  return edit.from === other.from && edit.to === other.to && edit.added.join("\n") === other.added.join("\n");
}
