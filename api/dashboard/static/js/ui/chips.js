// Tags, and filters in force that can be taken off.
import { html } from "../../vendor/preact.js";

/** A tag; with `onClick` it is a button. */
export function Chip({ children, onClick, pressed, title }) {
  if (!onClick) return html`<span class="chip" title=${title}><span>${children}</span></span>`;
  const state = pressed === undefined ? {} : { "aria-pressed": pressed ? "true" : "false" };
  return html`<button type="button" class="chip" title=${title} onClick=${onClick} ...${state}>
    <span>${children}</span>
  </button>`;
}

/** A filter in force. @param {{label: string, onRemove: () => void}} properties */
export function FilterChip({ label, onRemove }) {
  return html`<span class="chip">
    <span>${label}</span>
    <button type="button" class="remove" aria-label=${`Remove the filter ${label}`} onClick=${onRemove}>×</button>
  </span>`;
}
