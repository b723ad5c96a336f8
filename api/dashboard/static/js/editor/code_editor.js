// A text editor (CodeMirror) as a component: YAML or JSON, with what is wrong marked at its place.
import { html, useEffect, useRef } from "../../vendor/preact.js";
import {
  Compartment,
  EditorState,
  EditorView,
  HighlightStyle,
  autocompletion,
  basicSetup,
  json,
  lintGutter,
  setDiagnostics,
  syntaxHighlighting,
  tags,
  yaml,
} from "../../vendor/codemirror.js";
import { CLAUSE_THEME, clauseColours } from "./clause_language.js";
import { completed } from "./completion.js";
import { foldedCode } from "./folded_code.js";

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
  // Where there is no room beside the list, what the library shows stands on top of it.
  ".cm-completionInfo-left-narrow, .cm-completionInfo-right-narrow": { display: "none" },
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
 *   offers: what completion draws on, see completion.js; null = nothing is offered.
 *   jump: {line, column} to go to; a new object jumps again.
 */
export function CodeEditor(properties) {
  const { initial, onChange, replacement = null, format, label, problems = NOTHING, offers = null, jump = null } = properties;
  const place = useRef(null);
  const editor = useRef(null);
  const language = useRef(new Compartment());
  const latest = useRef({});
  latest.current = { onChange, offers, format };

  useEffect(() => {
    const nonce = document.querySelector('meta[name="style-nonce"]')?.content ?? "";
    // One and the same source at every call: to the library another one is a reason to begin anew.
    const source = (context) => latest.current.offers && completed(context, latest.current.offers, latest.current.format);
    const sources = [{ autocomplete: source }];
    editor.current = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: initial,
        extensions: [
          EditorView.cspNonce.of(nonce),
          basicSetup,
          autocompletion({ activateOnCompletion: ({ type }) => type === "property" }),
          lintGutter(),
          language.current.of(LANGUAGES[format]()),
          syntaxHighlighting(COLOURS),
          clauseColours,
          foldedCode,
          THEME,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
          EditorState.languageData.of(() => sources),
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
