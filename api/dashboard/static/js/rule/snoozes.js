// What is snoozed of a rule: for which keys, until when, by whom; begun and ended here.
import { html, useState } from "../../vendor/preact.js";
import { send, usePolled } from "../api.js";
import { Time } from "../format.js";
import { path } from "../router.js";
import { can } from "../session.js";
import { apart } from "../ui/apart.js";
import { Button } from "../ui/button.js";
import { Confirm } from "../ui/dialog.js";
import { SelectField, TextField } from "../ui/field.js";
import { Folded } from "../ui/folded.js";
import { Card } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { State } from "../ui/state.js";
import { toast } from "../ui/toast.js";
import { visibleValue } from "../ui/visible.js";

/** For how long a rule may be snoozed. */
export const LENGTHS = [
  ["1 hour", "1 hour"],
  ["4 hours", "4 hours"],
  ["1 day", "1 day"],
  ["7 days", "7 days"],
  ["30 days", "30 days"],
];

function snoozesPath(rule) {
  return path`/v1/processors/${rule.id}/snoozes`;
}

/** A hook: the snoozes of a rule that are not over, and until when one is for all keys. @returns {{snoozes: object[], allUntil: string|null}} */
export function useSnoozes(rule) {
  const { data, problem, refresh } = usePolled(snoozesPath(rule), {}, 5);
  const snoozes = (data?.items ?? []).filter((each) => !each.is_over);
  return { snoozes, allUntil: snoozes.find((each) => each.key === null)?.until ?? null, problem, refresh };
}

/** The snoozes of a rule that are not over; nothing if there is none. @param {{rule: object, snoozed: object}} properties as `useSnoozes` tells */
export function SnoozesCard({ rule, snoozed: { snoozes, problem, refresh } }) {
  const [ending, setEnding] = useState(null);
  if (problem) return html`<${ProblemBox} problem=${problem} />`;
  if (!snoozes.length) return null;
  return html`<${Card} title="Snoozed">
    <ul class="snoozes">
      ${snoozes.map(
        (each) => html`<li key=${each.number} class="row">
          <${State} of="running" name="snoozed">${each.key === null ? "all keys" : "one key"}<//>
          <span class="wrap-anywhere">
            ${each.key !== null && html`<strong><bdi>${visibleValue(each.key)}</bdi></strong> `}until <${Time} at=${each.until} />${" "}
            <span class="secondary">by <bdi>${each.created_by}</bdi>, <${Time} at=${each.created_at} ago /></span>
            ${each.comment && html`${" "}<${Folded} tag="q" className="comment" text=${each.comment} />`}
          </span>
          ${can("publisher") && html`<${Button} small onClick=${() => setEnding(each)}>End…<//>`}
        </li>`,
      )}
    </ul>
    <p class="secondary">Its matches are counted and suppressed meanwhile.</p>
    ${ending && html`<${End} rule=${rule} snooze=${ending} refresh=${refresh} onClose=${() => setEnding(null)} />`}
  <//>`;
}

function End({ rule, snooze, refresh, onClose }) {
  const act = async (comment) => {
    await send("DELETE", `${snoozesPath(rule)}/${snooze.number}`, undefined, { query: { comment } });
    const isOfAll = snooze.key === null;
    toast(isOfAll ? apart`${rule.id} is no longer snoozed for all keys.` : apart`Key ${snooze.key} of ${rule.id} is no longer snoozed.`);
    refresh();
  };
  return html`<${Confirm} title=${apart`End the snooze of ${rule.id}?`} verb="End snooze" act=${act} onClose=${onClose}>
    <p>Its matches are sent again, starting with events that jobs have not read yet.</p>
  <//>`;
}

/** Asks for how long, and for which key, a rule is to be quiet. */
export function Snooze({ rule, refresh, onClose }) {
  const [length, setLength] = useState(LENGTHS[0][0]);
  const [key, setKey] = useState("");
  const act = async (comment) => {
    const body = key.trim() ? { for: length, key: key.trim() } : { for: length };
    await send("POST", snoozesPath(rule), body, { query: { comment } });
    toast(apart`${rule.id} is snoozed for ${length}.`);
    refresh();
  };
  return html`<${Confirm} title=${apart`Snooze ${rule.id}?`} verb="Snooze" act=${act} onClose=${onClose}>
    <p>
      It keeps running and keeps its partial matches; its matches are counted but sent only to outputs that include
      suppressed ones. The time is event time and starts with events that jobs have not read yet.
    </p>
    <${SelectField} label="For" options=${LENGTHS} value=${length} onChange=${setLength} />
    <${TextField}
      label="Only for this key"
      value=${key}
      onInput=${setKey}
      maxlength="1000"
      autocomplete="off"
      hint="As shown in the list of matches. Empty = all keys."
    />
  <//>`;
}
