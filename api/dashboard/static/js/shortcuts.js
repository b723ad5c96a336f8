// Keys for those who live on these pages: / searches, ? helps, g and a letter goes to a page, n writes a rule.
import { html, signal, useEffect } from "../vendor/preact.js";
import { navigate, path } from "./router.js";
import { can } from "./session.js";
import { stream } from "./streams.js";
import { Button } from "./ui/button.js";
import { Dialog } from "./ui/dialog.js";

const CHORD_MS = 1_500;
const isHelpOpen = signal(false);

const mayWrite = () => stream.value && can("author");

/** Pages by the letter behind g, and where they are: nowhere for those who have none. */
const PLACES = {
  o: ["Overview", () => "/"],
  r: ["Rules", () => stream.value && path`/streams/${stream.value}/rules`],
  m: ["Matches", () => stream.value && path`/streams/${stream.value}/matches`],
  l: ["Lists", () => stream.value && path`/streams/${stream.value}/lists`],
  p: ["Proposals", () => "/proposals"],
  a: ["Activity", () => "/activity"],
  t: ["Tokens", () => can("admin") && "/tokens"],
};

/** Listens as long as it is mounted, and shows the list of keys when it is asked for. */
export function Shortcuts() {
  useEffect(() => {
    let goneAt = -Infinity;
    const onKeyDown = (event) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyped(event)) return;
      const isGoing = event.timeStamp - goneAt < CHORD_MS;
      goneAt = -Infinity;
      if (isGoing && PLACES[event.key]) {
        const target = PLACES[event.key][1]();
        if (target) navigate(target);
      } else if (event.key === "g") {
        goneAt = event.timeStamp;
      } else if (event.key === "/") {
        const field = document.querySelector('main input[type="search"]');
        if (!field) return;
        field.focus();
        field.select();
      } else if (event.key === "?") {
        isHelpOpen.value = true;
      } else if (event.key === "n" && mayWrite()) {
        navigate(path`/streams/${stream.value}/new-rule`);
      } else {
        return;
      }
      event.preventDefault();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
  return isHelpOpen.value && html`<${Help} onClose=${() => (isHelpOpen.value = false)} />`;
}

/** Shows the list of keys. */
export function showShortcuts() {
  isHelpOpen.value = true;
}

function Help({ onClose }) {
  const keys = [
    [["/"], "Search on this page"],
    ...Object.entries(PLACES)
      .filter(([, [, target]]) => target())
      .map(([key, [name]]) => [["g", key], name]),
    ...(mayWrite() ? [[["n"], "New rule"]] : []),
    [["Esc"], "Close a dialog or a menu"],
    [["?"], "This list"],
  ];
  return html`<${Dialog} title="Keyboard shortcuts" onClose=${onClose}>
    <dl class="facts shortcuts">
      ${keys.map(
        ([pressed, about]) => html`<dt key=${about}>${pressed.map((key) => html`<kbd key=${key}>${key}</kbd> `)}</dt><dd key=${`${about}/about`}>${about}</dd>`,
      )}
    </dl>
    <footer class="row"><${Button} onClick=${onClose}>Close<//></footer>
  <//>`;
}

// What is typed into a field is meant for it; behind a dialog nothing happens.
function isTyped({ target }) {
  return target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable=true]") || document.querySelector("dialog[open]");
}
