// What to look at: what is wrong first, then what is about to change.
import { html } from "../../vendor/preact.js";
import { withQuery } from "../api.js";
import { Time, plural } from "../format.js";
import { Link, path } from "../router.js";
import { State } from "../ui/state.js";

const WORDS = {
  job_stale: "Job is silent",
  quarantined: "Rule is quarantined",
  no_job: "No job runs",
  epoch_behind: "Job is behind",
  watermark_behind: "Event time lags",
  watermark_ahead: "Event time runs ahead",
  backlog: "Backlog is growing",
  batch_hangs: "Batch is stuck",
  discovery_failing: "Rules cannot be read",
  rules_unreadable: "Rules rejected",
  output_failing: "Output fails",
  webhook_failing: "Webhook fails",
  starts_soon: "Starts soon",
  ends_soon: "Ends soon",
};

/** @param {{items: object[], leftOut: number}} properties items as /v1/overview gives them */
export function Attention({ items, leftOut }) {
  if (!items.length) return null;
  return html`<section class="card attention" aria-labelledby="attention">
    <header>
      <h2 id="attention">Needs attention</h2>
    </header>
    <ul>
      ${items.map((item) => html`<${Item} key=${keyOf(item)} item=${item} />`)}
    </ul>
    ${leftOut > 0 && html`<p class="pager">${plural(leftOut, "item")} more not shown.</p>`}
  </section>`;
}

function Item({ item }) {
  return html`<li>
    <span class="kind"><${State} of="urgency" name=${item.urgency}>${WORDS[item.concern]}<//></span>
    <span class="what">
      <${Link} href=${target(item)} class="subject"><bdi>${item.processor_id ?? item.job ?? item.webhook ?? item.stream}</bdi><//>
      ${item.version && html`${" "}<span class="muted">version ${item.version}</span>`}
      <span class="muted"> · ${place(item)}</span>
      <span class="detail">${item.detail}</span>
    </span>
    <span class="when">${item.at !== null && html`<${Time} at=${item.at} ago />`}</span>
  </li>`;
}

function place(item) {
  if (!item.stream) return "all streams";
  return item.processor_id && item.job ? `${item.stream}, job ${item.job}` : item.stream;
}

function target(item) {
  if (item.processor_id) return path`/streams/${item.stream}/rules/${item.processor_id}`;
  if (item.webhook_id) return withQuery("/webhooks", { webhook: item.webhook_id });
  if (item.job) return path`/streams/${item.stream}/jobs/${item.job}`;
  return path`/streams/${item.stream}/rules`;
}

function keyOf(item) {
  return [item.concern, item.stream, item.job, item.webhook_id, item.processor_id, item.version].join("/");
}
