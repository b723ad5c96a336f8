// How far a backtest is, or what it has found: figures, matches over time, differences, keys, samples.
import { html, useMemo } from "../../vendor/preact.js";
import { send } from "../api.js";
import { Time, bytes, count, duration, percent, plural } from "../format.js";
import { can } from "../session.js";
import { streamNamed } from "../streams.js";
import { Timeline } from "../matches/timeline.js";
import { Button } from "../ui/button.js";
import { Chart } from "../ui/chart.js";
import { Figure } from "../ui/page.js";
import { State } from "../ui/state.js";
import { toastProblem } from "../ui/toast.js";
import { isUnderWay } from "./use_backtest.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MOST_HOURS = 120;
const MOST_BARS = 4_000;

/** @param {{backtest: object, refresh: () => void}} properties */
export function BacktestResult({ backtest, refresh }) {
  if (isUnderWay(backtest)) return html`<${Progress} backtest=${backtest} refresh=${refresh} />`;
  if (backtest.state === "cancelled") return html`<p class="secondary">This backtest was cancelled.</p>`;
  if (!backtest.report) return html`<p class="error-text" role="alert">${backtest.error}</p>`;
  const [rule] = backtest.report.rules;
  return html`<div class="backtest-result">
    ${rule.error && html`<p class="error-text" role="alert">The rule stopped: ${rule.error}</p>`}
    ${backtest.report.problems.map((problem) => html`<p key=${problem} class="error-text">${problem}</p>`)}
    <${Figures} report=${backtest.report} rule=${rule} />
    <${MatchesOverTime} rule=${rule} />
    ${rule.against && html`<${Difference} compared=${rule.against} against=${backtest.against_version} />`}
    ${rule.labels && html`<${Labels} scores=${rule.labels} />`}
    <${TopKeys} rule=${rule} />
    <${Samples} samples=${rule.samples} column=${streamNamed(backtest.stream)?.event_time_column} />
    <${Costs} report=${backtest.report} rule=${rule} backtest=${backtest} />
  </div>`;
}

