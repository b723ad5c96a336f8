// The history of a rule's health: each time a job has quarantined it, who looked at it, and what mended it.
import { html, useState } from "../../vendor/preact.js";
import { send, usePolled } from "../api.js";
import { Time } from "../format.js";
import { OutputFacts, shownKey } from "../matches/output.js";
import { Link, path } from "../router.js";
import { can } from "../session.js";
import { apart } from "../ui/apart.js";
import { Button } from "../ui/button.js";
import { Confirm } from "../ui/dialog.js";
import { Card } from "../ui/page.js";
import { Table } from "../ui/table.js";
import { toast } from "../ui/toast.js";

const SECONDS = 15;
const MOST = 500;
const QUARANTINED = "processor.quarantine";
const ACKNOWLEDGED = "processor.acknowledge";
const MENDED_BY = {
  "processor.publish": "published",
  "processor.rollback": "rolled back",
  "processor.pause": "paused",
  "processor.resume": "resumed",
  "processor.delete": "deleted",
  "rollout.end": "ended the trial",
};

/**
 * A hook: the quarantines of a rule, newest first: {change, job, error, acknowledged, mended}.
 * @param {string|null} id null = it is not asked for
 */
export function useHealth(id) {
  const { data, refresh } = usePolled(id && "/v1/changes", { processor: id, limit: MOST }, SECONDS);
  return { incidents: incidentsOf(data?.items ?? []), refresh };
}

// Changes come newest first, so what came after each has been seen before it.
function incidentsOf(changes) {
  let mended = null;
  let acknowledged = null;
  const found = [];
  for (const change of changes) {
    if (change.action in MENDED_BY) {
      mended = change;
      acknowledged = null;
    } else if (change.action === ACKNOWLEDGED) {
      acknowledged = change;
    } else if (change.action === QUARANTINED) {
      const [, job, error] = /^(.*?): (.*)$/s.exec(change.subject) ?? [null, "", change.subject];
      found.push({ change, job, error, acknowledged, mended });
    }
  }
  return found;
}

/** Nothing for a rule that was never quarantined. @param {{rule: object, health: object}} properties */
export function HealthCard({ rule, health: { incidents } }) {
  if (!incidents.length) return null;
  const columns = [
    { key: "at", label: "When", cell: ({ change }) => html`<${Time} at=${change.at} />` },
    { key: "version", label: "Version", cell: ({ change }) => html`<span class="number">v${change.new_version}</span>` },
    { key: "job", label: "Job", cell: ({ job }) => html`<${Link} href=${path`/streams/${rule.stream}/jobs/${job}`}>${job}<//>` },
    { key: "error", label: "Error", cell: ({ error }) => html`<span class="error-text" title=${error}>${error}</span>` },
    { key: "event", label: "Failed at", cell: ({ change }) => html`<${FailedAt} place=${change.failed_at} />` },
    { key: "acknowledged", label: "Acknowledged", cell: ({ acknowledged }) => html`<${By} change=${acknowledged} none="no" />` },
    { key: "mended", label: "Fixed", cell: ({ mended }) => html`<${By} change=${mended} none="not yet" word=${MENDED_BY[mended?.action]} />` },
  ];
  return html`<${Card} title="Health history" padded=${false}>
    <${Table} caption="Quarantines of this rule, newest first" columns=${columns} rows=${incidents} rowKey=${({ change }) => change.id} />
  <//>`;
}

// An event is long: its time and key are told, and all of it when it is asked for.
function FailedAt({ place }) {
  if (!place) return html`<span class="muted" title="The job told no event">–</span>`;
  const { key, time, event } = place;
  const told = html`${time ? html`<${Time} at=${time} />` : "event"}${key.length > 0 && html` <bdi>${shownKey(key)}</bdi>`}`;
  if (!event) return html`<span class="failed-at">${told} <span class="muted">no event</span></span>`;
  return html`<details class="failed-at"><summary>${told}</summary><${OutputFacts} output=${event} /></details>`;
}

function By({ change, none, word }) {
  if (!change) return html`<span class="muted">${none}</span>`;
  const version = word && change.new_version ? ` v${change.new_version}` : "";
  return html`<span title=${change.comment}>
    <bdi>${change.actor}</bdi>${word && ` ${word}${version}`}${" "}<span class="muted"><${Time} at=${change.at} ago /></span>
  </span>`;
}

/** Who looks into the newest quarantine, and a button to say that one does. @param {{rule: object, health: object}} properties */
export function Acknowledge({ rule, health: { incidents, refresh } }) {
  const [open, setOpen] = useState(false);
  const [newest] = incidents;
  if (!newest || newest.mended) return null;
  if (newest.acknowledged) {
    const { actor, at, comment } = newest.acknowledged;
    return html`<p class="secondary">Acknowledged by <bdi>${actor}</bdi> <${Time} at=${at} ago />${comment && html`: <q>${comment}</q>`}</p>`;
  }
  if (!can("author")) return null;
  const act = async (comment) => {
    await send("POST", path`/v1/processors/${rule.id}/acknowledge`, undefined, { query: { comment } });
    toast(apart`Acknowledged ${rule.id}.`);
    refresh();
  };
  return html`<p><${Button} small onClick=${() => setOpen(true)}>Acknowledge…<//></p>
    ${open &&
    html`<${Confirm} title=${apart`Acknowledge the error of ${rule.id}?`} verb="Acknowledge" act=${act} onClose=${() => setOpen(false)}>
      <p>Others will see that you are investigating. The rule stays quarantined until a new version is published or it is rolled back.</p>
    <//>`}`;
}
