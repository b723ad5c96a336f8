// A text that is shown once, such as a token: to be copied now or never.
import { html } from "../../vendor/preact.js";
import { Button } from "./button.js";
import { CodeBlock } from "./code.js";
import { Dialog } from "./dialog.js";

/** @param {{title: any, text: string, label: string, onClose: () => void, children: any}} properties children: what to do with it */
export function Secret({ title, text, label, onClose, children }) {
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <p>${children}</p>
    <${CodeBlock} text=${text} label=${label} />
    <footer><${Button} kind="primary" onClick=${onClose}>I have copied it<//></footer>
  <//>`;
}
