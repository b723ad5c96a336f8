// A pattern as readable text: its steps as a list, then what holds for the whole.

import { html, useMemo } from "../../vendor/preact.js";
import { readPattern } from "./model.js";
import { readRowPattern } from "./row_model.js";
import { clauseOf, useDrawing } from "./use_drawing.js";
import { lead, sentences, takes } from "./words.js";

/**
 * @param {object} properties
 * @param {unknown} properties.pattern The pattern document.
 */
export function PatternText({ pattern }) {
  const clause = clauseOf(pattern);
  return clause ? html`<${RowPatternText} clause=${clause} />` : html`<${EventPatternText} pattern=${pattern} />`;
}

function RowPatternText({ clause }) {
  const answer = useDrawing(clause);
  return html`<div class="pattern-text">
    ${answer && html`<pre class="pattern-text-clause"><code>${answer.text}</code></pre>`}
    ${answer && readRowPattern(answer).sentences.map((sentence) => html`<p>${sentence}</p>`)}
  </div>`;
}

function EventPatternText({ pattern }) {
  const read = useMemo(() => readPattern(pattern), [pattern]);
  return html`<div class="pattern-text">
    ${sequence(read.elements)}
    ${sentences(read).map((sentence) => html`<p>${sentence}</p>`)}
  </div>`;
}

function sequence(elements) {
  return html`<ol class="pattern-text-steps">
    ${elements.map((element, index) => item(element, index === elements.length - 1))}
  </ol>`;
}

function item(element, isLast) {
  const { count, condition, remarks } = takes(element);
  return html`<li class=${element.isNegative ? "is-negative" : ""}>
    <span class="pattern-text-lead">${lead(element, isLast)}:</span> ${count}
    ${element.kind === "step" && html` <strong>${element.name}</strong>`}
    ${condition && html` where <code>${condition}</code>`}
    ${remarks.length > 0 && html`<span class="pattern-text-remarks"> (${remarks.join(", ")})</span>`}
    ${element.kind === "group" && sequence(element.elements)}
  </li>`;
}
