// Everything at a glance: what needs attention, the jobs, their last hour.
import { html, useEffect } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { Attention } from "../overview/attention.js";
import { HourCharts } from "../overview/hour_charts.js";
import { JobColumns, JobsTable } from "../overview/jobs_table.js";
import { NoStreams, NoJobs } from "../overview/nothing_yet.js";
import { RuleStates } from "../overview/rule_states.js";
import { stream as chosenStream } from "../streams.js";
import { count, plural, shortCount } from "../format.js";
import { Card, Figure, Loading, PageHeader } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";

const SECONDS = 5;

export default function OverviewPage() {
  const { data, problem } = usePolled("/v1/overview", {}, SECONDS);
  useEffect(() => {
    document.title = "Overview · Percept";
  }, []);
  if (!data) return problem ? html`<${ProblemBox} problem=${problem} />` : html`<${Loading} what="the overview" />`;
  if (!data.streams.length) return html`<${NoStreams} />`;
  const jobs = data.streams.flatMap((stream) => stream.jobs.map((job) => ({ ...job, delay: stream.allowed_delay_ms })));
  const reporting = jobs.filter((job) => job.state !== "stopped");
  return html`
    <${PageHeader} title="Overview" beside=${html`<${Health} items=${data.attention} jobs=${jobs} />`} />
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <${Figures} data=${data} jobs=${jobs} />
    <${Attention} items=${data.attention} leftOut=${data.attention_left_out} />
    <${Card} title="Jobs" actions=${jobs.length > 0 && html`<${JobColumns} />`} padded=${false}>
      ${jobs.length ? html`<${JobsTable} jobs=${jobs} />` : html`<${NoJobs} stream=${data.streams[0].name} />`}
      ${data.jobs_left_out > 0 && html`<p class="pager">${plural(data.jobs_left_out, "job")} more not shown.</p>`}
    <//>
    <${RuleStates} streams=${data.streams} chosen=${chosenStream.value || data.streams[0].name} />
    ${reporting.length > 0 && html`<${HourCharts} jobs=${reporting} showStream=${data.streams.length > 1} />`}
  `;
}

function Health({ items, jobs }) {
  const [kind, text] = healthOf(items, jobs);
  return html`<span class=${`health ${kind}`} role="status">${text}</span>`;
}

function healthOf(items, jobs) {
  const bad = items.filter((item) => item.urgency === "bad").length;
  const warn = items.filter((item) => item.urgency === "warn").length;
  if (bad || warn) return [bad ? "bad" : "warn", plural(bad + warn, "problem")];
  const starting = jobs.filter((job) => job.state === "starting").length;
  if (starting) return ["info", starting === 1 ? "a job is starting" : `${count(starting)} jobs are starting`];
  return jobs.some((job) => job.state === "running") ? ["good", "all healthy"] : ["quiet", "nothing running"];
}

function Figures({ data, jobs }) {
  const running = jobs.filter((job) => job.state === "running");
  const expected = jobs.filter((job) => job.state !== "stopped");
  const isSilent = jobs.some((job) => job.state === "stale");
  const rules = data.streams.reduce((sum, stream) => sum + total(stream.rules), 0);
  const paused = data.streams.reduce((sum, stream) => sum + (stream.rules.paused ?? 0), 0);
  const { quarantined } = data;
  const perSecond = running.reduce((sum, job) => sum + job.events_per_second, 0);
  const found = lastHour(jobs, "matches");
  const errors = lastHour(jobs, "errors");
  const late = lastHour(jobs, "late");
  return html`<div class="figures">
    <${Figure}
      name="Jobs running"
      value=${count(running.length)}
      unit=${expected.length > running.length ? `of ${expected.length}` : ""}
      kind=${isSilent ? "bad" : ""}
      note=${`${plural(data.streams.length, "stream")}`}
    />
    <${Figure} name="Rules published" value=${count(rules - paused)} note=${`${count(paused)} paused`} />
    <${Figure}
      name="Quarantined"
      value=${count(quarantined)}
      kind=${quarantined ? "bad" : ""}
      note=${quarantined ? "raised an error" : "none"}
    />
    <${Figure}
      name="Events"
      value=${running.length ? shortCount(perSecond) : "–"}
      unit=${running.length ? "/s" : ""}
      note=${running.length ? `${shortCount(late)} late in the last hour` : "no job reports"}
    />
    <${Figure} name="Matches, last hour" value=${shortCount(found)} note=${`${shortCount(found / 60)} a minute`} />
    <${Figure} name="Errors, last hour" value=${shortCount(errors)} kind=${errors ? "warn" : ""} note="in rules or events" />
  </div>`;
}

function total(counted) {
  return Object.values(counted).reduce((sum, each) => sum + each, 0);
}

function lastHour(jobs, name) {
  return jobs.reduce((sum, job) => sum + job.history.series[name].reduce((a, b) => a + (b ?? 0), 0), 0);
}
