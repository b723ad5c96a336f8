// What is shown where there is nothing yet: why, and what to do next.
import { html } from "../../vendor/preact.js";

/** @param {{title: string, heading?: string}} properties children: why, and what to do */
export function Empty({ title, children }) {
  return html`<div class="empty">
    <svg viewBox="0 0 64 32" width="84" height="42" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true">
      <path d="M10 22h14l8-14 8 14h14" stroke-dasharray="3 4" />
      <circle cx="10" cy="22" r="4.5" /><circle cx="32" cy="8" r="4.5" /><circle cx="54" cy="22" r="4.5" />
    </svg>
    <h2>${title}</h2>
    ${children}
  </div>`;
}
