// The starts of a job, newest first, and what it says about itself.
import { html } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { Time } from "../format.js";
import { path } from "../router.js";
import { Card } from "../ui/page.js";
import { Table } from "../ui/table.js";

const SECONDS = 30;

/** @param {{jobId: string, properties: object}} properties */
export function Starts({ jobId, properties }) {
  const { data } = usePolled(path`/v1/jobs/${jobId}`, {}, SECONDS);
  const facts = Object.entries(properties);
  return html`<div class="grid">
    <${Card} title="Starts" padded=${false}>
      ${data && html`<${Table} caption="Starts of this job" columns=${COLUMNS} rows=${data.instances} rowKey=${(start) => start.instance_id} />`}
    <//>
    <${Card} title="About this job">
      ${facts.length
        ? html`<dl class="facts">${facts.map(([name, text]) => html`<dt key=${name}>${name}</dt><dd>${text}</dd>`)}</dl>`
        : html`<p class="muted">The job has reported no details.</p>`}
    <//>
  </div>`;
}

const COLUMNS = [
  { key: "at", label: "Started", cell: (start) => html`<${Time} at=${start.registered_at} />` },
  { key: "ended", label: "Ended", cell: (start) => html`<${Time} at=${start.ended_at} none="running" />` },
  { key: "why", label: "Why", cell: (start) => html`<span class="wrap-anywhere">${start.end_reason}</span>` },
  { key: "id", label: "Instance", cell: (start) => html`<code class="wrap-anywhere">${start.instance_id}</code>` },
];
