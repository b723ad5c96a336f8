// One change of the log: who did what to what as a sentence, and below it what else the log knows.
import { html } from "../../vendor/preact.js";
import { Time } from "../format.js";
import { Link, path } from "../router.js";
import { Folded } from "../ui/folded.js";

const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** What was done, by the name that the log has for it. */
export const ACTIONS = {
  "processor.create": "created the rule",
  "processor.publish": "published a version of",
  "processor.rollback": "rolled back",
  "processor.pause": "paused",
  "processor.resume": "resumed",
  "processor.cancel": "cancelled a scheduled version of",
  "processor.withdraw": "replaced a scheduled version of",
  "processor.label": "changed labels of",
  "processor.delete": "deleted the rule",
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
  "explanation.cancel": "no longer asks why there was no match of",
  "stream.create": "registered the stream",
  "stream.describe": "described the stream",
  "stream.redefine": "redefined the stream",
  "stream.approvals": "changed the approvals required on",
  "list.create": "created the list",
  "list.change": "changed the values of the list",
  "list.rollback": "rolled back the list",
  "list.cancel": "cancelled a scheduled version of the list",
  "list.describe": "described the list",
  "list.delete": "deleted the list",
  "job.register": "registered the job",
  "job.stop": "stopped the job",
  "job.delete": "removed the job",
  "webhook.create": "created the webhook",
  "webhook.change": "changed the webhook",
  "webhook.secret": "renewed the secret of the webhook",
  "webhook.test": "sent a test to the webhook",
  "webhook.delete": "deleted the webhook",
  "token.create": "created the token",
  "token.revoke": "revoked the token",
};

/** Says which token made a change: several may have one name. */
export function tokenOf({ actor_id: id }) {
  return id ? `token ${id}` : undefined;
}

/** @param {{change: object}} properties a change as /v1/changes gives it */
export function ChangeItem({ change }) {
  const { subject, details } = toldOf(change);
  const known = [versionsOf(change), ...details].filter(Boolean);
  return html`<li>
    <span class="when"><${Time} at=${change.at} /></span>
    <span class="what in-text">
      <strong title=${tokenOf(change)}><bdi>${change.actor}</bdi></strong> ${ACTIONS[change.action] ?? change.action} ${subject}
      ${known.length > 0 && html`<span class="details">${known.map((each, place) => html`<span key=${place}>${each}</span>`)}</span>`}
      ${change.comment && html`<${Folded} tag="q" className="comment" text=${change.comment} />`}
    </span>
    <span class="where muted">
      ${change.stream && html`<span>${change.stream}</span>`}
      ${change.epoch !== null && html`<span class="number">epoch ${change.epoch}</span>`}
    </span>
  </li>`;
}

// What was changed, and what else the log says of it. It names jobs and tokens by id, name and more; people know them by name.
function toldOf(change) {
  const { action, stream, subject } = change;
  if (change.processor_id) {
    const rule = html`<${Link} href=${path`/streams/${stream}/rules/${change.processor_id}`}>${change.processor_id}<//>`;
    return { subject: rule, details: detailsOf(change) };
  }
  const [id, ...words] = subject.split(" ");
  if (action.startsWith("job.") && words.length) {
    const job = html`<${Link} href=${path`/streams/${stream}/jobs/${words[0]}`} title=${`id ${id}`}>${words[0]}<//>`;
    return { subject: job, details: [words[1] && `instance ${words[1]}`] };
  }
  if (action.startsWith("list.")) {
    const [name] = subject.split(/[:;]/); // names have none
    return { subject: linkToList(stream, name), details: [withTimes(subject.slice(name.length).replace(/^\W+/, ""))] };
  }
  const [, number, list, rest] = /^(\d+) list_\w+ ([\w.-]+)(.*)$/s.exec(subject) ?? [];
  if (action.startsWith("proposal.") && list) {
    return { subject: html`list ${linkToList(stream, list)}`, details: [linkToProposal(number), withTimes(rest.replace(/^\W+/, ""))] };
  }
  if (/^(token|webhook)\./.test(action) && words.length) {
    return { subject: html`<span class="wrap-anywhere" title=${`id ${id}`}>${words.join(" ")}</span>`, details: [] };
  }
  if (action.startsWith("stream.")) return { subject: stream, details: [subject] };
  return { subject: html`<span class="wrap-anywhere">${subject || stream}</span>`, details: [] };
}

// What was triaged or asked, which proposal it was, or by which one it came to run.
function detailsOf({ action, stream, subject }) {
  if (action.startsWith("backtest.")) return [html`<${Link} href=${path`/streams/${stream}/backtests/${subject}`}>backtest ${subject}<//>`];
  if (action.startsWith("explanation.")) return [`question ${subject}`];
  const [, number, rest] = /^(?:proposal )?(\d+)\b(.*)$/s.exec(subject) ?? [];
  const isProposal = action.startsWith("proposal.") || subject.startsWith("proposal ");
  if (!number || !isProposal) return [withTimes(subject)];
  return [linkToProposal(number), withTimes(rest.replace(/^\W+/, "").replaceAll("_", " "))];
}

function linkToList(stream, name) {
  return html`<${Link} href=${path`/streams/${stream}/lists/${name}`}>${name}<//>`;
}

function linkToProposal(number) {
  return html`<${Link} href=${path`/proposals/${number}`}>proposal ${number}<//>`;
}

// The log has instants as the service writes them.
function withTimes(text) {
  const parts = text.split(INSTANT).map((part, place) => (place % 2 ? html`<${Time} key=${place} at=${part} />` : part));
  return text && html`<span class="wrap-anywhere">${parts}</span>`;
}

function versionsOf({ old_version: before, new_version: after }) {
  if (after === null) return before === null ? "" : `version ${before}`;
  return before === null || before === after ? `version ${after}` : `version ${before} → ${after}`;
}
