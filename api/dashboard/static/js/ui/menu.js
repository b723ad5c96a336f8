// A menu behind a button: closes on Escape, on a choice, and when the focus leaves it.
import { html, useRef, useState } from "../../vendor/preact.js";
import { Button } from "./button.js";

/** @param {{label: string, icon?: string, button?: any}} properties children: buttons and links */
export function Menu({ label, icon = "more", button, children }) {
  const [open, setOpen] = useState(false);
  const element = useRef(null);
  const close = ({ refocus }) => {
    setOpen(false);
    if (refocus) element.current?.querySelector("button")?.focus();
  };
  const onKeyDown = (event) => {
    if (event.key === "Escape" && open) {
      event.stopPropagation();
      close({ refocus: true });
    }
    if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const items = [...element.current.querySelectorAll(".items button:not([disabled]), .items a")];
      const at = items.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
      items[(at + items.length) % items.length]?.focus();
    }
  };
  const onFocusOut = (event) => {
    if (event.relatedTarget && !element.current.contains(event.relatedTarget)) close({ refocus: false });
  };
  const onClick = (event) => {
    // A dialog that is opened from here returns the focus to the button of the menu.
    if (event.target.closest(".items button, .items a")) close({ refocus: !event.target.closest("a") });
  };
  return html`<div
    class="menu"
    ref=${element}
    onKeyDown=${onKeyDown}
    onFocusOut=${onFocusOut}
    onClick=${onClick}
  >
    <${Button}
      kind="plain"
      icon=${icon}
      label=${label}
      aria-expanded=${open ? "true" : "false"}
      aria-haspopup="true"
      onClick=${() => setOpen(!open)}
      >${button}<//
    >
    ${open && html`<div class="items">${children}</div>`}
  </div>`;
}
