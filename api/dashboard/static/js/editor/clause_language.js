// SQL inside a document: where a clause of MATCH_RECOGNIZE stands in the text, and its words coloured.
import { Decoration, EditorView, StateField } from "../../vendor/codemirror.js";
import { FUNCTIONS, KEYWORDS } from "./clause_words.js";

const KEY = /^([ \t-]*)["']?match_recognize["']?[ \t]*:/;
const TOKEN =
  /(?<comment>--.*|\/\*[^]*?\*\/)|(?<string>'(?:[^'\n]|'')*')|(?<name>"[^"\n]*"|`[^`\n]*`)|\\.|(?<number>(?<![\w.])\d+(?:\.\d+)?)|(?<word>(?<![\w.])[a-z_]\w*)(?<call>\s*\()?/gi;
const MARKS = Object.fromEntries(
  ["comment", "string", "number", "keyword", "function"].map((kind) => [kind, Decoration.mark({ class: `cm-sql-${kind}` })]),
);

/** Colours the clause; an extension of the editor. */
export const clauseColours = StateField.define({
  create: (state) => coloured(state.doc),
  update: (before, transaction) => (transaction.docChanged ? coloured(transaction.state.doc) : before),
  provide: (field) => EditorView.decorations.from(field),
});

/** The theme that goes with it. */
export const CLAUSE_THEME = {
  ".cm-sql-keyword, .cm-sql-keyword *": { color: "var(--series-3)", fontWeight: "600" },
  ".cm-sql-function, .cm-sql-function *": { color: "var(--accent)" },
  ".cm-sql-string, .cm-sql-string *": { color: "var(--code-text)" },
  ".cm-sql-number, .cm-sql-number *": { color: "var(--series-3)" },
  ".cm-sql-comment, .cm-sql-comment *": { color: "var(--ink-3)", fontStyle: "italic" },
};

/**
 * Where the clause of a document stands: behind its key, and the lines that are further in than it.
 * @param {{lines: number, line: (number: number) => {from: number, to: number, text: string}}} doc
 * @returns {{from: number, to: number}|null}
 */
export function clauseRange(doc) {
  for (let number = 1; number <= doc.lines; number += 1) {
    const line = doc.line(number);
    const key = KEY.exec(line.text);
    if (!key) continue;
    let { to } = line;
    for (let next = number + 1; next <= doc.lines; next += 1) {
      const { text, to: end } = doc.line(next);
      if (text.trim() && /^[ \t]*/.exec(text)[0].length <= key[1].length) break;
      to = end;
    }
    return { from: line.from + key[0].length, to };
  }
  return null;
}

function coloured(doc) {
  const range = clauseRange(doc);
  if (!range) return Decoration.none;
  const found = [];
  for (const { 0: text, index, groups } of doc.sliceString(range.from, range.to).matchAll(TOKEN)) {
    const kind = kindOf(groups);
    if (kind) found.push(MARKS[kind].range(range.from + index, range.from + index + (groups.word ?? text).length));
  }
  return Decoration.set(found);
}

function kindOf({ comment, string, number, word, call }) {
  if (comment) return "comment";
  if (string) return "string";
  if (number) return "number";
  if (!word) return null;
  // LAST is a function where it is called, and a keyword in AFTER MATCH SKIP.
  if (call && FUNCTIONS.has(word.toUpperCase())) return "function";
  return KEYWORDS.has(word.toUpperCase()) ? "keyword" : null;
}
