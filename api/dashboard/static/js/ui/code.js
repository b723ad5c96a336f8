// A block of code or other text to be read as it is, with a button that copies it.
import { html, useState } from "../../vendor/preact.js";
import { Button } from "./button.js";
import { toastProblem } from "./toast.js";
import { visible } from "./visible.js";

/**
 * Text in the monospaced face.
 * @param {{text: string, copy?: boolean, label?: string, readWhole?: () => Promise<string>}} properties
 *   readWhole: what is copied, if that is more than what is shown.
 */
export function CodeBlock({ text, copy = true, label = "text", readWhole }) {
  return html`<div class="code">
    <pre tabindex="0" aria-label=${label} role="region">${visible(text)}</pre>
    ${copy && html`<span class="copy"><${CopyButton} text=${text} read=${readWhole} /></span>`}
  </div>`;
}

/** Copies a text and says so. */
export function CopyButton({ text, read, label = "Copy" }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await copied(read ? await read() : text);
    } catch (problem) {
      toastProblem(problem);
      return;
    }
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
