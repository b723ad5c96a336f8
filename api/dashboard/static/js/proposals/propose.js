// Whether a stream asks for approvals, and a change as a proposal instead of at once.
import { html } from "../../vendor/preact.js";
import { send } from "../api.js";
import { plural } from "../format.js";
import { navigate, path } from "../router.js";
import { can } from "../session.js";
import { readStreams, streamNamed } from "../streams.js";
import { toast } from "../ui/toast.js";

/** How many approvals changes of what runs on a stream take, as far as is known. */
export function approvalsAsked(name) {
  return streamNamed(name)?.required_approvals ?? 0;
}

/** Whether publishers change the lists of a stream without approvals, whatever else it asks for. */
export function listsAreFree(name) {
  return streamNamed(name)?.lists_need_approvals === false;
}

/** Whether whoever is signed in proposes changes of what runs on a stream, rather than makes them. */
export function proposes(name) {
  return approvalsAsked(name) > 0 || !can("publisher");
}

/**
 * Makes a proposal and goes to its page; throws a Problem.
 * @param {object} change as POST /v1/proposals takes it
 * @param {string|null} values of a list as JSON: they are sent as they are, since a browser cannot hold all 64 bits
 */
export async function proposeChange(change, comment, values = null) {
  const body = JSON.stringify({ ...change, comment });
  const sent = values === null ? body : `${body.slice(0, -1)},"values":${values}}`;
  const proposal = await send("POST", "/v1/proposals", sent, { contentType: "application/json" });
  toast(`Proposal ${proposal.id} is open for review.`);
  navigate(path`/proposals/${proposal.id}`);
}

/**
 * Makes a change, or a proposal of it where the stream asks for approvals.
 * @param {{stream: string, change: object, comment: string, make: () => Promise<void>}} wanted
 */
export async function makeOrPropose({ stream, change, comment, make }) {
  if (proposes(stream)) return proposeChange(change, comment);
  try {
    return await make();
  } catch (problem) {
    if (problem.status === 403) await readStreams(); // it may ask for approvals since
    throw problem;
  }
}

/** Says in a dialog that a proposal will be made, if one will. @param {{stream: string}} properties */
export function ApprovalsNote({ stream }) {
  const asked = approvalsAsked(stream);
  if (!proposes(stream)) return null;
  return html`<p class="approvals-note">
    ${asked
      ? `Changes to what runs on ${stream} must be approved by ${plural(asked, "other person", "other people")}.`
      : "A publisher must publish it."}
    ${" "}This creates a proposal; nothing changes until it is published.
  </p>`;
}
