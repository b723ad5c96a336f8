// What is wrong with a rule right now, and what to do about it.
import { html } from "../../vendor/preact.js";
import { Time, plural } from "../format.js";
import { Link, path } from "../router.js";
import { CodeBlock } from "../ui/code.js";
import { Acknowledge } from "./health.js";
import { Folded } from "../ui/folded.js";
import { FlawItem } from "../ui/problem.js";
import { State } from "../ui/state.js";

/** @param {{rule: object, running: object, health: object}} properties `running` is what jobs report of it */
export function Alarms({ rule, running, health }) {
  const jobs = running.jobs.filter((each) => each.job.state !== "stopped");
  const alarms = [
    jobs.length === 0 && html`<${NoJob} />`,
    ...jobs.map((each) => each.job.state === "stale" && html`<${Stale} key=${`${each.job.id} stale`} rule=${rule} job=${each.job} />`),
    ...jobs.flatMap((each) =>
      each.versions
        .filter((version) => version.state === "quarantined")
        .map((version) => html`<${Quarantined} key=${`${each.job.id} ${version.version}`} rule=${rule} job=${each.job} version=${version} health=${health} />`),
    ),
    ...jobs.map(
      (each) => each.job.state === "running" && !each.is_current && html`<${Behind} key=${`${each.job.id} behind`} job=${each.job} />`,
    ),
    ...jobs.map((each) => each.throttled_until && html`<${Throttled} key=${`${each.job.id} throttled`} line=${each} />`),
    rule.warnings.length > 0 && html`<${Warnings} warnings=${rule.warnings} />`,
  ].filter(Boolean);
  return alarms.length > 0 && html`<div class="alarms stack" aria-live="polite">${alarms}</div>`;
}

function Alarm({ kind, children }) {
  return html`<section class=${`alarm ${kind}`}>${children}</section>`;
}

function NoJob() {
  return html`<${Alarm} kind="info">
    <p><strong>No job runs this stream.</strong> The rule is published, but no job runs it. Start a job of this stream.</p>
  <//>`;
}

function Stale({ rule, job }) {
  return html`<${Alarm} kind="warn">
    <p>
      <${State} of="job" name="stale" /> <strong>The job <${Link} href=${path`/streams/${rule.stream}/jobs/${job.name}`}>${job.name}<//> is
      silent.</strong> Its last heartbeat was <${Time} at=${job.heartbeat_at} ago none="never" />. What this page shows of
      it is from then. Check its log. It catches up when it is back.
    </p>
  <//>`;
}

function Behind({ job }) {
  return html`<${Alarm} kind="info">
    <p>The job <strong>${job.name}</strong> has not picked up the newest change yet; it will with its next batch.</p>
  <//>`;
}

function Throttled({ line }) {
  return html`<${Alarm} kind="warn">
    <p>
      <${State} of="running" name="throttled" /> <strong>The rule has spent its budget of matches in the job ${line.job.name}.</strong> Matches
      before <${Time} at=${line.throttled_until} /> of event time are counted and suppressed.
    </p>
  <//>`;
}

function Quarantined({ rule, job, version, health }) {
  return html`<${Alarm} kind="bad">
    <p>
      <${State} of="running" name="quarantined" /> <strong>Version ${version.version} raised an error in the job ${job.name}</strong>
      ${" "}<${Time} at=${version.since} ago /> and was stopped there; other rules keep running. Fix it and
      publish a new version, or roll back.
    </p>
    <${Folded} className="error-text" text=${version.error} />
    <${Acknowledge} rule=${rule} health=${health} />
    ${version.traceback &&
    html`<details>
      <summary>Traceback</summary>
      <${CodeBlock} text=${version.traceback} label="Traceback" />
    </details>`}
  <//>`;
}

function Warnings({ warnings }) {
  return html`<${Alarm} kind="warn">
    <details>
      <summary>${plural(warnings.length, "warning")}</summary>
      <ul>
        ${warnings.map((flaw) => html`<${FlawItem} key=${flaw.pointer + flaw.detail} flaw=${flaw} />`)}
      </ul>
    </details>
  <//>`;
}
