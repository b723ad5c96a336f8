// One change of the log as a sentence.
import { html } from "../../vendor/preact.js";
import { Time } from "../format.js";
import { Link, path } from "../router.js";

/** What was done, by the name that the log has for it. */
export const ACTIONS = {
  "processor.create": "created a rule",
  "processor.publish": "published a version",
  "processor.rollback": "rolled back",
  "processor.pause": "paused",
  "processor.resume": "resumed",
  "processor.cancel": "cancelled a scheduled version",
  "processor.withdraw": "replaced a scheduled version",
  "processor.label": "changed labels",
  "processor.delete": "deleted a rule",
  "match.triage": "triaged matches of",
  "stream.create": "registered a stream",
  "stream.describe": "described a stream",
  "stream.redefine": "redefined a stream",
  "job.register": "registered a job",
  "job.stop": "stopped a job",
  "job.delete": "forgot a job",
  "token.create": "made a token",
  "token.revoke": "revoked a token",
};

/** Says which token made a change: several may have one name. */
export function tokenOf({ actor_id: id }) {
  return id ? `token ${id}` : undefined;
}

/** @param {{change: object}} properties a change as /v1/changes gives it */
export function ChangeItem({ change }) {
  return html`<li>
    <span class="when"><${Time} at=${change.at} /></span>
    <span class="what in-text">
      <strong title=${tokenOf(change)}>${change.actor}</strong> ${ACTIONS[change.action] ?? change.action}${" "}<${Subject} change=${change} />
      ${change.comment && html`<q class="comment">${change.comment}</q>`}
    </span>
    <span class="where muted">
      ${change.stream && html`<span>${change.stream}</span>`}
      ${change.epoch !== null && html`<span class="number">epoch ${change.epoch}</span>`}
    </span>
  </li>`;
}

function Subject({ change }) {
  const versions = versionsOf(change);
  if (change.processor_id) {
    return html`<${Link} href=${path`/streams/${change.stream}/rules/${change.processor_id}`}>${change.processor_id}<//>
      ${versions && html`${" "}<span class="muted number">${versions}</span>`}
      ${change.action === "match.triage" && html`${" "}<span class="muted wrap-anywhere">${change.subject}</span>`}`;
  }
  // The log names jobs and tokens by id, name and what else is known; people know them by name.
  const [id, ...words] = change.subject.split(" ");
  if (change.action.startsWith("job.") && words.length) {
    return html`<${Link} href=${path`/streams/${change.stream}/jobs/${words[0]}`} title=${`id ${id}`}>${words[0]}<//>
      <span class="muted wrap-anywhere"> ${words.slice(1).join(" ")}</span>`;
  }
  if (change.action.startsWith("token.") && words.length) {
    return html`<span class="wrap-anywhere" title=${`id ${id}`}>${words.join(" ")}</span>`;
  }
  return html`<span class="wrap-anywhere">${change.subject || change.stream}</span>`;
}

function versionsOf({ old_version: before, new_version: after }) {
  if (after === null) return before === null ? "" : `version ${before}`;
  return before === null || before === after ? `version ${after}` : `version ${before} → ${after}`;
}
