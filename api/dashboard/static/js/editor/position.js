// Where in a rule the cursor stands: the keys above it, and whether a key or a value is being typed.
//
// Read from indentation and brackets, not from a parsed tree: a rule that is being typed rarely parses.

const DASHES = /^\s*(?:- +)*/;
const YAML_KEY = /^(?:"([^"]*)"|'([^']*)'|([^\s"'#{}[\],:][^"'#{}[\],:]*))\s*:(?=\s|$)/;
const ITEM = "*";

/**
 * @typedef {object} Position
 * @property {string[]} path The keys above, from the outermost; "*" is an item of a list.
 * @property {boolean} isKey Whether a key of that object may be typed here; else it is the value at `path`.
 * @property {Set<string>} used The keys which that object has already, the one being typed left out.
 * @property {string} typed What stands between the beginning of the key or value and the cursor.
 */

/** @param {string} text @param {number} offset @param {"yaml"|"json"} format @returns {Position|null} null in a comment */
export function positionAt(text, offset, format) {
  return format === "json" ? inBrackets(text, offset, []) : inLines(text, offset);
}

function inLines(text, offset) {
  const before = text.slice(0, offset).split("\n");
  const line = before.pop();
  const after = text.slice(offset).split("\n").slice(1);
  const entries = entriesOf(line);
  const last = entries.at(-1);
  const rest = line.slice(last ? last.end : 0);
  if (/(^|\s)#/.test(rest) && !/["']/.test(rest)) return null;
  const inner = parentsOf(before, entries, last?.key === undefined ? rest.search(/\S|$/) + (last?.end ?? 0) : last.column);
  const path = last?.key === undefined ? inner.path : [...inner.path, last.key];
  if (inner.isText) return { path: inner.path, isKey: false, used: new Set(), typed: line.trimStart() };
  const value = rest.trimStart();
  if (/^[{[]/.test(value)) return inBrackets(value, value.length, path);
  if (last?.key !== undefined) return { path, isKey: false, used: new Set(), typed: value };
  for (const below of after) {
    if (!below.trim()) continue;
    const [first] = entriesOf(below);
    if (below.search(/\S/) < inner.column || first?.column !== inner.column || first.key === undefined) break;
    inner.used.add(first.key);
  }
  return { path, isKey: true, used: inner.used, typed: value };
}

/** The dashes and the key that a line begins with: {column, end, key}; of a dash the key is undefined. */
function entriesOf(line) {
  const found = [];
  const [dashes] = DASHES.exec(line);
  for (const { index } of dashes.matchAll(/-/g)) found.push({ column: index, end: index + 1 });
  const key = YAML_KEY.exec(line.slice(dashes.length));
  if (key) {
    found.push({ column: dashes.length, end: dashes.length + key[0].length, key: key[1] ?? key[2] ?? key[3].trim() });
  } else if (found.length) {
    found.at(-1).end = dashes.length;
  }
  return found;
}

// Goes up line by line; `column` is that of what is being typed, and falls with every parent that is found.
function parentsOf(before, own, column) {
  const state = { path: [], used: new Set(), column, limit: column, isDash: false, isText: false };
  for (const entry of own.toReversed()) take(entry, state);
  for (const line of before.toReversed()) {
    if (!line.trim() || line.trimStart().startsWith("#")) continue;
    const entries = entriesOf(line);
    for (const entry of entries.toReversed()) {
      const isParent = take(entry, state) && entry.key !== undefined;
      const value = line.slice(entry.end).trim();
      // What is further in than a key with a value goes on with that value.
      if (isParent && value && !value.startsWith("#") && state.path.length === 1) state.isText = true;
    }
    if (state.limit <= 0 && !state.isDash) break;
  }
  return state;
}

function take({ column, key }, state) {
  if (key === undefined) {
    if (column >= state.limit || state.isDash) return false;
    state.path.unshift(ITEM);
    state.limit = column;
    state.isDash = true;
    return true;
  }
  // A list may stand right below its key, no further in.
  if (column < state.limit || (state.isDash && column === state.limit)) {
    state.path.unshift(key);
    state.limit = column;
    state.isDash = false;
    return true;
  }
  if (column === state.column && !state.path.length) state.used.add(key);
  return false;
}

// JSON, and YAML between brackets: what is open at the cursor.
function inBrackets(text, offset, above) {
  const open = [];
  let token = "";
  let quote = "";
  const top = () => open.at(-1);
  for (let index = 0; index < offset; index += 1) {
    const character = text[index];
    if (quote) {
      if (character === "\\" && quote === '"') index += 1;
      else if (character === quote) quote = "";
      token += text[index] ?? "";
    } else if (character === '"' || character === "'") {
      quote = character;
      token += character;
    } else if (character === "{" || character === "[") {
      open.push({ isList: character === "[", key: null, used: new Set() });
      token = "";
    } else if (character === "}" || character === "]") {
      open.pop();
      token = "";
    } else if (character === ",") {
      if (top()) top().key = null;
      token = "";
    } else if (character === ":" && top() && !top().isList && top().key === null) {
      top().key = bare(token);
      top().used.add(top().key);
      token = "";
    } else {
      token += character;
    }
  }
  const path = [...above];
  for (const each of open) {
    if (each.isList) path.push(ITEM);
    else if (each.key !== null) path.push(each.key);
  }
  const inner = top();
  const isKey = Boolean(inner && !inner.isList && inner.key === null);
  return { path, isKey, used: isKey ? inner.used : new Set(), typed: token.trimStart() };
}

function bare(token) {
  return token.trim().replace(/^["']|["']$/g, "");
}
