// One change of the log as a sentence.
import { html } from "../../vendor/preact.js";
import { Time } from "../format.js";
import { Link, path } from "../router.js";
import { Folded } from "../ui/folded.js";

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
  "processor.quarantine": "quarantined",
  "processor.acknowledge": "acknowledged an error of",
  "rollout.start": "started a trial of",
  "rollout.share": "changed the share of keys in the trial of",
  "rollout.promote": "promoted the trial of",
  "rollout.end": "ended the trial of",
  "snooze.begin": "snoozed",
  "snooze.end": "ended a snooze of",
  "proposal.create": "proposed a change to",
  "proposal.edit": "edited a proposal for",
  "proposal.renew": "renewed a proposal for",
  "proposal.approve": "approved a proposal for",
  "proposal.reject": "rejected a proposal for",
  "proposal.withdraw": "withdrew a proposal for",
  "proposal.publish": "published a proposal for",
  "match.triage": "triaged matches of",
  "backtest.request": "requested a backtest of",
  "backtest.cancel": "cancelled a backtest of",
  "explanation.request": "asked why there was no match of",
  "explanation.cancel": "cancelled the question why there was no match of",
  "stream.create": "registered a stream",
  "stream.describe": "described a stream",
  "stream.redefine": "redefined a stream",
  "stream.approvals": "changed the approvals required on",
  "list.create": "created the list",
  "list.change": "changed the values of the list",
  "list.rollback": "rolled back the list",
  "list.cancel": "cancelled a scheduled version of the list",
  "list.describe": "described the list",
  "list.delete": "deleted the list",
  "job.register": "registered a job",
  "job.stop": "stopped a job",
  "job.delete": "removed a job",
  "webhook.create": "created a webhook",
  "webhook.change": "changed a webhook",
  "webhook.secret": "renewed the secret of a webhook",
  "webhook.test": "sent a test to a webhook",
  "webhook.delete": "deleted a webhook",
  "token.create": "created a token",
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
      <strong title=${tokenOf(change)}><bdi>${change.actor}</bdi></strong> ${ACTIONS[change.action] ?? change.action}${" "}<${Subject} change=${change} />
      ${change.comment && html`<${Folded} tag="q" className="comment" text=${change.comment} />`}
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
      ${change.subject && html`${" "}<${More} change=${change} />`}`;
  }
  // The log names jobs and tokens by id, name and what else is known; people know them by name.
  const [id, ...words] = change.subject.split(" ");
  if (change.action.startsWith("job.") && words.length) {
    return html`<${Link} href=${path`/streams/${change.stream}/jobs/${words[0]}`} title=${`id ${id}`}>${words[0]}<//>
      <span class="muted wrap-anywhere"> ${words.slice(1).join(" ")}</span>`;
  }
  if (change.action.startsWith("list.")) {
    const [name] = change.subject.split(/[:;]/); // names have none
    return html`<${Link} href=${path`/streams/${change.stream}/lists/${name}`}>${name}<//>
      ${versions && html`${" "}<span class="muted number">${versions}</span>`}<span class="muted">${change.subject.slice(name.length)}</span>`;
  }
  const [, number, list, rest] = /^(\d+) list_\w+ ([\w.-]+)(.*)$/s.exec(change.subject) ?? [];
  if (change.action.startsWith("proposal.") && list) {
    return html`list <${Link} href=${path`/streams/${change.stream}/lists/${list}`}>${list}<//>${" "}
      <${Link} href=${path`/proposals/${number}`}>proposal ${number}<//><span class="muted wrap-anywhere">${rest}</span>`;
  }
  if (/^(token|webhook)\./.test(change.action) && words.length) {
    return html`<span class="wrap-anywhere" title=${`id ${id}`}>${words.join(" ")}</span>`;
  }
  return html`<span class="wrap-anywhere">${change.subject || change.stream}</span>`;
}

// What was triaged, which proposal it was, or by which one it came to run.
function More({ change }) {
  const [, number, rest] = /^(?:proposal )?(\d+)\b(.*)$/s.exec(change.subject) ?? [];
  const isProposal = change.action.startsWith("proposal.") || change.subject.startsWith("proposal ");
  if (!number || !isProposal) return html`<span class="muted wrap-anywhere">${change.subject}</span>`;
  return html`<${Link} href=${path`/proposals/${number}`}>proposal ${number}<//><span class="muted wrap-anywhere">${rest}</span>`;
}

function versionsOf({ old_version: before, new_version: after }) {
  if (after === null) return before === null ? "" : `version ${before}`;
  return before === null || before === after ? `version ${after}` : `version ${before} → ${after}`;
}
