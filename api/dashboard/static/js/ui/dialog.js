// Dialogs on the native <dialog>: focus is kept inside, Escape closes, the page behind is inert.
import { html, useEffect, useId, useRef, useState } from "../../vendor/preact.js";
import { Button } from "./button.js";
import { ProblemBox } from "./problem.js";

/** A dialog that is open as long as it is mounted. @param {{title: string, onClose: () => void, wide?: boolean}} properties */
export function Dialog({ title, onClose, wide, children }) {
  const element = useRef(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog.showModal();
    return () => dialog.open && dialog.close();
  }, []);
  const onCancel = (event) => {
    event.preventDefault();
    onClose();
  };
  return html`<dialog
    ref=${element}
    class=${`dialog ${wide ? "wide" : ""}`}
    aria-labelledby=${titleId}
    onCancel=${onCancel}
  >
    <div class="dialog-inner">
      <h2 id=${titleId}>${title}</h2>
      ${children}
    </div>
  </dialog>`;
}

/**
 * A question before something is done, with an optional comment for the change log.
 * @param {object} properties
 *   act: async (comment) => void; what it throws is shown and the dialog stays open.
 *   verb: the word on the button. danger: whether it takes something away.
 *   comment: whether to ask why.
 */
export function Confirm({ title, verb, danger, comment = true, act, onClose, children }) {
  const [why, setWhy] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const commentId = useId();
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await act(why.trim());
      onClose();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form class="stack" onSubmit=${submit}>
      ${children}
      ${comment &&
      html`<div class="field">
        <label for=${commentId}>Why (kept in the activity log)</label>
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
        <${Button} kind=${danger ? "danger" : "primary"} type="submit" busy=${busy}>${verb}<//>
      </footer>
    </form>
  <//>`;
}
