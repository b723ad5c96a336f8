// Rules are ticked and then paused or resumed together.
import { html, useState } from "../../vendor/preact.js";
import { send } from "../api.js";
import { plural } from "../format.js";
import { path } from "../router.js";
import { Button } from "../ui/button.js";
import { Confirm } from "../ui/dialog.js";
import { toast } from "../ui/toast.js";

const NAMED = 8;
const MOST_AT_ONCE = 500;
const ACTIONS = {
  pause: { verb: "Pause", done: "paused", says: "Jobs stop running them with their next batch; all their versions stay." },
  resume: { verb: "Resume", done: "resumed", says: "They run again from now on in event time." },
};

/** The column of ticks. */
export function tickColumn(selection, lines) {
  const listed = lines.map((line) => line.id);
  const ticked = listed.filter((id) => selection.ids.has(id)).length;
  const isAll = ticked === listed.length && ticked > 0;
  return {
    key: "tick",
    className: "tick",
    label: html`<input
      type="checkbox"
      aria-label="All rules on this page"
      checked=${isAll}
      indeterminate=${ticked > 0 && !isAll}
      onChange=${() => selection.set(listed, !isAll)}
    />`,
    cell: ({ id }) => html`<input
      type="checkbox"
      aria-label=${id}
      checked=${selection.ids.has(id)}
      onClick=${(event) => selection.tick(listed, id, event.currentTarget.checked, event.shiftKey)}
    />`,
  };
}

/** What can be done with the rules that are ticked. */
export function SelectionBar({ stream, selection, onDone }) {
  const [action, setAction] = useState(null);
  const number = selection.ids.size;
  if (!number) return null;
  const tooMany = number > MOST_AT_ONCE;
  return html`<div class="selection-bar" role="region" aria-label="Selected rules">
    <span aria-live="polite">${plural(number, "rule")} selected${tooMany && `; at most ${MOST_AT_ONCE} at once`}</span>
    <${Button} small icon="pause" disabled=${tooMany} onClick=${() => setAction("pause")}>Pause…<//>
    <${Button} small icon="play" disabled=${tooMany} onClick=${() => setAction("resume")}>Resume…<//>
    <${Button} small kind="plain" onClick=${selection.clear}>Clear selection<//>
    ${action &&
    html`<${Question}
      stream=${stream}
      action=${action}
      ids=${[...selection.ids]}
      onClose=${() => setAction(null)}
      onDone=${() => {
        selection.clear();
        onDone();
      }}
    />`}
  </div>`;
}

function Question({ stream, action, ids, onClose, onDone }) {
  const { verb, done, says } = ACTIONS[action];
  const act = async (comment) => {
    const body = { ids };
    const { changed } = await send("POST", path`/v1/streams/${stream}/rules/${action}`, body, { query: { comment } });
    const unchanged = ids.length - changed.length;
    const others = unchanged ? `; ${unchanged} already were` : "";
    toast(`${plural(changed.length, "rule")} ${done}${others}. Jobs pick it up with their next batch.`);
    onDone();
  };
  return html`<${Confirm}
    title=${`${verb} ${plural(ids.length, "rule")}?`}
    verb=${verb}
    danger=${action === "pause"}
    act=${act}
    onClose=${onClose}
  >
    <p>${says} All of them change, or none.</p>
    <ul class="named-rules">
      ${ids.slice(0, NAMED).map((id) => html`<li key=${id}><code>${id}</code></li>`)}
      ${ids.length > NAMED && html`<li class="muted">and ${ids.length - NAMED} more</li>`}
    </ul>
  <//>`;
}
