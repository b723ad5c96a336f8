// Asks for a backtest: over which time, and compared with what.
import { html, useState } from "../../vendor/preact.js";
import { send, usePolled } from "../api.js";
import { instantOf, localField } from "../matches/filters.js";
import { Button } from "../ui/button.js";
import { Check, Field } from "../ui/field.js";
import { ZoneNote } from "../ui/zone.js";
import { ProblemBox } from "../ui/problem.js";

const LOOK_SECONDS = 20;

/**
 * @param {object} properties
 *   stream: its name. tried: what the request says of the rule, {processor_id, version?} or {document}.
 *   canCompare: whether a version is published to compare with. isReady: whether it can run.
 *   onRequested: called with the backtest.
 */
export function BacktestForm({ stream, tried, canCompare, isReady = true, onRequested }) {
  const [since, setSince] = useState(null);
  const [until, setUntil] = useState(null);
  const [compares, setCompares] = useState(true);
  const [failure, setFailure] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const { data: seen } = usePolled("/v1/backtests/workers", { stream }, LOOK_SECONDS);
  const run = async (event) => {
    event.preventDefault();
    setBusy(true);
    setFailure(null);
    try {
      const against = canCompare && compares ? "published" : null;
      onRequested(await send("POST", "/v1/backtests", { ...tried, since, until, against }));
    } catch (problem) {
      setFailure(problem);
    } finally {
      setBusy(false);
    }
  };
  return html`<form class="backtest-form" onSubmit=${run}>
    <div class="row">
      <${InstantField} label="From" value=${since} onChange=${setSince} />
      <${InstantField} label="Until" value=${until} onChange=${setUntil} />
    </div>
    <p class="secondary"><${ZoneNote} stream=${stream} /> Leave both empty to use everything in the archive.</p>
    ${canCompare &&
    html`<${Check} label="Compare with the published version" checked=${compares} onChange=${setCompares} />`}
    ${seen && !seen.workers.length && html`<p class="notice" role="note">${NO_WORKER(stream)}</p>`}
    ${failure && html`<${ProblemBox} problem=${failure} />`}
    <div class="row">
      <${Button} type="submit" small kind="primary" busy=${isBusy} disabled=${!isReady}>Run backtest<//>
    </div>
  </form>`;
}

const NO_WORKER = (stream) => html`No worker has the past events of ${stream}, so backtests are waiting. Start one with${" "}
  <code>percept work --archive ${stream}=PATH</code>.`;

/** A local day and time; `value` is an instant in ISO 8601, or null. */
export function InstantField({ label, value, onChange, required = false }) {
  return html`<${Field}
    label=${label}
    control=${(tied) => html`<input
      class="input"
      type="datetime-local"
      required=${required}
      value=${localField(value)}
      onChange=${(event) => onChange(instantOf(event.currentTarget.value))}
      ...${tied}
    />`}
  />`;
}
