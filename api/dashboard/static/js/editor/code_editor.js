// A text editor (CodeMirror) as a component: YAML or JSON, with what is wrong marked at its place.
import { html, useEffect, useRef } from "../../vendor/preact.js";
import {
  Compartment,
  EditorState,
  EditorView,
  HighlightStyle,
  basicSetup,
  json,
  lintGutter,
  setDiagnostics,
  syntaxHighlighting,
  tags,
  yaml,
} from "../../vendor/codemirror.js";
import { CLAUSE_THEME, clauseColours, clauseRange } from "./clause_language.js";

const NOTHING = [];
const LANGUAGES = { yaml, json };
const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-text)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.atom], color: "var(--series-3)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--ink-3)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: "var(--ink-2)" },
]);
const THEME = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "transparent", fontSize: "13px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused": { outline: "none" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--ink-3)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection": {
    backgroundColor: "var(--accent-soft) !important",
  },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--raised)", color: "var(--ink)", borderColor: "var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  // The library marks places by images made of data, which the page's policy rightly refuses.
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad-dot)" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn-dot)" },
  ".cm-lint-marker": { width: "1em", height: "auto", lineHeight: "1.6", textAlign: "center" },
  ".cm-lint-marker-error, .cm-lint-marker-warning": { content: "normal" },
  ".cm-lint-marker-error::before": { content: '"✕"', color: "var(--bad)", fontSize: "0.75em" },
  ".cm-lint-marker-warning::before": { content: '"▲"', color: "var(--warn)", fontSize: "0.75em" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad-dot)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn-dot)" },
  ...CLAUSE_THEME,
  ".cm-diagnostic": { fontFamily: "var(--font)", padding: "6px 10px", maxWidth: "60ch", whiteSpace: "pre-wrap" },
});

/**
 * @param {object} properties
 *   initial: the text at first; onChange is told every other. format: "yaml" or "json".
 *   replacement: {text} to put in place of what is there; a new object replaces again. (Were the text
 *   itself handed back and forth, a slow rendering would undo what was typed meanwhile.)
 *   label: its name for screen readers.
 *   problems: [{line, column, length, severity, detail, remedy}], lines from 1.
 *   words: what is offered while typing; clauseWords: inside a clause of SQL. jump: {line, column} to go to; a new object jumps again.
 */
export function CodeEditor(properties) {
  const { initial, onChange, replacement = null, format, label, problems = NOTHING, words = NOTHING, jump = null } = properties;
  const { clauseWords = NOTHING } = properties;
  const place = useRef(null);
  const editor = useRef(null);
  const language = useRef(new Compartment());
  const latest = useRef({});
  latest.current = { onChange, words, clauseWords };

  useEffect(() => {
    const nonce = document.querySelector('meta[name="style-nonce"]')?.content ?? "";
    // One and the same source at every call: to the library another one is a reason to begin anew.
    const offers = [{ autocomplete: (context) => completed(context, latest.current) }];
    editor.current = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: initial,
        extensions: [
          EditorView.cspNonce.of(nonce),
          basicSetup,
          lintGutter(),
          language.current.of(LANGUAGES[format]()),
          syntaxHighlighting(COLOURS),
          clauseColours,
          THEME,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
          EditorState.languageData.of(() => offers),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    return () => editor.current.destroy();
  }, []);

  useEffect(() => {
    if (!replacement) return;
    const { state } = editor.current;
    editor.current.dispatch({ changes: { from: 0, to: state.doc.length, insert: replacement.text } });
  }, [replacement]);

  useEffect(() => {
    editor.current.dispatch({ effects: language.current.reconfigure(LANGUAGES[format]()) });
  }, [format]);

  useEffect(() => {
    const { state } = editor.current;
    editor.current.dispatch(setDiagnostics(state, problems.map((each) => diagnostic(state.doc, each))));
  }, [problems]);

  useEffect(() => {
    if (!jump) return;
    const { from } = placeOf(editor.current.state.doc, jump);
    editor.current.dispatch({ selection: { anchor: from }, scrollIntoView: true });
    editor.current.focus();
  }, [jump]);

  return html`<div class="code-editor" ref=${place}></div>`;
}

function diagnostic(document, problem) {
  const message = [problem.detail, problem.remedy].filter(Boolean).join(" ");
  return { ...placeOf(document, problem), severity: problem.severity, message };
}

function placeOf(document, { line, column, length }) {
  const found = document.line(Math.min(Math.max(line ?? 1, 1), document.lines));
  const from = Math.min(found.from + Math.max((column ?? 1) - 1, 0), found.to);
  const word = /^[\w-]+/.exec(document.sliceString(from, found.to))?.[0].length ?? 0;
  return { from, to: Math.min(from + (length ?? Math.max(word, 1)), found.to) };
}

function completed(context, { words, clauseWords }) {
  const range = clauseRange(context.state.doc);
  if (range && context.pos > range.from && context.pos <= range.to) return completedInClause(context, clauseWords);
  const word = context.matchBefore(/[\w-]+/);
  if (!word && !context.explicit) return null;
  return { from: word ? word.from : context.pos, options: words, validFor: /^[\w-]*$/ };
}

function completedInClause(context, words) {
  const field = context.matchBefore(/\w\.\w*/);
  const word = context.matchBefore(/\w+/);
  if (!field && !word && !context.explicit) return null;
  // Behind a variable and a dot only a column makes sense.
  const options = field ? words.filter(({ type }) => type === "variable") : words;
  return { from: field ? field.from + 2 : word ? word.from : context.pos, options, validFor: /^\w*$/ };
}
