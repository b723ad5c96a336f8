// Dialogs on the native <dialog>: focus is kept inside, Escape closes, the page behind is inert.
import { html, useEffect, useId, useRef, useState } from "../../vendor/preact.js";
import { Button } from "./button.js";
import { ProblemBox } from "./problem.js";
import { useSubmit } from "./submit.js";

const openersOf = new WeakMap(); // by dialog: what had the focus before it, and before those below it

/** A dialog that is open as long as it is mounted. @param {{title: string, onClose: () => void, wide?: boolean}} properties */
export function Dialog({ title, onClose, wide, children }) {
  const element = useRef(null);
  const isGone = useRef(false);
  const titleId = useId();
  useEffect(() => {
    const dialog = element.current;
    const opener = document.activeElement;
    const openers = [opener, ...(openersOf.get(opener?.closest("dialog")) ?? [])];
    openersOf.set(dialog, openers);
    dialog.showModal();
    return () => {
      isGone.current = true;
      if (dialog.open) dialog.close();
      requestAnimationFrame(() => focusFirst(openers));
    };
  }, []);
  // A file input fires `cancel`, too, when nothing is chosen; and forms of other dialogs may be inside.
  const isOwn = (event) => event.target === event.currentTarget;
  const onCancel = (event) => {
    if (!isOwn(event)) return;
    event.preventDefault();
    onClose();
  };
  // Before the browser sees it: what it closes by itself is open again only after the next Escape has gone further down.
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    onClose();
  };
  // An Escape outside all fields cannot be prevented twice: whoever keeps the dialog mounted keeps it open.
  const onClosed = (event) => {
    if (!isOwn(event) || isGone.current) return;
    onClose();
    setTimeout(() => !isGone.current && !element.current.open && element.current.showModal());
  };
  return html`<dialog
    ref=${element}
    class=${`dialog ${wide ? "wide" : ""}`}
    aria-labelledby=${titleId}
    onKeyDown=${onKeyDown}
    onCancel=${onCancel}
    onClose=${onClosed}
    onSubmit=${(event) => event.stopPropagation()}
  >
    <div class="dialog-inner">
      <h2 id=${titleId}>${title}</h2>
      ${children}
    </div>
  </dialog>`;
}

// What was done may have taken a button away; then screen readers go on at what lies below it, else at the page.
// Nor is the focus taken from what a quick hand has gone on to since.
function focusFirst(openers) {
  if (document.activeElement && document.activeElement !== document.body) return;
  const target = openers.find((each) => each?.isConnected && each !== document.body);
  (target ?? document.querySelector("main"))?.focus({ preventScroll: true });
}

/**
 * A question before something is done, with an optional comment for the change log.
 * @param {object} properties
 *   act: async (comment) => void; what it throws is shown and the dialog stays open.
 *   verb: the word on the button. danger: whether it takes something away.
 *   comment: whether to ask why. ready: whether it can be done as it stands. wide: as of a dialog.
 */
export function Confirm({ title, verb, danger, comment = true, ready = true, wide, act, onClose, children }) {
  const [why, setWhy] = useState("");
  const commentId = useId();
  const { submit, busy, problem } = useSubmit(async () => {
    await act(why.trim());
    onClose();
  });
  return html`<${Dialog} title=${title} wide=${wide} onClose=${onClose}>
    <form class="stack" onSubmit=${submit}>
      ${children}
      ${comment &&
      html`<div class="field">
        <label for=${commentId}>Reason (shown in the activity log)</label>
        <input
          id=${commentId}
          class="input"
          maxlength="1000"
          autocomplete="off"
          value=${why}
          onInput=${(event) => setWhy(event.currentTarget.value)}
        />
      </div>`}
      ${problem && html`<${ProblemBox} problem=${problem} />`}
      <footer class="row">
        <${Button} kind="plain" onClick=${onClose}>Cancel<//>
        <${Button} kind=${danger ? "danger" : "primary"} type="submit" busy=${busy} disabled=${!ready}>${verb}<//>
      </footer>
    </form>
  <//>`;
}
