// The jobs, one a line: state, how far, how fast, what they found.
import { html } from "../../vendor/preact.js";
import { Time, count, duration, millis, shortCount } from "../format.js";
import { now } from "../clock.js";
import { Link, path } from "../router.js";
import { isSilent } from "../rules/standing.js";
import { chosenColumns } from "../ui/columns.js";
import { Sparkline } from "../ui/sparkline.js";
import { State } from "../ui/state.js";
import { stateWord } from "../ui/states.js";
import { Table } from "../ui/table.js";
import { ofJob } from "./hour_charts.js";

const TABLE = "jobs";

/** Chooses the columns of the table. */
export function JobColumns() {
  return chosenColumns(TABLE, COLUMNS).menu;
}

/** @param {{jobs: object[]}} properties jobs as /v1/overview gives them */
export function JobsTable({ jobs }) {
  const { shown } = chosenColumns(TABLE, COLUMNS);
  return html`<${Table} className="jobs-table sticky" caption="Jobs" columns=${shown} rows=${jobs} rowKey=${(job) => job.id} />`;
}

const COLUMNS = [
  {
    key: "name",
    label: "Job",
    className: "name",
    cell: (job) => html`<span class="two-lines job-name">
      <${Link} href=${path`/streams/${job.stream}/jobs/${job.name}`} title=${job.name}>${job.name}<//>
      <span class="muted">${job.stream}</span>
    </span>`,
  },
  { key: "state", label: "State", cell: (job) => html`<${State} of="job" name=${job.state} />` },
  { key: "heartbeat", label: "Last heartbeat", cell: (job) => html`<${Time} at=${job.heartbeat_at} ago none="none yet" />` },
  { key: "epoch", label: "Epoch", right: true, cell: Epoch },
  { key: "watermark", label: "Watermark", cell: Watermark },
  {
    key: "events",
    label: "Events/s",
    right: true,
    cell: (job) => html`<${Trend} job=${job} name="events" words="Events per second" text=${isSilent(job) ? "–" : shortCount(job.events_per_second)} />`,
  },
  {
    key: "batch",
    label: "Batch time",
    right: true,
    cell: (job) => html`<${Trend} job=${job} name="batch_duration_ms" words="Batch time in ms" text=${isSilent(job) ? "–" : duration(job.batch_duration_ms)} />`,
  },
  {
    key: "matches",
    label: "Matches, last hour",
    right: true,
    cell: (job) => html`<${Trend} job=${job} name="matches" words="Matches per minute" text=${shortCount(sum(job.history.series.matches))} />`,
  },
  { key: "partial", label: "Partial matches", right: true, className: "wide-only partial", cell: (job) => shortCount(job.partial_matches) },
  { key: "versions", label: "Rule versions", cell: Versions },
];

function Epoch(job) {
  if (job.epoch === null) return "–";
  const behind = job.newest_epoch - job.epoch;
  return html`<span title=${behind ? `The newest epoch is ${job.newest_epoch}` : "The newest epoch"}
    >${count(job.epoch)}${behind > 0 && html`${" "}<span class="behind">−${behind}</span>`}</span
  >`;
}

function Watermark(job) {
  if (job.watermark === null) return html`<span class="muted">–</span>`;
  const lag = Math.max(now.value - millis(job.watermark), 0);
  return html`<span class="two-lines nowrap">
    <${Time} at=${job.watermark} />
    <span class="muted">${duration(Math.round(lag / 1000) * 1000)} behind the clock</span>
  </span>`;
}

function Trend({ job, name, words, text }) {
  return html`<span class=${`trend ${name}`}><${Sparkline} values=${ofJob(job.history, name).slice(0, -1)} label=${words} /><span class=${job.state === "running" ? "" : "muted"}>${text}</span></span>`;
}

function Versions(job) {
  const { quarantined, superseded, ...others } = job.versions;
  const words = Object.entries(others).map(([state, number]) => `${count(number)} ${state}`);
  if (!quarantined && !words.length) return html`<span class="muted">none</span>`;
  return html`<span class="two-lines">
    ${quarantined > 0 && html`<span><${State} of="running" name="quarantined">${count(quarantined)} ${stateWord("running", "quarantined")}<//></span>`}
    <span class=${isSilent(job) ? "number muted" : "number"}>${isSilent(job) && "was "}${words.join(", ")}</span>
  </span>`;
}

function sum(values) {
  return values.reduce((total, value) => total + (value ?? 0), 0);
}
