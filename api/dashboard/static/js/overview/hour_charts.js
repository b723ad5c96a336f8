// The last hour of the jobs in four charts with one cursor.
import { html, useMemo } from "../../vendor/preact.js";
import { duration, shortCount } from "../format.js";
import { firstTold } from "../history.js";
import { isSilent } from "../rules/standing.js";
import { Card } from "../ui/page.js";
import { Chart } from "../ui/chart.js";

const MOST_SERIES = 6;
const CHARTS = [
  ["Matches per minute", "matches", shortCount],
  ["Events per second", "events", (value) => shortCount(value)],
  ["Batch time", "batch_duration_ms", duration],
  ["Watermark behind newest event", "watermark_delay_ms", duration],
];

/** @param {{jobs: object[], showStream: boolean}} properties jobs as /v1/overview gives them */
export function HourCharts({ jobs, showStream }) {
  const shown = jobs.slice(0, MOST_SERIES);
  const left = jobs.length - shown.length;
  return html`<section class="stack" aria-label="The last hour">
    <div class="grid charts">
      ${CHARTS.map(
        ([title, name, format]) => html`<${Card} key=${name} title=${title}>
          <${HourChart} title=${title} name=${name} format=${format} jobs=${shown} showStream=${showStream} />
        <//>`,
      )}
    </div>
    ${left > 0 && html`<p class="muted">The charts show ${shown.length} of ${jobs.length} jobs; each job's page has its own.</p>`}
  </section>`;
}

function HourChart({ title, name, format, jobs, showStream }) {
  const first = firstTold(jobs.map((job) => job.history));
  const times = jobs[0].history.times.slice(first);
  const series = useMemo(
    () =>
      jobs.map((job) => ({
        label: showStream ? `${job.stream}/${job.name}` : job.name,
        values: ofJob(job.history, name).slice(first),
        isPast: isSilent(job),
      })),
    [jobs],
  );
  return html`<${Chart} title=${`${title}, last hour`} times=${times} series=${series} format=${format} />`;
}

/** Returns a series; events are shown a second, and the minute that has not ended is left out. */
export function ofJob(history, name) {
  const values = history.series[name];
  if (name !== "events" && name !== "matches") return values;
  const whole = values.slice(0, -1).concat([null]);
  return name === "events" ? whole.map((value) => (value === null ? null : value / history.bucket_seconds)) : whole;
}
