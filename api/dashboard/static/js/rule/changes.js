// What was done with a rule: its part of the change log.
import { html } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { tokenOf } from "../activity/change.js";
import { Time } from "../format.js";
import { Card, Loading } from "../ui/page.js";
import { Pager, usePages } from "../ui/pager.js";
import { ProblemBox } from "../ui/problem.js";
import { Table } from "../ui/table.js";

const WORDS = {
  "processor.create": "created",
  "processor.publish": "published",
  "processor.pause": "paused",
  "processor.resume": "resumed",
  "processor.rollback": "rolled back",
  "processor.cancel": "cancelled while scheduled",
  "processor.withdraw": "replaced while scheduled",
  "processor.delete": "deleted",
  "processor.label": "labels changed",
  "processor.quarantine": "quarantined by a job",
  "processor.acknowledge": "error acknowledged",
  "rollout.start": "trial started",
  "rollout.share": "share of keys changed",
  "rollout.promote": "trial promoted",
  "rollout.end": "trial ended",
  "snooze.begin": "snoozed",
  "snooze.end": "snooze ended",
  "proposal.create": "change proposed",
  "proposal.edit": "proposal edited",
  "proposal.renew": "proposal renewed",
  "proposal.approve": "proposal approved",
  "proposal.reject": "proposal rejected",
  "proposal.withdraw": "proposal withdrawn",
  "proposal.publish": "proposal published",
  "match.triage": "matches triaged",
  "backtest.request": "backtest requested",
  "backtest.cancel": "backtest cancelled",
  "explanation.request": "asked why there was no match",
  "explanation.cancel": "cancelled the question why there was no match",
};
const COLUMNS = [
  { key: "at", label: "When", cell: (change) => html`<${Time} at=${change.at} />` },
  { key: "who", label: "Who", cell: (change) => html`<span class="wrap-anywhere" title=${tokenOf(change)}><bdi>${change.actor}</bdi></span>` },
  { key: "what", label: "What", cell: (change) => WORDS[change.action] ?? change.action },
  { key: "versions", label: "Version", cell: versionsText },
  { key: "epoch", label: "Epoch", right: true, cell: (change) => change.epoch ?? "–" },
  { key: "why", label: "Why", cell: (change) => html`<span class="wrap-anywhere">${change.comment || (change.action === "processor.quarantine" && change.subject)}</span>` },
];

/** @param {{id: string}} properties */
export function Changes({ id }) {
  const pages = usePages();
  const { data, problem } = usePolled("/v1/changes", { processor: id, limit: 25, cursor: pages.cursor }, 15);
  if (problem && !data) return html`<${ProblemBox} problem=${problem} />`;
  if (!data) return html`<${Loading} />`;
  return html`<${Card} title="Activity" padded=${false}>
    <${Table} caption="Changes of this rule, newest first" columns=${COLUMNS} rows=${data.items} rowKey=${(change) => change.id} />
    <${Pager} pages=${pages} page=${data} />
  <//>`;
}

function versionsText({ old_version: old, new_version: recent }) {
  if (old && recent) return `v${old} → v${recent}`;
  if (recent) return `v${recent}`;
  return old ? `v${old}` : "–";
}
