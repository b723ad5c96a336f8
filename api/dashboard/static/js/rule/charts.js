// How a rule has fared over the last day, summed over the jobs that run it.
import { html, useEffect, useMemo, useRef, useState } from "../../vendor/preact.js";
import { get, recoveries } from "../api.js";
import { bytes, plural, shortCount } from "../format.js";
import { firstTold } from "../history.js";
import { path } from "../router.js";
import { isSilent } from "../rules/standing.js";
import { Chart } from "../ui/chart.js";
import { Card, Loading } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { Sparkline } from "../ui/sparkline.js";
import { useRuleMarks } from "./chart_marks.js";

const DAY_MS = 86_400_000;
const EVERY_MS = 60_000;
const MOST_SAMPLES = 240;
const HELD_BACK = ["suppressed", "grouped", "unsuppressed"];
const LABELS = { left_out: "matches over a limit", dropped: "partial matches discarded", unsuppressed: "not suppressed: too many values" };

/** @param {{id: string, running: object}} properties */
export function RuleCharts({ id, running }) {
  const jobs = running.jobs.map((each) => each.job.id).join(" ");
  const { history, problem } = useHistory(id, jobs);
  const state = useSamples(running);
  const marks = useRuleMarks(id);
  const silent = running.jobs.filter(({ job }) => isSilent(job)).length;
  const isPast = silent === running.jobs.length;
  if (problem) return html`<${ProblemBox} problem=${problem} />`;
  if (!jobs) return null;
  return html`<div class="grid rule-charts">
    <${Card} title="Matches per five minutes">
      <${Counted} history=${history} isPast=${isPast} marks=${marks} title="Matches per five minutes" names=${["matches"]} bars />
    <//>
    <${Card} title="Timeouts, errors and late events">
      <${Counted} history=${history} isPast=${isPast} marks=${marks} title="Timeouts, errors and late events per five minutes" names=${["timeouts", "errors", "late"]} />
    <//>
    <${Card} title="Over a limit and discarded">
      <${Counted} history=${history} isPast=${isPast} marks=${marks} title="Matches not output because of a limit, and partial matches discarded, per five minutes" names=${["left_out", "dropped"]} />
    <//>
    ${isHeldBack(history) &&
    html`<${Card} title="Suppressed and grouped">
      <${Counted} history=${history} isPast=${isPast} marks=${marks} title="Matches suppressed or grouped by alert, and not suppressed because their key had too many values, per five minutes" names=${HELD_BACK} />
    <//>`}
    <${Card} title="State now">
      <dl class="held">
        <dt>Partial matches</dt>
        <dd>${shortCount(state.partial.at(-1))}</dd>
        <dd><${Sparkline} values=${state.partial} label="Partial matches since this page was opened" /></dd>
        ${state.memory.some(Boolean) &&
        html`<dt>Memory</dt>
          <dd>${bytes(state.memory.at(-1))}</dd>
          <dd><${Sparkline} values=${state.memory} label="Memory since this page was opened" /></dd>`}
      </dl>
      <p class="muted">Since this page was opened.${silent > 0 && ` Without ${plural(silent, "silent job")}.`}</p>
    <//>
  </div>`;
}

function isHeldBack(history) {
  return HELD_BACK.some((name) => history?.series[name]?.some(Boolean));
}

function Counted({ history, isPast, marks, title, names, bars = false }) {
  const series = useMemo(
    () => history && names.map((name) => ({ label: LABELS[name] ?? name, values: history.series[name], isPast })),
    [history, isPast, ...names],
  );
  if (!history) return html`<${Loading} what="the counts" />`;
  return html`<${Chart} title=${title} times=${history.times} series=${series} bars=${bars} marks=${marks} marksLabel="Changes of the rule" />`;
}

function useHistory(id, jobs) {
  const [state, setState] = useState({ history: null, problem: null });
  const turn = recoveries.value;
  useEffect(() => {
    if (!jobs) return undefined;
    let gone = false;
    const read = async () => {
      const since = new Date(Date.now() - DAY_MS).toISOString();
      try {
        const found = await Promise.all(
          jobs.split(" ").map((job) => get(path`/v1/jobs/${job}/processors/${id}/history`, { since })),
        );
        if (!gone) setState({ history: summed(found), problem: null });
      } catch (problem) {
        if (gone || problem.status === 0) return;
        setState((before) => ({ ...before, problem: before.history ? null : problem }));
      }
    };
    read();
    const timer = setInterval(() => document.visibilityState === "visible" && read(), EVERY_MS);
    return () => {
      gone = true;
      clearInterval(timer);
    };
  }, [id, jobs, turn]);
  return state;
}

function summed(histories) {
  const [first, ...others] = histories;
  const series = {};
  for (const [name, values] of Object.entries(first.series)) {
    series[name] = values.map((value, index) =>
      others.reduce((sum, each) => sum + (each.series[name]?.[index] ?? 0), value ?? 0),
    );
  }
  const from = firstTold([{ times: first.times, series }]);
  const shown = Object.entries(series).map(([name, values]) => [name, values.slice(from)]);
  return { times: first.times.slice(from), series: Object.fromEntries(shown) };
}

// The service keeps no history of these two; while the page is open, it is collected here.
function useSamples(running) {
  const samples = useRef([]);
  const last = samples.current.at(-1);
  if (last?.running !== running) {
    // What a silent job held when it was last heard it may hold no more.
    const heard = running.jobs.filter(({ job }) => !isSilent(job));
    const sum = (name) => heard.reduce((total, each) => total + each[name], 0);
    const sample = { running, partial: sum("partial_matches"), memory: sum("state_bytes") };
    samples.current = [...samples.current.slice(1 - MOST_SAMPLES), sample];
  }
  return {
    partial: samples.current.map((each) => each.partial),
    memory: samples.current.map((each) => each.memory),
  };
}
