#!/usr/bin/env bash
# Fetches the front-end libraries and bundles each into one ES module in static/vendor/.
# Run it only to change a version; the results are kept in the repository, so that serving needs no Node.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
target="$here/static/vendor"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"

libraries=(
  preact@11.2.0 htm@3.1.1 @preact/signals@2.11.4 uplot@1.6.32 diff@9.0.0
  codemirror@6.0.2
  @codemirror/autocomplete @codemirror/commands @codemirror/language @codemirror/lint
  @codemirror/search @codemirror/state @codemirror/view
  @codemirror/lang-json @codemirror/lang-yaml @lezer/highlight
)
fonts=(@fontsource-variable/inter @fontsource/ibm-plex-mono)
npm init --yes >/dev/null
npm install --silent --ignore-scripts "${libraries[@]}" "${fonts[@]}"
npm install --silent esbuild@0.28.2 # its own install script fetches the binary

cat >preact.js <<'JS'
import { h } from "preact";
import htm from "htm";
export { Component, Fragment, createContext, createRef, h, options, render } from "preact";
export {
  useCallback, useContext, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useReducer,
  useRef, useState,
} from "preact/hooks";
export {
  batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect,
} from "@preact/signals";
export const html = htm.bind(h);
JS
cat >uplot.js <<'JS'
export { default } from "uplot";
JS
cat >diff.js <<'JS'
export { createTwoFilesPatch, diffArrays, diffLines, diffWordsWithSpace, structuredPatch } from "diff";
JS
cat >codemirror.js <<'JS'
export { basicSetup, minimalSetup } from "codemirror";
export { Compartment, EditorSelection, EditorState, StateEffect, StateField } from "@codemirror/state";
export {
  Decoration, EditorView, WidgetType, highlightActiveLine, keymap, lineNumbers, placeholder, tooltips,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
export { HighlightStyle, bracketMatching, foldGutter, syntaxHighlighting, syntaxTree } from "@codemirror/language";
export { autocompletion, completeFromList, completionKeymap } from "@codemirror/autocomplete";
export { forEachDiagnostic, forceLinting, lintGutter, lintKeymap, linter, setDiagnostics } from "@codemirror/lint";
export { openSearchPanel, search, searchKeymap } from "@codemirror/search";
export { json, jsonParseLinter } from "@codemirror/lang-json";
export { yaml } from "@codemirror/lang-yaml";
export { tags } from "@lezer/highlight";
JS

rm -rf "$target"
mkdir -p "$target"
for name in preact uplot diff codemirror; do
  npx esbuild "$name.js" --bundle --format=esm --minify --target=es2022 --legal-comments=none --outfile="$target/$name.js" --log-level=warning
done
cp node_modules/uplot/dist/uPlot.min.css "$target/uplot.css"
cp node_modules/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2 "$target/inter.woff2"
cp node_modules/@fontsource/ibm-plex-mono/files/ibm-plex-mono-latin-400-normal.woff2 "$target/ibm-plex-mono.woff2"

# What went in, with versions and licences; their texts beside it, as the licences ask.
node - "$target" <<'JS'
const fs = require("fs"), path = require("path");
const target = process.argv[2];
const left_out = new Set(["esbuild"]);
const rows = [], texts = [];
function visit(folder) {
  for (const name of fs.readdirSync(folder).sort()) {
    if (name.startsWith(".")) continue;
    const inner = path.join(folder, name);
    if (name.startsWith("@")) { if (name !== "@esbuild") visit(inner); continue; }
    if (left_out.has(name)) continue;
    const about = JSON.parse(fs.readFileSync(path.join(inner, "package.json"), "utf8"));
    rows.push(`| ${about.name} | ${about.version} | ${about.license} |`);
    const file = fs.readdirSync(inner).find((each) => /^licen[cs]e/i.test(each));
    if (file) texts.push(`== ${about.name} ${about.version}\n\n${fs.readFileSync(path.join(inner, file), "utf8").trim()}\n`);
    else texts.push(`== ${about.name} ${about.version}\n\n${about.license}; ${about.homepage ?? ""}\n`);
  }
}
visit("node_modules");
fs.writeFileSync(path.join(target, "VENDORED.md"),
  "# Vendored libraries\n\nMade by `api/dashboard/vendor.sh`; do not edit by hand. Licence texts: [LICENSES.txt](LICENSES.txt).\n\n" +
  "| package | version | licence |\n|---|---|---|\n" + rows.join("\n") + "\n");
fs.writeFileSync(path.join(target, "LICENSES.txt"), texts.join("\n"));
JS
ls -l "$target"
