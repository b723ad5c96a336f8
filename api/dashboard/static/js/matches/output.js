// What a match gives out, as pairs of names and values.
import { html } from "../../vendor/preact.js";

/** A value of an event or an output as text: strings as they are, all else as JSON. */
export function valueText(value) {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}

/** The key of a match as the service's filter takes it. */
export function keyText(key) {
  return key.map(valueText).join(", ");
}

/** An output in one line. */
export function OutputLine({ output }) {
  if (output === null || output === undefined) return html`<span class="muted">no output</span>`;
  if (typeof output !== "object" || Array.isArray(output)) return html`<code>${valueText(output)}</code>`;
  return html`<span class="pairs">
    ${Object.entries(output).map(
      ([name, value]) => html`<span key=${name} class="pair">
        <bdi class="pair-name">${name}</bdi> <bdi>${valueText(value)}</bdi>
      </span>`,
    )}
  </span>`;
}

/** An output as a list of facts. */
export function OutputFacts({ output }) {
  if (output === null || typeof output !== "object" || Array.isArray(output)) {
    return html`<${OutputLine} output=${output} />`;
  }
  return html`<dl class="facts">
    ${Object.entries(output).map(
      ([name, value]) => html`<dt key=${`${name}/name`}><bdi>${name}</bdi></dt><dd key=${name} class="number"><bdi>${valueText(value)}</bdi></dd>`,
    )}
  </dl>`;
}
