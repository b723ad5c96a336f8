// Short messages that something has been done, or has failed, read out by screen readers.
import { html, signal } from "../../vendor/preact.js";
import { Button } from "./button.js";

const shown = signal([]);
let newest = 0;

/** Shows a message; `bad` ones stay until they are closed. @param {string} text */
export function toast(text, { bad = false } = {}) {
  newest += 1;
  const id = newest;
  shown.value = [...shown.value.slice(-3), { id, text, bad }];
  if (!bad) setTimeout(() => close(id), 6000);
}

/** Shows what an action threw. */
export function toastProblem(problem) {
  toast(problem.detail ?? problem.message, { bad: true });
}

/** Where messages appear; mounted once. */
export function Toasts() {
  return html`<div class="toasts" role="status" aria-live="polite">
    ${shown.value.map(
      ({ id, text, bad }) => html`<div key=${id} class=${`toast ${bad ? "bad" : ""}`}>
        <div>${text}</div>
        <${Button} small kind="plain" icon="cross" label="Close" onClick=${() => close(id)} />
      </div>`,
    )}
  </div>`;
}

function close(id) {
  shown.value = shown.value.filter((each) => each.id !== id);
}
