// Buttons, and links that look like them.
import { html } from "../../vendor/preact.js";
import { Link } from "../router.js";
import { Icon } from "./icon.js";

/**
 * A button.
 * @param {{kind?: "primary"|"danger"|"plain", small?: boolean, icon?: string, label?: string, busy?: boolean}} properties
 *   `icon` alone needs a `label`, which is read out and shown on hover; all others go to the `<button>`.
 */
export function Button({ kind = "", small, icon, label, busy, disabled, children, ...attributes }) {
  const named = label ? { "aria-label": label, title: label } : {};
  return html`<button
    type="button"
    class=${classes(kind, small, icon && !children)}
    disabled=${disabled || busy}
    aria-busy=${busy ? "true" : undefined}
    ...${named}
    ...${attributes}
  >
    ${icon && html`<${Icon} name=${icon} />`}${children}
  </button>`;
}

/** A link inside the dashboard that looks like a button. */
export function ButtonLink({ kind = "", small, icon, children, ...attributes }) {
  return html`<${Link} class=${classes(kind, small, false)} ...${attributes}>
    ${icon && html`<${Icon} name=${icon} />`}${children}
  <//>`;
}

function classes(kind, small, isIcon) {
  return ["button", kind, small && "small", isIcon && "icon"].filter(Boolean).join(" ");
}