function Progress({ backtest, refresh }) {
  const cancel = async () => {
    try {
      await send("POST", `/v1/backtests/${backtest.number}/cancel`);
      await refresh();
    } catch (problem) {
      toastProblem(problem);
    }
  };
  const { events_done: done, events_total: total } = backtest;
  const told =
    backtest.state === "queued"
      ? "Waiting for a worker"
      : total
        ? `${percent(done / total)} of ${plural(total, "event")}`
        : "Reading events";
  return html`<div class="backtest-progress">
    <progress max=${total || 1} value=${backtest.state === "running" && total ? done : undefined} aria-label="Progress"></progress>
    <div class="row">
      <span role="status">${told}</span>
      ${can("author") && html`<${Button} small kind="plain" onClick=${cancel}>Cancel<//>`}
    </div>
  </div>`;
}

function Figures({ report, rule }) {
  const more = [
    ["Undecided at the end", rule.undecided_at_the_end],
    ["Timeouts", rule.timeouts],
    ["Suppressed", rule.suppressed],
    ["Grouped", rule.grouped],
    ["Over a limit", rule.left_out],
  ].filter(([, value]) => value > 0);
  return html`<div class="backtest-figures">
    <${Figure} name="Matches" value=${count(rule.matches)} note=${`on ${plural(rule.keys, "key")}`} />
    <${Figure} name="Events" value=${count(report.events)} note=${html`<${Time} at=${report.first_event} /> to <${Time} at=${report.last_event} />`} />
    ${more.map(([name, value]) => html`<${Figure} key=${name} name=${name} value=${count(value)} />`)}
  </div>`;
}

function MatchesOverTime({ rule }) {
  const { times, title, series } = useMemo(() => {
    const { times, values, step } = histogram(rule.by_hour, rule.counted_by);
    const title = `Matches per ${step}`;
    return { times, title, series: [{ label: title, values }] };
  }, [rule]);
  if (!times.length) return null;
  return html`<${Chart} title=${title} times=${times} series=${series} format=${count} bars />`;
}

const every = (ms) => ({ number: (time) => Math.floor(time / ms), begin: (number) => number * ms });

/** Lengths of time by which matches are counted, each with the number of a time and its beginning. */
const STEPS = [
  { name: "hour", most: MOST_HOURS, ...every(HOUR_MS) },
  { name: "day", most: MOST_BARS, ...every(DAY_MS) },
  { name: "month", most: MOST_BARS, number: monthOf, begin: (number) => new Date(0).setUTCFullYear(0, number) },
  {
    name: "year",
    most: Infinity,
    number: (time) => Math.floor(monthOf(time) / 12),
    begin: (number) => new Date(0).setUTCFullYear(number),
  },
];

function monthOf(time) {
  const date = new Date(time);
  return 12 * date.getUTCFullYear() + date.getUTCMonth();
}

/** Returns matches over time by `countedBy`, or by what is longer where that is too many bars, gaps as 0. */
export function histogram(byHour, countedBy = "hour") {
  const counted = Object.entries(byHour).map(([begin, number]) => [Date.parse(begin), number]);
  if (!counted.length) return { times: [], values: [], step: countedBy };
  const at = counted.map(([time]) => time);
  const span = [at.reduce((one, other) => Math.min(one, other)), at.reduce((one, other) => Math.max(one, other))];
  const given = STEPS.findIndex(({ name }) => name === countedBy);
  const step = STEPS.find((each, index) => index >= given && each.number(span[1]) - each.number(span[0]) < each.most);
  const first = step.number(span[0]);
  const values = new Array(step.number(span[1]) - first + 1).fill(0);
  for (const [time, number] of counted) values[step.number(time) - first] += number;
  return {
    times: values.map((_, index) => step.begin(first + index)),
    values,
    step: step.name === "hour" ? "hour" : `${step.name} (UTC)`,
  };
}

function Difference({ compared, against }) {
  return html`<section>
    <h3>Compared with version ${against}</h3>
    <div class="backtest-figures">
      <${Figure} name="Both" value=${count(compared.both)} />
      <${Figure} name="Gained" value=${count(compared.gained)} note="only this version" />
      <${Figure} name="Lost" value=${count(compared.lost)} note=${`only version ${against}`} />
    </div>
    ${compared.is_complete === false && html`<p class="secondary">Only the matches before <${Time} at=${compared.before} /> are compared, as there are more than 2,000,000.</p>`}
    <${Places} title="First gained" places=${compared.first_gained} />
    <${Places} title="First lost" places=${compared.first_lost} />
  </section>`;
}

function Places({ title, places }) {
  if (!places.length) return null;
  return html`<div>
    <h4>${title}</h4>
    <ul class="rollout-samples">
      ${places.map(
        (each, index) => html`<li key=${index}>
          <bdi>${each.key || "global key"}</bdi> <span class="secondary"><${Time} at=${each.end} /></span>
        </li>`,
      )}
    </ul>
  </div>`;
}

function Labels({ scores }) {
  const share = (value) => (value === null ? "–" : percent(value));
  return html`<section>
    <h3>Compared with triage</h3>
    <div class="backtest-figures">
      <${Figure} name="Precision" value=${share(scores.precision)} note=${`${count(scores.true_positives)} right, ${count(scores.false_positives)} false`} />
      <${Figure} name="Recall" value=${share(scores.recall)} note=${`${count(scores.bad_keys_found)} of ${plural(scores.bad_keys, "bad key")}`} />
      <${Figure} name="Not triaged" value=${count(scores.unlabelled)} />
    </div>
    ${scores.is_complete === false && html`<p class="secondary">Only the newest 10,000 decisions of that time are counted.</p>`}
  </section>`;
}

function TopKeys({ rule }) {
  const keys = Object.entries(rule.top_keys);
  if (!keys.length) return null;
  const most = Math.max(...keys.map(([, number]) => number));
  return html`<section>
    <h3>Keys with the most matches</h3>
    <dl class="backtest-keys">
      ${keys.map(
        ([key, number]) => html`<div key=${key}>
          <dt><bdi>${key || "global key"}</bdi></dt>
          <dd><svg class="backtest-bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
              <rect width=${(100 * number) / most} height="1" />
            </svg>
            ${count(number)}</dd>
        </div>`,
      )}
    </dl>
  </section>`;
}

function Samples({ samples, column }) {
  if (!samples.length) return null;
  return html`<section>
    <h3>First matches</h3>
    ${samples.map(
      (match) => html`<details key=${match.match_id} class="backtest-sample">
        <summary><bdi>${match.key || "global key"}</bdi>, <${Time} at=${match.end} /></summary>
        <${Timeline} match=${{ ...match, kind: "match" }} column=${column} />
        ${match.output && html`<p class="recent-match-output"><code>${JSON.stringify(match.output)}</code></p>`}
      </details>`,
    )}
  </section>`;
}

function Costs({ report, rule, backtest }) {
  return html`<p class="secondary">
    ${plural(report.events_per_second, "event")} a second, ${duration(report.seconds * 1000)} on ${backtest.worker}; at most
    ${" "}${plural(rule.partial_matches_at_most, "partial match", "partial matches")} open, ${plural(rule.partial_matches_at_the_end, "partial match", "partial matches")}
    ${" "}at the end, ${bytes(report.peak_state_bytes)} of state.
    ${report.unusable_events > 0 && ` ${plural(report.unusable_events, "event")} could not be used.`}
  </p>`;
}

/** The state of a backtest as a badge. */
export function BacktestState({ backtest }) {
  return html`<${State} of="backtest" name=${backtest.state} />`;
}
