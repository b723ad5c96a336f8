// What a match gives out, as pairs of names and values.
import { html } from "../../vendor/preact.js";
import { visible, visibleValue } from "../ui/visible.js";

/** A value of an event or an output as it is shown: strings as they are but for what nobody sees, all else as JSON. */
export function valueText(value) {
  return visible(plainText(value));
}

/** The key of a match as the service's filter takes it. */
export function keyText(key) {
  return key.map(plainText).join(", ");
}

/** The key of a match as it is shown: two keys that differ look different. */
export function shownKey(key) {
  return key.map((value) => visibleValue(plainText(value))).join(", ");
}

function plainText(value) {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
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
