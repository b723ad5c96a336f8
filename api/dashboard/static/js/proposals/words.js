// A proposal in words: what it would do, and where it stands.
import { html } from "../../vendor/preact.js";
import { path } from "../router.js";
import { State } from "../ui/state.js";

// What a line of the list does not say, such as which version, is left out there.
const KINDS = {
  publish: () => "publish",
  canary: ({ share_percent: share }) => (share === undefined ? "try for a share of the keys" : `try for ${share}% of the keys`),
  share: ({ share_percent: share }) => (share === undefined ? "change the share of keys on trial" : `change the share of keys on trial to ${share}%`),
  promote: () => "promote the trial",
  rollback: ({ version }) => (version ? `roll back to version ${version}` : "roll back"),
  cancel: ({ version }) => (version ? `cancel version ${version}` : "cancel a scheduled version"),
  resume: () => "resume",
  delete: () => "delete",
  list_create: () => "create",
  list_put: () => "replace all values",
  list_change: () => "change values",
  list_rollback: ({ version }) => (version ? `go back to version ${version}` : "go back to an old version"),
  list_cancel: ({ version }) => (version ? `cancel version ${version}` : "cancel a scheduled version"),
  list_delete: () => "delete",
};

/** What a proposal would do. @param {object} proposal a line of the list, or a whole one */
export function kindInWords(proposal) {
  return (KINDS[proposal.kind] ?? (() => proposal.kind))(proposal);
}

/** The same before the name of what it is about: "publish", "roll back to version 3:", "change values of list". */
export function kindBeforeName(proposal) {
  const words = kindInWords(proposal);
  if (proposal.list_name) return words.includes(" ") ? `${words} of list` : `${words} list`;
  return words.includes(" ") ? `${words}:` : words;
}

/** The id of the rule or the name of the list that a proposal is about. */
export function nameOf({ list_name: list, processor_id: rule }) {
  return list || rule;
}

/** The path of its page. */
export function pageOf({ stream, list_name: list, processor_id: rule }) {
  return list ? path`/streams/${stream}/lists/${list}` : path`/streams/${stream}/rules/${rule}`;
}

/** Where a proposal stands, as a badge. @param {{proposal: object}} properties */
export function ProposalState({ proposal }) {
  if (proposal.is_stale) return html`<${State} of="proposal" name="outdated" title=${`The ${proposal.list_name ? "list" : "rule"} has been changed since`} />`;
  return html`<${State} of="proposal" name=${proposal.state} />`;
}

/** How many have approved it, of how many. */
export function approvalsInWords({ approval_count: count, required_approvals: required }) {
  return required ? `${count} of ${required}` : String(count);
}
