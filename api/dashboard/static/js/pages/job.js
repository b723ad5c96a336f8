// One job: how it fares, its history, what it really runs, its starts.
import { html, useState } from "../../vendor/preact.js";
import { send, usePolled } from "../api.js";
import { bytes, count, duration, millis, plural, shortCount, Time } from "../format.js";
import { now } from "../clock.js";
import { HeldVersions } from "../job/held_versions.js";
import { JobCharts } from "../job/charts.js";
import { Sources } from "../job/sources.js";
import { Starts } from "../job/starts.js";
import { navigate, path, Link } from "../router.js";
import { isSilent } from "../rules/standing.js";
import { can } from "../session.js";
import { apart } from "../ui/apart.js";
import { Button } from "../ui/button.js";
import { Confirm } from "../ui/dialog.js";
import { Empty } from "../ui/empty.js";
import { Figure, Loading, PageHeader } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { State } from "../ui/state.js";
import { toast } from "../ui/toast.js";

const SECONDS = 5;

export default function JobPage({ params }) {
  const { data, problem } = usePolled(path`/v1/streams/${params.stream}/jobs`, {}, SECONDS);
  if (!data) return problem ? html`<${ProblemBox} problem=${problem} />` : html`<${Loading} what="the job" />`;
  const job = data.find((each) => each.name === params.name);
  if (!job) {
    return html`<${PageHeader} title=${params.name} above=${html`<${Link} href="/">Jobs<//>`} />
      <${Empty} title="Job not found">
        <p>No job of this name has registered on the stream ${params.stream}, or it was removed.</p>
      <//>`;
  }
  return html`<${Job} job=${job} />`;
}

