// Rules are ticked and then changed together: the ticks, and the bar of what can be done.
import { html, useState } from "../../vendor/preact.js";
import { get } from "../api.js";
import { count, plural } from "../format.js";
import { path, route } from "../router.js";
import { can } from "../session.js";
import { Button } from "../ui/button.js";
import { Menu } from "../ui/menu.js";
import { toastProblem } from "../ui/toast.js";
import { ACTIONS } from "./bulk_actions.js";
import { BulkQuestion } from "./bulk_question.js";
import { listQuery } from "./filters.js";

const MOST_AT_ONCE = 500;
const BUTTONS = [
  ["pause", "pause"],
  ["resume", "play"],
  ["snooze", null],
  ["labels", null],
];
const IN_MENU = ["wake", "acknowledge", "delete"];

/** The column of ticks. */
export function tickColumn(selection, lines) {
  const listed = lines.map((line) => line.id);
  const ticked = listed.filter((id) => selection.ids.has(id)).length;
  const isAll = ticked === listed.length && ticked > 0;
  return {
    key: "tick",
    className: "tick",
    label: html`<label>
      <input
        type="checkbox"
        aria-label="All rules on this page"
        checked=${isAll}
        indeterminate=${ticked > 0 && !isAll}
        onChange=${() => selection.set(listed, !isAll)}
      />
    </label>`,
    cell: ({ id }) => html`<label>
      <input
        type="checkbox"
        aria-label=${id}
        checked=${selection.ids.has(id)}
        onClick=${(event) => selection.tick(listed, id, event.currentTarget.checked, event.shiftKey)}
      />
    </label>`,
  };
}

/** Offers all rules that meet the filter, once all of this page are ticked and there are more. */
export function SelectAll({ stream, selection, page }) {
  const [isReading, setReading] = useState(false);
  const isPageTicked = page.items.length > 0 && page.items.every(({ id }) => selection.ids.has(id));
  if (!isPageTicked || page.total <= page.items.length || !can("author")) return null;
  const readAll = async () => {
    setReading(true);
    try {
      selection.set(await idsOfAll(stream, route.value.query), true);
    } catch (problem) {
      toastProblem(problem);
    } finally {
      setReading(false);
    }
  };
  return html`<p class="select-all">
    ${selection.ids.size >= page.total
      ? html`All ${plural(page.total, "rule")} that match the filter are selected.`
      : html`All ${plural(page.items.length, "rule")} on this page are selected.${" "}
          <${Button} small busy=${isReading} onClick=${readAll}>Select all ${count(page.total)}<//>`}
  </p>`;
}

async function idsOfAll(stream, query) {
  const ids = [];
  let cursor = null;
  do {
    const page = await get(path`/v1/streams/${stream}/rules`, listQuery(query, cursor, MOST_AT_ONCE));
    ids.push(...page.items.map(({ id }) => id));
    cursor = page.next_cursor;
  } while (cursor);
  return ids;
}

/** What can be done with the rules that are ticked. */
export function SelectionBar({ stream, selection, onDone }) {
  const [action, setAction] = useState(null);
  const number = selection.ids.size;
  if (!number) return null;
  const mayDo = (name) => can(ACTIONS[name].role);
  return html`<div class="selection-bar" role="region" aria-label="Selected rules">
    <span aria-live="polite">${plural(number, "rule")} selected</span>
    ${BUTTONS.filter(([name]) => mayDo(name)).map(
      ([name, icon]) => html`<${Button} key=${name} small icon=${icon} onClick=${() => setAction(name)}>${ACTIONS[name].verb}…<//>`,
    )}
    <${Menu} label="More actions">
      ${IN_MENU.filter(mayDo).map(
        (name) => html`<button
          key=${name}
          type="button"
          class=${name === "delete" ? "danger" : ""}
          onClick=${() => setAction(name)}
        >
          ${ACTIONS[name].verb}…
        </button>`,
      )}
    <//>
    <${Button} small kind="plain" onClick=${selection.clear}>Clear selection<//>
    ${action &&
    html`<${BulkQuestion}
      key=${action}
      stream=${stream}
      name=${action}
      ids=${[...selection.ids]}
      onClose=${() => setAction(null)}
      onDone=${(ids) => {
        selection.set(ids, false);
        onDone();
      }}
    />`}
  </div>`;
}
