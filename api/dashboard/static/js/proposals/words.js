// A proposal in words: what it would do, and where it stands.
import { html } from "../../vendor/preact.js";
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
};
/** What a proposal would do. @param {object} proposal a line of the list, or a whole one */
export function kindInWords(proposal) {
  return (KINDS[proposal.kind] ?? (() => proposal.kind))(proposal);
}

/** The same before the id of the rule: "publish", "roll back to version 3:". */
export function kindBeforeRule(proposal) {
  const words = kindInWords(proposal);
  return words.includes(" ") ? `${words}:` : words;
}

/** Where a proposal stands, as a badge. @param {{proposal: object}} properties */
export function ProposalState({ proposal }) {
  if (proposal.is_stale) return html`<${State} name="stale" title="The rule has been changed since">outdated<//>`;
  return html`<${State} name=${proposal.state === "open" ? "proposed" : proposal.state}>${proposal.state}<//>`;
}

/** How many have approved it, of how many. */
export function approvalsInWords({ approval_count: count, required_approvals: required }) {
  return required ? `${count} of ${required}` : String(count);
}
