// What is wrong with a rule right now, and what to do about it.
import { html } from "../../vendor/preact.js";
import { Time, plural } from "../format.js";
import { Link, path } from "../router.js";
import { CodeBlock } from "../ui/code.js";
import { State } from "../ui/state.js";

/** @param {{rule: object, running: object}} properties `running` is what jobs report of it */
export function Alarms({ rule, running }) {
  const jobs = running.jobs.filter((each) => each.job.state !== "stopped");
  const alarms = [
    jobs.length === 0 && html`<${NoJob} />`,
    ...jobs.map((each) => each.job.state === "stale" && html`<${Stale} key=${`${each.job.id} stale`} rule=${rule} job=${each.job} />`),
    ...jobs.flatMap((each) =>
      each.versions
        .filter((version) => version.state === "quarantined")
        .map((version) => html`<${Quarantined} key=${`${each.job.id} ${version.version}`} job=${each.job} version=${version} />`),
    ),
    ...jobs.map(
      (each) => each.job.state === "running" && !each.is_current && html`<${Behind} key=${`${each.job.id} behind`} job=${each.job} />`,
    ),
    rule.warnings.length > 0 && html`<${Warnings} warnings=${rule.warnings} />`,
  ].filter(Boolean);
  return alarms.length > 0 && html`<div class="alarms stack" aria-live="polite">${alarms}</div>`;
}

function Alarm({ kind, children }) {
  return html`<section class=${`alarm ${kind}`}>${children}</section>`;
}

function NoJob() {
  return html`<${Alarm} kind="info">
    <p><strong>No job runs this stream.</strong> The rule is kept and published, but no job is looking for it. Start a job of this stream.</p>
  <//>`;
}

function Stale({ rule, job }) {
  return html`<${Alarm} kind="warn">
    <p>
      <${State} name="stale" /> <strong>The job <${Link} href=${path`/streams/${rule.stream}/jobs/${job.name}`}>${job.name}<//> is
      silent.</strong> Its last heartbeat was <${Time} at=${job.heartbeat_at} ago none="never" />. What is shown of it is
      of that time. Look at its log; it takes up all changes by itself when it is back.
    </p>
  <//>`;
}

function Behind({ job }) {
  return html`<${Alarm} kind="info">
    <p>The job <strong>${job.name}</strong> has not picked up the newest change yet; it will with its next batch.</p>
  <//>`;
}

function Quarantined({ job, version }) {
  return html`<${Alarm} kind="bad">
    <p>
      <${State} name="quarantined" /> <strong>Version ${version.version} raised an error in the job ${job.name}</strong>
      ${" "}<${Time} at=${version.since} ago /> and is kept from running there; all other rules go on. Mend it and
      publish a new version, or roll back.
    </p>
    <p class="error-text">${version.error}</p>
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
      <summary>${plural(warnings.length, "thing")} to think about</summary>
      <ul>
        ${warnings.map(
          (flaw) => html`<li key=${flaw.pointer + flaw.detail}>
            <code>${flaw.pointer}</code> ${flaw.detail} <span class="secondary">${flaw.remedy}</span>
          </li>`,
        )}
      </ul>
    </details>
  <//>`;
}
