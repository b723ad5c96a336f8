// States as a shape, a colour and a word, so that no one of them is needed alone.
import { html } from "../../vendor/preact.js";
import { stateColour, stateShape, stateWord } from "./states.js";

const SHAPES = {
  disc: html`<circle cx="5" cy="5" r="4.5" fill="currentColor" />`,
  ring: html`<circle cx="5" cy="5" r="3.8" fill="none" stroke="currentColor" stroke-width="1.8" />`,
  half: html`<circle cx="5" cy="5" r="3.8" fill="none" stroke="currentColor" stroke-width="1.8" /><path
      d="M5 .5a4.5 4.5 0 010 9z"
      fill="currentColor"
    />`,
  bars: html`<path d="M2.6 1v8M7.4 1v8" stroke="currentColor" stroke-width="2.4" />`,
  cross: html`<path d="M1.2 1.2l7.6 7.6M8.8 1.2L1.2 8.8" stroke="currentColor" stroke-width="2.2" />`,
  dash: html`<path d="M1 5h8" stroke="currentColor" stroke-width="2.2" />`,
  triangle: html`<path d="M5 .5l4.8 8.8H.2z" fill="currentColor" />`,
  square: html`<path d="M1 1h8v8H1z" fill="currentColor" />`,
};

/**
 * A state as a badge. @param {{of: string, name: string, children?: any, title?: string}} properties
 *   of: what it is a state of; name: as the service calls it; children: what is shown, where more than its word is to be said.
 */
export function State({ of: kind, name, children, title }) {
  return html`<span class=${`state ${stateColour(kind, name)}`} title=${title} data-state=${name}>
    <svg viewBox="0 0 10 10" aria-hidden="true">${SHAPES[stateShape(kind, name)]}</svg><span>${children ?? stateWord(kind, name)}</span>
  </span>`;
}
