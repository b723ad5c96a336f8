// What a job really runs, version by version; the state is a filter kept in the address.
import { html } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { Time, count, shortCount } from "../format.js";
import { Link, path, route, setQuery } from "../router.js";
import { HeldState } from "../rules/standing.js";
import { Chip } from "../ui/chips.js";
import { CodeBlock } from "../ui/code.js";
import { chosenColumns } from "../ui/columns.js";
import { Empty } from "../ui/empty.js";
import { Card, Loading } from "../ui/page.js";
import { Pager, usePages } from "../ui/pager.js";
import { ProblemBox } from "../ui/problem.js";
import { Table } from "../ui/table.js";

const SECONDS = 10;
const STATES = ["quarantined", "active", "canary", "shadow", "pending", "draining", "paused", "superseded"];

/** @param {{job: object}} properties a job as the API shows it */
export function HeldVersions({ job }) {
  const wanted = STATES.includes(route.value.query.state) ? route.value.query.state : null;
  const pages = usePages();
  const { shown, menu } = chosenColumns("held-versions", columns(job));
  const { data, problem } = usePolled(
    path`/v1/jobs/${job.id}/versions`,
    { state: wanted, cursor: pages.cursor, limit: 50 },
    SECONDS,
  );
  return html`<${Card} title="What it runs" actions=${html`<${States} job=${job} wanted=${wanted} />${menu}`} padded=${false}>
    ${problem && html`<div class="body"><${ProblemBox} problem=${problem} /></div>`}
    ${!data && !problem && html`<${Loading} />`}
    ${data && !data.items.length && html`<${Empty} title=${wanted ? `Nothing is ${wanted}` : "Nothing yet"}>
      <p>${wanted ? "No rule version is in this state here." : "The job has not reported any rules yet."}</p>
    <//>`}
    ${data?.items.length > 0 && html`<${Table}
      caption=${`Rule versions in the job ${job.name}`}
      className="sticky"
      columns=${shown}
      rows=${data.items}
      rowKey=${(held) => `${held.processor_id}/${held.version}`}
    />`}
    <${Pager} pages=${pages} page=${data} />
  <//>`;
}

function States({ job, wanted }) {
  return STATES.filter((state) => job.versions[state] || state === wanted).map(
    (state) => html`<${Chip}
      key=${state}
      pressed=${state === wanted}
      onClick=${() => setQuery({ state: state === wanted ? null : state })}
    >
      ${count(job.versions[state] ?? 0)} ${state}
    <//>`,
  );
}

function columns(job) {
  return [
    {
      key: "rule",
      label: "Rule",
      className: "name held-rule",
      cell: (held) => html`<${Link} href=${path`/streams/${job.stream}/rules/${held.processor_id}`}>${held.processor_id}<//>`,
    },
    { key: "version", label: "Version", right: true, cell: (held) => held.version },
    { key: "state", label: "State", cell: (held) => html`<${StateCell} job=${job} held=${held} />` },
    { key: "from", label: "Active from (event time)", cell: (held) => html`<${Time} at=${held.active_from} none=${held.state === "active" ? "the first event" : "–"} />` },
    { key: "until", label: "Until", className: "wide-only", cell: (held) => html`<${Time} at=${held.active_until} />` },
    { key: "matches", label: "Matches", right: true, cell: (held) => shortCount(held.counters.matches) },
    { key: "last", label: "Last match", cell: (held) => html`<${Time} at=${held.last_match} ago none="none" />` },
    { key: "partial", label: "Partial matches", right: true, className: "wide-only", cell: (held) => shortCount(held.partial_matches) },
    { key: "errors", label: "Errors", right: true, className: "wide-only", cell: (held) => shortCount(held.counters.errors) },
  ];
}

function StateCell({ job, held }) {
  const state = html`<${HeldState} job=${job} state=${held.state} />`;
  if (!held.error) return state;
  return html`<details class="held-error">
    <summary>${state} <span class="secondary">${held.error}</span></summary>
    ${held.traceback && html`<${CodeBlock} text=${held.traceback} label="Traceback" />`}
  </details>`;
}