function Job({ job }) {
  const [forgetting, setForgetting] = useState(false);
  const canForget = can("publisher") && (job.state === "stopped" || job.state === "stale");
  return html`
    <${PageHeader}
      title=${job.name}
      above=${html`<${Link} href="/">Jobs<//> of ${job.stream}`}
      beside=${html`<${State} of="job" name=${job.state} />`}
      actions=${canForget && html`<${Button} kind="danger" icon="trash" onClick=${() => setForgetting(true)}>Remove<//>`}
    >
      <${Story} job=${job} />
    <//>
    ${job.malformed_events > 0 && html`<${Unread} job=${job} />`}
    ${job.failing_outputs.map(
      ({ name, error, lost_rows: lost }) => html`<p key=${name} class="job-notice warn" role="status">
        <${State} of="urgency" name="bad">output fails<//>
        <span>The output <bdi>${name}</bdi> cannot be written${lost > 0 && ` and has lost ${plural(lost, "row")}`}: <bdi>${error}</bdi></span>
      </p>`,
    )}
    <${Figures} job=${job} />
    <${Sources} sources=${job.sources} />
    <${JobCharts} job=${job} />
    <${HeldVersions} job=${job} />
    <${Starts} jobId=${job.id} properties=${job.properties} />
    ${forgetting && html`<${Forget} job=${job} onClose=${() => setForgetting(false)} />`}
  `;
}

/** Says first what explains all the rest: events that no rule sees. */
function Unread({ job }) {
  return html`<p class="job-notice warn" role="note">
    <strong>${count(job.malformed_events)} of ${plural(job.counters.events, "event")} could not be read: <bdi>${job.malformed_reason}</bdi>.</strong>
    <span>Outputs get error rows only with <code>error</code> among their kinds.</span>
  </p>`;
}

function Story({ job }) {
  if (job.state === "stopped") {
    return html`Stopped <${Time} at=${job.stopped_at} ago />${job.stop_reason && html`: <bdi>${job.stop_reason}</bdi>`}. The figures are from its last report.`;
  }
  if (job.state === "stale") {
    return html`The last heartbeat was <${Time} at=${job.heartbeat_at ?? job.registered_at} ago />. It may have failed, or
      be unable to reach this service. The figures are from its last report.`;
  }
  if (job.state === "starting") return html`Registered <${Time} at=${job.registered_at} ago />; no heartbeat yet.`;
  return html`Running since <${Time} at=${job.registered_at} />, last heartbeat <${Time} at=${job.heartbeat_at} ago />.`;
}

function Figures({ job }) {
  const behind = job.epoch === null ? 0 : job.newest_epoch - job.epoch;
  const lag = job.watermark === null ? null : Math.max(now.value - millis(job.watermark), 0);
  return html`<div class="figures">
    <${Figure}
      name="Epoch"
      value=${count(job.epoch)}
      note=${behind > 0 ? `${plural(behind, "change")} behind` : "the newest"}
      kind=${behind > 0 ? "warn" : ""}
    />
    <${Figure}
      name="Watermark behind the clock"
      value=${lag === null ? "–" : duration(lag < 10_000 ? lag : Math.round(lag / 1000) * 1000)}
      note=${html`<${Time} at=${job.watermark} none="no event yet" />`}
    />
    <${Figure} name="Event time driven by" value=${timeDriver(job)} note=${timeNote(job)} />
    <${Figure} name="Events" value=${isSilent(job) ? "–" : shortCount(job.events_per_second)} unit=${isSilent(job) ? "" : "/s"} note=${`${shortCount(job.counters.events)} since its start`} />
    <${Figure} name="Batch time" value=${duration(job.batch_duration_ms)} note=${batchNote(job)} />
    <${Figure} name="Waiting at the source" value=${shortCount(job.backlog_events)} unit=${job.backlog_events === null ? "" : "events"} note=${job.backlog_events === null ? "not reported" : ""} />
    <${Figure} name="Source of its rules" value=${DISCOVERY[job.discovery.status]} kind=${discoveryKind(job.discovery)} note=${discoveryNote(job.discovery)} />
    <${Figure} name="Matches since its start" value=${shortCount(job.counters.matches)} note=${`${shortCount(job.counters.timeouts)} timed out`} />
    <${Figure} name="Partial matches" value=${shortCount(job.partial_matches)} note=${`state ${bytes(job.state_bytes)}`} />
    <${Figure}
      name="Errors since its start"
      value=${shortCount(job.counters.errors)}
      kind=${job.counters.errors ? "bad" : ""}
      note=${`${shortCount(job.counters.late)} late events`}
    />
    <${Figure}
      name="Matches over a limit since its start"
      value=${shortCount(job.counters.left_out)}
      kind=${job.counters.left_out ? "bad" : ""}
      note=${`${plural(job.counters.dropped, "partial match", "partial matches")} discarded by changes, ${plural(job.counters.released, "match", "matches")} released`}
    />
  </div>`;
}

function timeDriver(job) {
  if (!job.time_mode) return "–";
  return job.time_mode === "processing" || job.silent_since ? "clock" : "events";
}

function timeNote(job) {
  if (job.silent_since) return html`source silent since <${Time} at=${job.silent_since} />`;
  if (job.time_mode === "events") return "only: open windows wait for new events";
  if (job.time_mode === "events_or_clock") return "or the clock, once its source is silent";
  return job.time_mode === "processing" ? "events take the time at which they are read" : "not reported";
}

function batchNote(job) {
  const running = job.batch_running_ms === null ? "" : `; the next has been running for ${duration(job.batch_running_ms)}`;
  return `batch ${count(job.batch_id)}${running}`;
}

const DISCOVERY = { ok: "ok", failing: "failing", unknown: "–" };

function discoveryKind(discovery) {
  if (discovery.unreadable) return "bad";
  return discovery.status === "failing" ? "warn" : "";
}

function discoveryNote(discovery) {
  if (discovery.unreadable) return `${plural(discovery.unreadable, "rule")} cannot run: ${discovery.problems[0] ?? ""}`;
  if (discovery.status === "failing") return `running the last valid rules: ${discovery.error}`;
  return html`read <${Time} at=${discovery.last_success} ago none="not reported" />`;
}

function Forget({ job, onClose }) {
  const act = async (comment) => {
    await send("DELETE", path`/v1/jobs/${job.id}`, undefined, { query: { comment } });
    toast(apart`The job ${job.name} was removed.`);
    navigate("/");
  };
  return html`<${Confirm} title=${apart`Remove the job ${job.name}?`} verb="Remove" danger act=${act} onClose=${onClose}>
    <p>Its history and reported state are removed. Rules and matches are kept. If it is still running somewhere, the service will reject it from now on.</p>
  <//>`;
}
