// What each job really does with a rule: state, versions, counters, and when it changes.
import { html } from "../../vendor/preact.js";
import { Time, bytes, count, plural } from "../format.js";
import { Link, path } from "../router.js";
import { eventTimeUntil } from "../rules/standing.js";
import { State } from "../ui/state.js";
import { Table } from "../ui/table.js";

/** @param {{running: object}} properties */
export function JobsTable({ running }) {
  const columns = [
    {
      key: "job",
      label: "Job",
      className: "name",
      cell: ({ job }) => html`<${Link} href=${path`/streams/${running.stream}/jobs/${job.name}`}>${job.name}<//>`,
    },
    { key: "state", label: "Rule", cell: (line) => html`<${RuleState} line=${line} />` },
    { key: "since", label: "Live version", cell: (line) => html`<${Live} line=${line} />` },
    { key: "next", label: "Next", cell: (line) => html`<${Next} line=${line} />` },
    { key: "matches", label: "Matches / h", right: true, cell: (line) => count(line.matches_last_hour) },
    { key: "last", label: "Last match", cell: (line) => html`<${Time} at=${line.last_match} ago none="none yet" />` },
    { key: "partial", label: "Partial matches", right: true, cell: (line) => count(line.partial_matches) },
    { key: "memory", label: "Memory", right: true, cell: (line) => bytes(line.state_bytes || null) },
    { key: "errors", label: "Errors", right: true, cell: (line) => count(line.errors) },
    { key: "left-out", label: "Left out", right: true, cell: (line) => count(line.left_out) },
    { key: "dropped", label: "Dropped", right: true, cell: (line) => count(line.dropped) },
    { key: "job-state", label: "Job is", cell: ({ job }) => html`<${State} name=${job.state} />` },
  ];
  return html`<${Table}
    caption="What each job does with this rule"
    columns=${columns}
    rows=${running.jobs}
    rowKey=${(line) => line.job.id}
  />`;
}

/** The state of a rule in one job, and how long until a pending one runs. */
export function RuleState({ line }) {
  if (!line.state) return html`<span class="muted">not reported</span>`;
  if (line.state !== "pending") return html`<${State} name=${line.state} />`;
  return html`<${State} name="pending">pending ${eventTimeUntil(line.next_from, line.job.watermark)}<//>`;
}

function Live({ line }) {
  if (line.live_version === null) return html`<span class="muted">none</span>`;
  const held = line.versions.find((each) => each.version === line.live_version);
  return html`<span>
    v${line.live_version}
    ${held && html` <span class="secondary">since ${held.active_from ? html`<${Time} at=${held.active_from} />` : "the first event"}</span>`}
  </span>`;
}

function Next({ line }) {
  if (line.next_version === null) return html`<span class="muted">–</span>`;
  return html`<span>
    v${line.next_version}${" "}
    <span class="secondary">${line.next_from ? html`at <${Time} at=${line.next_from} />` : "soon"}</span>
  </span>`;
}

/** The worst of what jobs report, for the head of the page. */
export function headState(rule, running) {
  const lines = (running?.jobs ?? []).filter((each) => each.job.state !== "stopped" && each.state);
  const order = ["quarantined", "active", "canary", "draining", "pending", "paused", "shadow", "superseded"];
  const worst = [...lines].sort((one, other) => order.indexOf(one.state) - order.indexOf(other.state))[0];
  if (rule.state === "paused") return { name: "paused", text: "paused" };
  if (!worst) return { name: rule.state, text: lines.length ? rule.state : `${rule.state}, in no job yet` };
  if (worst.state === "pending") return { name: "pending", text: `pending ${eventTimeUntil(worst.next_from, worst.job.watermark)}` };
  const active = lines.filter((each) => each.state === worst.state).length;
  return { name: worst.state, text: lines.length > 1 ? `${worst.state} in ${plural(active, "job")}` : worst.state };
}
