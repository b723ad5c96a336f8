// What is wrong with a draft, as a list that leads to the lines.
import { html } from "../../vendor/preact.js";
import { plural } from "../format.js";
import { State } from "../ui/state.js";

/** @param {{problems: object[], isChecked: boolean, onJump: (problem: object) => void}} properties */
export function ProblemList({ problems, isChecked, onJump }) {
  const errors = problems.filter((each) => each.severity === "error").length;
  const warnings = problems.length - errors;
  return html`<section class="draft-problems" aria-label="What is wrong">
    <p role="status" class="row">
      ${!isChecked && html`<span class="muted">checking…</span>`}
      ${isChecked && !errors && html`<${State} of="draft" name="valid" />`}
      ${isChecked && errors > 0 && html`<${State} of="draft" name="error">${plural(errors, "error")}<//>`}
      ${isChecked && warnings > 0 && html`<${State} of="draft" name="warning">${plural(warnings, "warning")}<//>`}
    </p>
    ${problems.length > 0 &&
    html`<ul>
      ${problems.map(
        (problem) => html`<li key=${`${problem.pointer} ${problem.detail}`} class=${problem.severity}>
          <button type="button" onClick=${() => onJump(problem)}>
            <span class="number muted">line ${problem.line ?? 1}</span>
            <span>${problem.detail} <span class="secondary">${problem.remedy}</span></span>
          </button>
        </li>`,
      )}
    </ul>`}
  </section>`;
}
