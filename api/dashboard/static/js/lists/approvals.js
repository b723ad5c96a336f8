// What is said where changes of lists need approvals.
import { html } from "../../vendor/preact.js";
import { plural } from "../format.js";
import { approvalsAsked } from "../proposals/propose.js";
import { Link } from "../router.js";
import { can } from "../session.js";
import { asksApprovals } from "./model.js";

/** Nothing where they need none, or for those who change none. @param {{stream: string}} properties */
export function ApprovalsOfLists({ stream }) {
  if (!asksApprovals(stream) || !can("publisher")) return null;
  const people = plural(approvalsAsked(stream), "other person", "other people");
  return html`<p class="approvals-note">
    Values of lists cannot be changed here: changes to what runs on ${stream} must be approved by ${people}, and changes
    to lists cannot be proposed. An admin can exempt lists from approvals under <${Link} href="/proposals">Proposals<//>.
  </p>`;
}
