// What is said where changes of lists need approvals.
import { html } from "../../vendor/preact.js";
import { plural } from "../format.js";
import { approvalsAsked } from "../proposals/propose.js";
import { can } from "../session.js";
import { asksApprovals, proposesLists } from "./model.js";

/** Nothing where they need none, or for those who change none. @param {{stream: string}} properties */
export function ApprovalsOfLists({ stream }) {
  if (!asksApprovals(stream) || !can("author")) return null;
  return html`<p class="approvals-note">
    Changes to the values of lists of ${stream} must be approved by ${others(stream)}: each of them creates a proposal.
  </p>`;
}

/** Says in a dialog that a proposal will be made, if one will. @param {{stream: string}} properties */
export function ProposesNote({ stream }) {
  if (!proposesLists(stream)) return null;
  return html`<p class="approvals-note">
    ${asksApprovals(stream) ? `It must be approved by ${others(stream)}.` : "A publisher must publish it."} This creates a
    proposal; nothing changes until it is published.
  </p>`;
}

function others(stream) {
  return plural(approvalsAsked(stream), "other person", "other people");
}
