// Matches are ticked, and then given a status or an assignee together.
import { html, useState } from "../../vendor/preact.js";
import { plural } from "../format.js";
import { session } from "../session.js";
import { Button } from "../ui/button.js";
import { Confirm } from "../ui/dialog.js";
import { Check, TextField } from "../ui/field.js";
import { stateWord } from "../ui/states.js";
import { toast } from "../ui/toast.js";
import { AssigneeField } from "./assignee.js";
import { changeFound, changeSeen } from "./change.js";

const MOST_AT_ONCE = 500;
const LONGEST = 4_000;
const ACTIONS = [
  ["acknowledged", "Acknowledge…"],
  ["false_positive", "False positive…"],
  ["resolved", "Resolve…"],
  ["open", "Reopen…"],
  [null, "Assign…"],
];

/** Ticks all matches that are shown, or none. @param {{selection: object, matches: object[]}} properties */
export function TickAll({ selection, matches }) {
  const ids = matches.map((match) => match.match_id);
  const ticked = ids.filter((id) => selection.ids.has(id)).length;
  const isAll = ticked === ids.length;
  return html`<label class="check tick-all">
    <input
      type="checkbox"
      checked=${isAll}
      indeterminate=${ticked > 0 && !isAll}
      onChange=${() => selection.set(ids, !isAll)}
    />All ${plural(ids.length, "match", "matches")} shown
  </label>`;
}

/**
 * What can be done with the matches that are ticked.
 * @param {{stream: string, selection: object, list: object, wanted: object}} properties
 *   list: that of `useMatches`. wanted: the filters in force.
 */
export function MatchSelectionBar({ stream, selection, list, wanted }) {
  const [action, setAction] = useState(undefined);
  const ticked = list.matches.filter((match) => selection.ids.has(match.match_id));
  if (!ticked.length) return null;
  const tooMany = ticked.length > MOST_AT_ONCE;
  // All there are can only be meant where all that are shown are ticked, and there are more.
  const mayBeAll = ticked.length === list.matches.length && Boolean(list.nextCursor) && Object.keys(wanted).length > 0;
  return html`<div class="selection-bar" role="region" aria-label="Selected matches">
    <span aria-live="polite">
      ${plural(ticked.length, "match", "matches")} selected${tooMany && `; at most ${MOST_AT_ONCE} at once`}
    </span>
    ${ACTIONS.map(
      ([status, label]) => html`<${Button} key=${label} small disabled=${tooMany && !mayBeAll} onClick=${() => setAction(status)}>
        ${label}
      <//>`,
    )}
    <${Button} small kind="plain" onClick=${selection.clear}>Clear selection<//>
    ${action !== undefined &&
    html`<${Question}
      stream=${stream}
      status=${action}
      ticked=${ticked}
      upTo=${list.newest}
      wanted=${mayBeAll ? wanted : null}
      onClose=${() => setAction(undefined)}
      onDone=${() => {
        selection.clear();
        list.reload();
      }}
    />`}
  </div>`;
}

function Question({ stream, status, ticked, upTo, wanted, onClose, onDone }) {
  const [assignee, setAssignee] = useState(status === null ? (session.value?.name ?? "") : "");
  const [note, setNote] = useState("");
  const [isAll, setAll] = useState(false);
  const [done, setDone] = useState(0);
  const act = async () => {
    const change = { status: status ?? undefined, note: note.trim() || undefined };
    if (status === null || assignee.trim()) change.assignee = assignee.trim();
    const { changed, unchanged } = isAll
      ? await changeFound(stream, wanted, upTo, change, setDone)
      : await changeSeen(stream, ticked, change);
    toast(`${plural(changed, "match", "matches")} changed${unchanged ? `; ${unchanged} unchanged` : ""}.`);
    onDone();
  };
  const which = isAll ? "All that match the filters" : plural(ticked.length, "match", "matches");
  const title = status === null ? `Assign: ${which}` : `${which}: ${stateWord("triage", status)}`;
  return html`<${Confirm} title=${title} verb=${status === null ? "Assign" : `Mark as ${stateWord("triage", status)}`} comment=${false} act=${act} onClose=${onClose}>
    ${wanted &&
    html`<${Check}
      label="All recent matches that match the filters, not only those shown"
      checked=${isAll}
      onChange=${setAll}
    />`}
    <p>
      ${isAll
        ? "Page by page, whatever their status is now. New matches are not affected."
        : "All of them change, or none: if someone has changed one of them since you loaded it, none is changed."}
    </p>
    <${AssigneeField}
      stream=${stream}
      label=${status === null ? "Assign to" : "Assign to (empty = unchanged)"}
      hint=${status === null ? "Empty = unassigned" : ""}
      value=${assignee}
      onInput=${setAssignee}
    />
    <${TextField} label="Note on each match (optional)" multiline rows="2" maxlength=${LONGEST} value=${note} onInput=${setNote} />
    ${done > 0 && html`<p role="status">${plural(done, "match", "matches")} so far…</p>`}
  <//>`;
}
