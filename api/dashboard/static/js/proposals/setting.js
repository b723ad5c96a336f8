// How many approvals a stream asks for; admins change it.
import { html, useState } from "../../vendor/preact.js";
import { getTagged, send } from "../api.js";
import { plural } from "../format.js";
import { path } from "../router.js";
import { can } from "../session.js";
import { readStreams } from "../streams.js";
import { apart } from "../ui/apart.js";
import { Button } from "../ui/button.js";
import { Confirm } from "../ui/dialog.js";
import { Check, Field } from "../ui/field.js";
import { toast } from "../ui/toast.js";
import { approvalsAsked, listsAreFree } from "./propose.js";

const MOST = 10;

/** @param {{stream: string}} properties */
export function ApprovalsSetting({ stream }) {
  const [isOpen, setOpen] = useState(false);
  const asked = approvalsAsked(stream);
  const free = listsAreFree(stream) ? "; those of lists need no approval" : "";
  const who = `${plural(asked, "other person", "other people")}${free}`;
  return html`<p class="row">
    <span>
      ${asked
        ? html`Changes to what runs on <strong>${stream}</strong> must be approved by ${who}.`
        : html`Changes to what runs on <strong>${stream}</strong> need no approval.`}
    </span>
    ${can("admin") && html`<${Button} small onClick=${() => setOpen(true)}>Change…<//>`}
    ${isOpen && html`<${ChangeSetting} stream=${stream} asked=${asked} onClose=${() => setOpen(false)} />`}
  </p>`;
}

function ChangeSetting({ stream, asked, onClose }) {
  const [required, setRequired] = useState(String(asked));
  const [lists, setLists] = useState(!listsAreFree(stream));
  const act = async (comment) => {
    const { etag } = await getTagged(path`/v1/streams/${stream}`);
    const body = { required: Number(required), lists };
    await send("PUT", path`/v1/streams/${stream}` + "/approvals", body, { etag, query: { comment } });
    await readStreams();
    toast(html`<bdi>${stream}</bdi> now requires ${plural(Number(required), "approval")}.`);
  };
  return html`<${Confirm} title=${apart`Approvals on ${stream}`} verb="Change" act=${act} onClose=${onClose}>
    <p>
      This many people besides the author must approve a change before anyone can publish it. Pausing a rule, and versions that
      run only in shadow, need no approval. The tokens of those who approve must name a person.
    </p>
    <${Field}
      label="Approvals, 0 to 10"
      control=${(tied) => html`<input
        class="input"
        type="number"
        min="0"
        max=${MOST}
        step="1"
        required
        value=${required}
        onInput=${(event) => setRequired(event.currentTarget.value)}
        ...${tied}
      />`}
    />
    <${Check} label="Require approvals for changes to lists, too" checked=${lists} onChange=${setLists} />
  <//>`;
}
