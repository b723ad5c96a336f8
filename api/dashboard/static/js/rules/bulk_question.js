// Asks before something is done with many rules, shows how far it is, and which of them failed.
import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { plural } from "../format.js";
import { ApprovalsNote, approvalsAsked } from "../proposals/propose.js";
import { LENGTHS } from "../rule/snoozes.js";
import { route } from "../router.js";
import { readStreams } from "../streams.js";
import { Confirm } from "../ui/dialog.js";
import { Check, SelectField, TextField } from "../ui/field.js";
import { toast } from "../ui/toast.js";
import { ACTIONS, MOST_AT_ONCE, beginProposing, changeTogether } from "./bulk_actions.js";
import { notAll, oneByOne } from "./one_by_one.js";

const NAMED = 8;
const NOTHING_ASKED = { length: LENGTHS[0][0], add: "", remove: "", owner: null };

/**
 * @param {object} properties
 *   name: of the action. ids: the rules that are ticked.
 *   onDone: (ids) => void, called with those that need no more be ticked.
 */
export function BulkQuestion({ stream, name, ids, onClose, onDone }) {
  const [asked, setAsked] = useState(NOTHING_ASKED);
  const [done, setDone] = useState(0);
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const action = ACTIONS[name];
  const isProposed = Boolean(action.kind) && approvalsAsked(stream) > 0;
  const isTogether = action.together && !isProposed;
  const act = async (comment) => {
    setDone(0);
    const wanted = { stream, name, ids, comment, isProposed, isTogether, asked: read(asked) };
    const result = await perform(wanted, setDone, stop.current.signal);
    onDone([...result.changed, ...result.unchanged]);
    toast(resultText(result, ids.length, isProposed ? "proposed" : action.done));
    if (!result.failed.length) return;
    await readStreams(); // it may ask for approvals since
    throw notAll(result.failed, plural(ids.length, "rule"));
  };
  const verb = isProposed ? "Propose" : action.verb;
  return html`<${Confirm}
    title=${`${action.asking ?? action.verb} ${plural(ids.length, "rule")}?`}
    verb=${verb}
    danger=${action.danger}
    ready=${isReady(action, asked)}
    act=${act}
    onClose=${onClose}
  >
    <p>${action.says} ${howMany(isTogether, ids.length)}</p>
    ${isProposed && html`<${ApprovalsNote} stream=${stream} />`}
    <ul class="named-rules">
      ${ids.slice(0, NAMED).map((id) => html`<li key=${id}><code>${id}</code></li>`)}
      ${ids.length > NAMED && html`<li class="muted">and ${ids.length - NAMED} more</li>`}
    </ul>
    <${Fields} action=${action} asked=${asked} set=${(patch) => setAsked({ ...asked, ...patch })} />
    ${done > 0 && html`<p role="status">${done} of ${plural(ids.length, "rule")}…</p>`}
  <//>`;
}

async function perform({ stream, name, ids, comment, isProposed, isTogether, asked }, onProgress, stop) {
  const { kind, begin } = ACTIONS[name];
  if (isTogether) {
    const changed = await changeTogether({ stream, action: name, ids, comment, onProgress });
    return { changed, unchanged: ids.filter((id) => !changed.includes(id)), failed: [] };
  }
  const { job } = route.value.query;
  const change = isProposed ? beginProposing({ kind, comment }) : await begin({ stream, job, asked, comment });
  return oneByOne(ids, change, onProgress, stop);
}

function Fields({ action, asked, set }) {
  if (action.asks?.includes("length")) {
    return html`<${SelectField} label="For" options=${LENGTHS} value=${asked.length} onChange=${(length) => set({ length })} />`;
  }
  if (!action.asks?.includes("labels")) return null;
  const hint = "Several separated by commas";
  return html`<${TextField} label="Add tags" hint=${hint} value=${asked.add} onInput=${(add) => set({ add })} autocomplete="off" />
    <${TextField} label="Remove tags" hint=${hint} value=${asked.remove} onInput=${(remove) => set({ remove })} autocomplete="off" />
    <${Check} label="Set the owner" checked=${asked.owner !== null} onChange=${(isSet) => set({ owner: isSet ? "" : null })} />
    ${asked.owner !== null &&
    html`<${TextField}
      label="Owner"
      hint="Empty = none"
      maxlength="200"
      value=${asked.owner}
      onInput=${(owner) => set({ owner })}
      autocomplete="off"
    />`}`;
}

function isReady({ asks }, asked) {
  if (!asks?.includes("labels")) return true;
  const { add, remove, owner } = read(asked);
  return add.length > 0 || remove.length > 0 || owner !== null;
}

function read({ length, add, remove, owner }) {
  return { length, add: tagsIn(add), remove: tagsIn(remove), owner: owner?.trim() ?? null };
}

function tagsIn(text) {
  return text.split(/[\s,]+/).filter(Boolean);
}

function howMany(isTogether, number) {
  if (!isTogether) return "One after the other; each that fails is named.";
  return number > MOST_AT_ONCE ? `${MOST_AT_ONCE} are changed at a time.` : "All of them change, or none.";
}

function resultText({ changed, unchanged, failed }, number, done) {
  const parts = [`${plural(changed.length, "rule")} ${done}`];
  if (unchanged.length) parts.push(`${unchanged.length} unchanged`);
  if (failed.length) parts.push(`${failed.length} failed`);
  const left = number - changed.length - unchanged.length - failed.length;
  if (left > 0) parts.push(`stopped before ${left} more`);
  return `${parts.join("; ")}.`;
}
