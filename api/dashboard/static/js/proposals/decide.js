// What can be done with a proposal, each behind a question: approve, publish, reject; edit, renew, withdraw one's own.
import { html, useState } from "../../vendor/preact.js";
import { send } from "../api.js";
import { path } from "../router.js";
import { can } from "../session.js";
import { Button, ButtonLink } from "../ui/button.js";
import { Confirm } from "../ui/dialog.js";
import { TextField } from "../ui/field.js";
import { toast } from "../ui/toast.js";
import { kindBeforeName, nameOf } from "./words.js";

/** The buttons of a proposal's page. @param {{proposal: object, refresh: () => Promise<void>}} properties */
export function ProposalActions({ proposal, refresh }) {
  const [open, setOpen] = useState(null);
  if (proposal.state !== "open") return null;
  const shared = { proposal, refresh, onClose: () => setOpen(null) };
  const isApproved = proposal.approval_count >= proposal.required_approvals;
  const canDecide = can("publisher") && !proposal.is_mine;
  const canPublish = can("publisher") && isApproved && !proposal.is_stale;
  const button = (key, text, more = {}) =>
    html`<${Button} ...${more} onClick=${() => setOpen(key)}>${text}<//>`;
  return html`
    ${proposal.is_mine && can("author") && html`
      ${proposal.document && html`<${ButtonLink} icon="edit" href=${editPath(proposal)}>Edit<//>`}
      ${proposal.is_stale && button("renew", "Renew…", { kind: "primary" })}
      ${button("withdraw", "Withdraw…")}`}
    ${canDecide && button("reject", "Reject…")}
    ${canDecide && button("approve", "Approve…", { disabled: proposal.is_stale, kind: canPublish ? undefined : "primary" })}
    ${can("publisher") && button("publish", "Publish…", { disabled: !canPublish, kind: canPublish ? "primary" : undefined })}
    ${open === "approve" && html`<${Approve} ...${shared} />`}
    ${open === "publish" && html`<${PublishIt} ...${shared} />`}
    ${open === "reject" && html`<${Reject} ...${shared} />`}
    ${open === "renew" && html`<${Renew} ...${shared} />`}
    ${open === "withdraw" && html`<${Withdraw} ...${shared} />`}
  `;
}

/** Where a proposal is edited. @param {object} proposal */
export function editPath(proposal) {
  return `${path`/streams/${proposal.stream}/new-rule`}?proposal=${proposal.id}`;
}

function whatOf({ list_name: list }) {
  return list ? "list" : "rule";
}

function act(proposal, verb, body, query) {
  const options = { etag: `"${proposal.revision}"`, query };
  return send("POST", path`/v1/proposals/${proposal.id}` + `/${verb}`, body, options);
}

function Approve({ proposal, refresh, onClose }) {
  const approve = async () => {
    await act(proposal, "approve");
    toast(`Proposal ${proposal.id} was approved.`);
    await refresh();
  };
  return html`<${Confirm} title=${`Approve proposal ${proposal.id}?`} verb="Approve" comment=${false} act=${approve} onClose=${onClose}>
    <p>You approve it exactly as shown on this page. If its author edits it, it must be approved again.</p>
  <//>`;
}

function PublishIt({ proposal, refresh, onClose }) {
  const publish = async (comment) => {
    await act(proposal, "publish", undefined, { comment });
    toast(html`Done: ${kindBeforeName(proposal)} <bdi>${nameOf(proposal)}</bdi>. Jobs pick it up with their next batch.`);
    await refresh();
  };
  return html`<${Confirm} title=${`Publish proposal ${proposal.id}?`} verb="Publish" act=${publish} onClose=${onClose}>
    <p>The change takes effect now: ${kindBeforeName(proposal)} <strong class="wrap-anywhere">${nameOf(proposal)}</strong>. The activity log shows who approved it.</p>
  <//>`;
}

function Reject({ proposal, refresh, onClose }) {
  const [reason, setReason] = useState("");
  const reject = async () => {
    await act(proposal, "reject", { reason });
    toast(`Proposal ${proposal.id} was rejected.`);
    await refresh();
  };
  return html`<${Confirm} title=${`Reject proposal ${proposal.id}?`} verb="Reject" danger comment=${false} act=${reject} onClose=${onClose}>
    <p>The proposal is closed. Its author can create another one.</p>
    <${TextField} label="Reason" multiline rows="3" required maxlength="4000" value=${reason} onInput=${setReason} />
  <//>`;
}

function Renew({ proposal, refresh, onClose }) {
  const renew = async () => {
    await act(proposal, "renew");
    toast(`Proposal ${proposal.id} is now based on the current ${whatOf(proposal)}.`);
    await refresh();
  };
  return html`<${Confirm} title=${`Renew proposal ${proposal.id}?`} verb="Renew" comment=${false} act=${renew} onClose=${onClose}>
    <p>The proposal is then based on the current ${whatOf(proposal)}. Approvals given so far must be given again.</p>
  <//>`;
}

function Withdraw({ proposal, refresh, onClose }) {
  const withdraw = async () => {
    await act(proposal, "withdraw");
    toast(`Proposal ${proposal.id} was withdrawn.`);
    await refresh();
  };
  return html`<${Confirm} title=${`Withdraw proposal ${proposal.id}?`} verb="Withdraw" danger comment=${false} act=${withdraw} onClose=${onClose}>
    <p>The proposal is closed and stays in the list of proposals.</p>
  <//>`;
}
