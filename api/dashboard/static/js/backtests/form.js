// Asks for a backtest: over which time, and compared with what.
import { html, useState } from "../../vendor/preact.js";
import { send, usePolled } from "../api.js";
import { Button } from "../ui/button.js";
import { Check } from "../ui/field.js";
import { ProblemBox } from "../ui/problem.js";
import { useSubmit } from "../ui/submit.js";
import { InstantField } from "../ui/time_field.js";
import { ZoneNote } from "../ui/zone.js";

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
  const { data: seen } = usePolled("/v1/backtests/workers", { stream }, LOOK_SECONDS);
  const { submit, busy, problem } = useSubmit(async () => {
    const against = canCompare && compares ? "published" : null;
    onRequested(await send("POST", "/v1/backtests", { ...tried, since, until, against }));
  });
  return html`<form class="backtest-form" onSubmit=${submit}>
    <div class="row">
      <${InstantField} label="From" value=${since} onChange=${setSince} />
      <${InstantField} label="Until" value=${until} onChange=${setUntil} />
    </div>
    <p class="secondary"><${ZoneNote} stream=${stream} /> Leave both empty to use everything in the archive.</p>
    ${canCompare &&
    html`<${Check} label="Compare with the published version" checked=${compares} onChange=${setCompares} />`}
    ${seen && !seen.workers.length && html`<p class="notice" role="note">${NO_WORKER(stream)}</p>`}
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <div class="row">
      <${Button} type="submit" small kind="primary" busy=${busy} disabled=${!isReady}>Run backtest<//>
    </div>
  </form>`;
}

const NO_WORKER = (stream) => html`No worker has the past events of ${stream}, so backtests are waiting. Start one with${" "}
  <code>percept work --archive ${stream}=PATH</code>.`;
