// A long text that somebody wrote: its beginning, and all of it when it is asked for.
import { html, useState } from "../../vendor/preact.js";
import { Button } from "./button.js";

const LONGEST = 400; // characters
const MOST_LINES = 6;

/** The text runs in its own direction. @param {{text: string, className?: string, tag?: string}} properties tag: "p", "q" */
export function Folded({ text, className = "", tag = "p" }) {
  const [isOpen, setOpen] = useState(false);
  const beginning = beginningOf(text);
  if (beginning === text) return html`<${tag} class=${className} dir="auto">${text}<//>`;
  return html`<${tag} class=${className} dir="auto">${isOpen ? text : `${beginning.trimEnd()}…`}<//>
    <${Button} small kind="plain" data-folds aria-expanded=${isOpen ? "true" : "false"} onClick=${() => setOpen(!isOpen)}>
      ${isOpen ? "Show less" : "Show all"}
    <//>`;
}

function beginningOf(text) {
  const few = text.split("\n").slice(0, MOST_LINES).join("\n");
  return few.length > LONGEST ? few.slice(0, LONGEST) : few;
}
