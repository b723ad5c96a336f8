// The history of a job in charts with one cursor, for one of several spans of time.
import { html, useMemo } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { bytes, duration, shortCount } from "../format.js";
import { firstTold } from "../history.js";
import { path, route, setQuery } from "../router.js";
import { isSilent } from "../rules/standing.js";
import { Card } from "../ui/page.js";
import { Chart } from "../ui/chart.js";
import { Segments } from "../ui/tabs.js";
import { ProblemBox } from "../ui/problem.js";

const SECONDS = 15;
const SPANS = { "1h": 1, "6h": 6, "24h": 24 };
const CHARTS = [
  { title: "Matches and timeouts per minute", series: [["matches", "matches"], ["timeouts", "timeouts"]] },
  { title: "Events per second", series: [["events", "events", perSecond], ["late", "late", perSecond]] },
  { title: "Batch time", series: [["batch time", "batch_duration_ms"]], format: duration },
  { title: "Watermark behind newest event", series: [["behind", "watermark_delay_ms"]], format: duration },
  { title: "Partial matches", series: [["partial matches", "partial_matches"]] },
  { title: "State", series: [["state", "state_bytes"]], format: bytes },
  { title: "Waiting at the source", series: [["events", "backlog_events"]] },
  { title: "Errors per minute", series: [["errors", "errors"]] },
  { title: "Over a limit and discarded per minute", series: [["matches over a limit", "left_out"], ["partial matches discarded", "dropped"], ["matches released", "released"]] },
  { title: "Suppressed and grouped per minute", series: [["suppressed", "suppressed"], ["grouped", "grouped"], ["not suppressed: too many values", "unsuppressed"]] },
];

/** @param {{job: object}} properties */
export function JobCharts({ job }) {
  const span = SPANS[route.value.query.span] ? route.value.query.span : "1h";
  // A whole minute, so that the address of what is polled changes once a minute at most.
  const sinceMs = Math.floor(Date.now() / 60_000) * 60_000 - SPANS[span] * 3_600_000;
  const { data, problem } = usePolled(
    path`/v1/jobs/${job.id}/history`,
    { since: new Date(sinceMs).toISOString() },
    SECONDS,
  );
  return html`<section class="stack" aria-labelledby="history">
    <div class="row between">
      <h2 id="history">History</h2>
      <${Segments}
        label="Span of time"
        value=${span}
        options=${Object.keys(SPANS).map((each) => [each, each])}
        onChange=${(each) => setQuery({ span: each === "1h" ? null : each })}
      />
    </div>
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <div class="grid charts">
      ${data && CHARTS.map((chart) => html`<${HistoryChart} key=${chart.title} chart=${chart} history=${data} isPast=${isSilent(job)} />`)}
    </div>
  </section>`;
}

function HistoryChart({ chart, history, isPast }) {
  const { times, series } = useMemo(() => {
    const first = firstTold([history]);
    const values = ([label, name, made = same]) => ({
      label,
      values: whole(made(history.series[name], history.bucket_seconds), name).slice(first),
      isPast,
    });
    return { times: history.times.slice(first), series: chart.series.map(values) };
  }, [history, isPast]);
  return html`<${Card} title=${chart.title}>
    <${Chart} title=${chart.title} times=${times} series=${series} format=${chart.format ?? shortCount} />
  <//>`;
}

// A counter of the minute that has not ended would look like a fall; gauges are as they are.
function whole(values, name) {
  const isCounter = ["events", "matches", "timeouts", "errors", "late", "left_out", "dropped", "released", "suppressed", "grouped", "unsuppressed"].includes(name);
  return isCounter ? values.slice(0, -1).concat([null]) : values;
}

function perSecond(values, seconds) {
  return values.map((value) => (value === null ? null : value / seconds));
}

function same(values) {
  return values;
}
