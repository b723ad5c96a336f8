// How far the partial matches of a version get: its steps, what each has counted, and why they end there.
import { html } from "../../vendor/preact.js";
import { Time, count, plural, shortCount } from "../format.js";
import { ProblemBox } from "../ui/problem.js";
import { Table } from "../ui/table.js";

const SUMMED = ["reached", "events", "timed_out", "broken", "pruned", "dropped", "stopped"];

/**
 * The steps of a version, summed over the jobs that have reported it; null if none has.
 * @param {object | null} funnel @param {number} version
 */
export function stepsOf(funnel, version) {
  const reports = (funnel?.jobs ?? []).flatMap(({ job, since, versions }) =>
    versions.filter((each) => each.version === version).map((each) => ({ ...each, job, since })),
  );
  if (!reports.length) return null;
  const [first, ...others] = reports;
  const steps = first.steps.map((step, place) => {
    const alike = others.map((each) => each.steps[place]).filter((each) => each?.name === step.name);
    const sum = { ...step };
    for (const name of SUMMED) sum[name] = alike.reduce((total, each) => total + each[name], step[name]);
    sum.last_event = [step, ...alike].map((each) => each.last_event).filter(Boolean).sort().at(-1) ?? null;
    return sum;
  });
  return {
    version,
    steps,
    isCounted: reports.every((each) => each.is_counted),
    jobs: reports.length,
    since: reports.map((each) => each.since).sort()[0],
    matches: summedOf(reports, "matches"),
    suppressed: summedOf(reports, "suppressed"),
    grouped: summedOf(reports, "grouped"),
    unsuppressed: summedOf(reports, "unsuppressed"),
    open: reports.reduce((total, each) => total + each.partial_matches, 0),
  };
}

function summedOf(reports, counter) {
  return reports.reduce((total, { counters }) => total + counters[counter], 0);
}

/** What is written at each step of the drawing. @param {ReturnType<typeof stepsOf>} counted */
export function notesOf(counted) {
  if (!counted?.isCounted) return {};
  const shown = counted.steps.filter((step) => !step.is_forbidden);
  return Object.fromEntries(shown.map((step) => [step.name, `${shortCount(step.reached)} reached`]));
}

/** @param {{counted: ReturnType<typeof stepsOf>, problem: object | null}} properties */
export function FunnelTable({ counted, problem }) {
  if (problem) return html`<${ProblemBox} problem=${problem} />`;
  if (!counted) return null;
  if (!counted.isCounted) {
    return html`<p class="funnel-note secondary">
      How far partial matches get is not counted for this rule: it is matched as a whole, not step by step.
    </p>`;
  }
  const most = Math.max(1, ...counted.steps.map((step) => step.reached));
  const columns = [
    { key: "step", label: "Step", className: "name", cell: (step) => html`<${StepName} step=${step} />` },
    { key: "reached", label: "Partial matches reached", className: "funnel-reached", cell: (step) => html`<${Reached} step=${step} most=${most} />` },
    { key: "events", label: "Events", right: true, cell: (step) => taken(step, count(step.events)) },
    { key: "timed-out", label: "Timed out", right: true, cell: (step) => taken(step, count(step.timed_out)) },
    { key: "broken", label: "Ended by an event", right: true, cell: (step) => taken(step, count(step.broken)) },
    { key: "pruned", label: "Skipped", right: true, cell: (step) => taken(step, count(step.pruned)) },
    ...given(counted.steps),
    { key: "last", label: "Newest event", cell: (step) => taken(step, html`<${Time} at=${step.last_event} none="never" />`) },
  ];
  return html`<div class="funnel">
    <${Table} caption="How far partial matches get, step by step" columns=${columns} rows=${counted.steps} rowKey=${(step) => step.name} />
    <p class="secondary">
      ${plural(counted.matches, "match", "matches")}${heldBack(counted)}, ${plural(counted.open, "partial match", "partial matches")} open now. Counted since
      ${" "}${counted.jobs > 1 ? `the first of ${counted.jobs} jobs was started, ` : "the job was started, "}<${Time} at=${counted.since} />.
    </p>
  </div>`;
}

// A version is given up once, if ever: its columns are there only then.
function given(steps) {
  const columns = [["dropped", "Discarded", "When their version was paused, deleted, replaced or over"], ["stopped", "Stopped", "When their version was quarantined"]];
  return columns
    .filter(([key]) => steps.some((step) => step[key] > 0))
    .map(([key, label, title]) => ({ key, label, title, right: true, cell: (step) => taken(step, count(step[key])) }));
}

function StepName({ step }) {
  return html`<bdi>${step.name}</bdi>${step.is_forbidden && html` <span class="muted">forbidden</span>`}`;
}

function taken(step, content) {
  return step.is_forbidden ? html`<span class="muted">–</span>` : content;
}

function Reached({ step, most }) {
  if (step.is_forbidden) return html`<span class="muted">–</span>`;
  const width = step.reached ? Math.max(1, (100 * step.reached) / most) : 0;
  return html`<span class="funnel-bar"><span style=${`width: ${width}%`} aria-hidden="true"></span></span>
    <span class="number">${count(step.reached)}</span>`;
}

// What did not go out is in no other number, so it is told beside the matches.
function heldBack({ suppressed, grouped, unsuppressed }) {
  const told = [
    [unsuppressed, "of them not suppressed (too many values)"],
    [suppressed, "suppressed"],
    [grouped, "grouped"],
  ].filter(([number]) => number > 0);
  return told.map(([number, word]) => `, ${count(number)} ${word}`).join("");
}
