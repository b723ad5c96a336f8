// What each job really does with a rule: state, versions, counters, and when it changes.
import { html } from "../../vendor/preact.js";
import { Time, bytes, plural, shortCount } from "../format.js";
import { Link, path } from "../router.js";
import { CanaryState, HeldState, eventTimeUntil, isSilent, shownState, standingName } from "../rules/standing.js";
import { State } from "../ui/state.js";
import { stateWord } from "../ui/states.js";
import { Table } from "../ui/table.js";

const ORDER = ["quarantined", "throttled", "snoozed", "active", "canary", "draining", "pending", "paused", "shadow", "superseded"];

/** @param {{running: object, snoozedUntil: string|null}} properties */
export function JobsTable({ running, snoozedUntil }) {
  const columns = [
    {
      key: "job",
      label: "Job",
      className: "name",
      cell: ({ job }) => html`<${Link} href=${path`/streams/${running.stream}/jobs/${job.name}`} title=${job.name}>${job.name}<//>`,
    },
    { key: "state", label: "Rule", cell: (line) => html`<${RuleState} line=${line} snoozedUntil=${snoozedUntil} />
        ${!isSilent(line.job) && html`<${CanaryState} version=${line.canary_version} />`}` },
    { key: "since", label: "Live version", cell: (line) => html`<${Live} line=${line} />` },
    { key: "next", label: "Next", cell: (line) => html`<${Next} line=${line} />` },
    { key: "matches", label: "Matches / h", right: true, cell: (line) => shortCount(line.matches_last_hour) },
    { key: "last", label: "Last match", cell: (line) => html`<${Time} at=${line.last_match} ago none="none yet" />` },
    { key: "partial", label: "Partial matches", right: true, cell: (line) => shortCount(line.partial_matches) },
    { key: "memory", label: "Memory", right: true, cell: (line) => bytes(line.state_bytes || null) },
    { key: "errors", label: "Errors", right: true, cell: (line) => shortCount(line.errors) },
    { key: "left-out", label: "Over limit", title: "Matches and timeouts that were not output because of a limit", right: true, cell: (line) => shortCount(line.left_out) },
    { key: "dropped", label: "Discarded", title: "Partial matches discarded when a version was paused, deleted, replaced or over", right: true, cell: (line) => shortCount(line.dropped) },
    { key: "released", label: "Released", title: "Complete matches that waited for these partial matches, and were output when they were discarded", right: true, cell: (line) => shortCount(line.released) },
    { key: "job-state", label: "Job state", cell: ({ job }) => html`<${State} of="job" name=${job.state} />` },
  ];
  return html`<${Table}
    caption="This rule in each job"
    className="rule-jobs"
    columns=${columns}
    rows=${running.jobs}
    rowKey=${(line) => line.job.id}
  />`;
}

/** The state of a rule in one job, and how long until a pending one runs. */
export function RuleState({ line, snoozedUntil }) {
  if (!line.state) return html`<${State} of="running" name="absent">${standingName("absent", line.job.name)}<//>`;
  const state = shownState(line, snoozedUntil);
  if (isSilent(line.job) || state !== "pending") return html`<${HeldState} job=${line.job} state=${state} />`;
  return html`<${State} of="running" name="pending">${stateWord("running", "pending")} ${eventTimeUntil(line.next_from, line.job.watermark)}<//>`;
}

function Live({ line }) {
  if (line.live_version === null) return html`<span class="muted">none</span>`;
  const held = line.versions.find((each) => each.version === line.live_version);
  return html`<span>
    v${line.live_version}
    ${held && html` <span class="secondary">since ${held.active_from ? html`<${Time} at=${held.active_from} />` : "the first event"}</span>`}
    ${held?.interpreted_reason && html`<span class="secondary interpreted">runs in Python: ${held.interpreted_reason}</span>`}
  </span>`;
}

function Next({ line }) {
  if (line.next_version === null) return html`<span class="muted">–</span>`;
  return html`<span>
    v${line.next_version}${" "}
    <span class="secondary">${line.next_from ? html`at <${Time} at=${line.next_from} />` : "soon"}</span>
  </span>`;
}

/** The worst of what jobs report, for the head of the page; those that are silent count only where no other tells. */
export function headState(rule, running, snoozedUntil) {
  const inJobs = (running?.jobs ?? []).filter((each) => each.job.state !== "stopped" && each.state);
  const lines = inJobs.map((each) => ({ ...each, state: shownState(each, snoozedUntil) }));
  const heard = lines.filter((each) => each.job.state !== "stale");
  if (rule.state === "paused") return { of: "rule", name: "paused", text: stateWord("rule", "paused") };
  if (!lines.length) return { of: "rule", name: rule.state, text: `${stateWord("rule", rule.state)}, in no job yet` };
  if (!heard.length) return { of: "job", name: "stale", text: `job ${stateWord("job", "stale")}, was ${stateWord("running", worstOf(lines).state)}` };
  const worst = worstOf(heard);
  if (worst.state === "pending") return { of: "running", name: "pending", text: `${stateWord("running", "pending")} ${eventTimeUntil(worst.next_from, worst.job.watermark)}` };
  const same = heard.filter((each) => each.state === worst.state).length;
  const word = stateWord("running", worst.state);
  return { of: "running", name: worst.state, text: heard.length > 1 ? `${word} in ${plural(same, "job")}` : word };
}

function worstOf(lines) {
  return [...lines].sort((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state))[0];
}
