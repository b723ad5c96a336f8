// A block of code or other text to be read as it is, with a button that copies it.
import { html, useState } from "../../vendor/preact.js";
import { Button } from "./button.js";

/** Text in the monospaced face. @param {{text: string, copy?: boolean, label?: string}} properties */
export function CodeBlock({ text, copy = true, label = "text" }) {
  return html`<div class="code">
    <pre tabindex="0" aria-label=${label} role="region">${text}</pre>
    ${copy && html`<span class="copy"><${CopyButton} text=${text} /></span>`}
  </div>`;
}

/** Copies a text and says so. */
export function CopyButton({ text, label = "Copy" }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await copied(text);
    setDone(true);
    setTimeout(() => setDone(false), 2000);
  };
  return html`<${Button} small kind="plain" icon=${done ? "check" : "copy"} onClick=${copy}>
    <span aria-live="polite">${done ? "Copied" : label}</span>
  <//>`;
}

async function copied(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  // On plain HTTP there is no clipboard API; a selection can be copied all the same.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
