// What every change of values has: when it takes effect, what it would do, and how it is sent.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { send } from "../api.js";
import { Time, plural } from "../format.js";
import { readStreams } from "../streams.js";
import { apart } from "../ui/apart.js";
import { Segments } from "../ui/tabs.js";
import { TimeField, instantOf, localInput } from "../ui/time_field.js";
import { visibleValue } from "../ui/visible.js";
import { scheduled } from "./model.js";

const AN_HOUR_MS = 3_600_000;
const REST_MS = 300;
const RETRY_MS = 2_000;
const WHEN = [
  ["now", "Now"],
  ["later", "At a time"],
];

/** The ETag of a dry run: it is compared with what is there now, and its answer says which state that is. */
export const ANY_STATE = "*";

/**
 * A hook: when a change takes effect.
 * @returns {{isLater: boolean, from: string|null|undefined}} from: the instant as the service takes it, null = at
 *   once, undefined = what was typed is none yet; with what `WhenFields` needs
 */
export function useWhen() {
  const [choice, choose] = useState("now");
  const [typed, type] = useState(localInput(Date.now() + AN_HOUR_MS));
  const isLater = choice === "later";
  const from = isLater ? (instantOf(typed) ?? undefined) : null;
  return { isLater, from, choice, choose, typed, type };
}

/** Asks when a change takes effect, and says what it puts aside. @param {{list: object, when: object}} properties */
export function WhenFields({ list, when }) {
  const waiting = when.isLater ? [] : scheduled(list);
  return html`<div class="row"><${Segments} label="When" options=${WHEN} value=${when.choice} onChange=${when.choose} /></div>
    ${when.isLater && html`<${TimeField} stream=${list.stream} label="From event time" value=${when.typed} onInput=${when.type} />`}
    ${waiting.length > 0 && html`<${Withdrawn} versions=${waiting} />`}`;
}

/** Names the scheduled versions that a change at once takes the place of. @param {{versions: object[]}} properties */
export function Withdrawn({ versions }) {
  const isOne = versions.length === 1;
  return html`<p class="in-text">
    <strong>Scheduled ${isOne ? "version" : "versions"} ${versions.map((each) => each.version).join(", ")}</strong> will not take
    effect: this change replaces ${isOne ? "it" : "them"}. Choose a time to keep ${isOne ? "it" : "them"}.
  </p>`;
}

/** A change of a list as a proposal. @param {object} list @param {string} kind @param {object} more */
export function proposedFor({ stream, name }, kind, more = {}) {
  return { kind, stream, list_name: name, ...more };
}

/** Sends a change of a list; throws a Problem. Arguments and answer are those of `send`. */
export async function sendChange(method, target, body, options) {
  try {
    return await send(method, target, body, options);
  } catch (problem) {
    if (problem.status === 403) await readStreams(); // it may ask for approvals since
    throw problem;
  }
}

/**
 * A hook: what a change would do, tried without doing it, and tried again when `key` changes.
 * @param {string|null} key names what is tried; null = nothing
 * @param {(signal: AbortSignal) => Promise<object>} attempt a request with `dry_run`
 * @returns {{busy: boolean, told: object|null, problem: Error|null}} told: the answer of the attempt of this key
 */
export function useDryRun(key, attempt) {
  const [state, setState] = useState({ key: null, told: null, problem: null });
  useEffect(() => {
    if (key === null) return undefined;
    const abort = new AbortController();
    let timer = null;
    const run = async () => {
      try {
        const told = await attempt(abort.signal);
        if (!abort.signal.aborted) setState({ key, told, problem: null });
      } catch (problem) {
        if (abort.signal.aborted) return;
        setState({ key, told: null, problem });
        if (problem.status === 503 || problem.status === 0) timer = setTimeout(run, RETRY_MS);
      }
    };
    timer = setTimeout(run, REST_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key]);
  const isOfKey = key !== null && state.key === key;
  return {
    busy: key !== null && !isOfKey,
    told: isOfKey ? state.told : null,
    problem: isOfKey ? state.problem : null,
  };
}

/** What a change does to the values, with some of them. @param {{told: object}} properties an answer with `added`, … */
export function Told({ told }) {
  if (!told.added && !told.removed) {
    return html`<p>No change: the list already has exactly these ${plural(told.new_count, "value")}.</p>`;
  }
  return html`<div class="list-told">
    <p>
      <strong>${plural(told.added, "value")} added, ${plural(told.removed, "value")} removed</strong>, compared with version
      ${" "}${told.base_version}. The list will have ${plural(told.new_count, "value")}.
    </p>
    <${Some} sign="+" name="Added" values=${told.first_added} total=${told.added} />
    <${Some} sign="−" name="Removed" values=${told.first_removed} total=${told.removed} />
  </div>`;
}

function Some({ sign, name, values, total }) {
  if (!values.length) return null;
  return html`<ul class=${`list-some ${name.toLowerCase()}`} aria-label=${name}>
    ${values.map((value) => html`<li key=${value}><span aria-hidden="true">${sign}</span> <bdi class="list-text">${visibleValue(value)}</bdi></li>`)}
    ${total > values.length && html`<li class="muted">and ${plural(total - values.length, "other")}</li>`}
  </ul>`;
}

/** What a change has done, as a message. @param {object} done the answer of the service @param {string|null} from */
export function inWords(done, from) {
  if (!done.is_changed) return apart`No change: ${done.name} is already up to date.`;
  const what = `${plural(done.added, "value")} added, ${plural(done.removed, "value")} removed`;
  return from ? apart`${done.name}: version ${done.version} is scheduled: ${what}.` : apart`${done.name}: ${what}.`;
}

/** When a version is effective. @param {{from: string|null}} properties */
export function Effective({ from }) {
  return from === null ? html`<span>immediately</span>` : html`<span>from <${Time} at=${from} /></span>`;
}
