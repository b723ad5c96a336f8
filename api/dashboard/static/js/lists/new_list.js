// Makes a list, without values, and goes to its page.
import { html, useState } from "../../vendor/preact.js";
import { send } from "../api.js";
import { navigate, path } from "../router.js";
import { apart } from "../ui/apart.js";
import { Confirm } from "../ui/dialog.js";
import { SelectField, TextField } from "../ui/field.js";
import { proposeChange } from "../proposals/propose.js";
import { can } from "../session.js";
import { proposedFor } from "./changing.js";
import { TYPES, pageOf } from "./model.js";

/** @param {{stream: string, onClose: () => void}} properties */
export function NewList({ stream, onClose }) {
  const [name, setName] = useState("");
  const [type, setType] = useState(TYPES[0][0]);
  const [description, setDescription] = useState("");
  const isMade = can("publisher"); // an empty list needs no approval
  const act = async (comment) => {
    if (!isMade) {
      const change = { list_type: type, description: description.trim() };
      await proposeChange(proposedFor({ stream, name: name.trim() }, "list_create", change), comment);
      return;
    }
    const document = { name: name.trim(), type, description: description.trim() };
    const list = await send("POST", path`/v1/streams/${stream}/lists`, document, { query: { comment } });
    navigate(pageOf(list));
  };
  return html`<${Confirm} title=${apart`New list of ${stream}`} verb=${isMade ? "Create list" : "Propose"} ready=${name.trim() !== ""} act=${act} onClose=${onClose}>
    <${TextField}
      label="Name"
      hint="Letters, digits, dot, hyphen and underscore. Use in rules: user IN LIST('vip')"
      required
      maxlength="100"
      autocomplete="off"
      spellcheck="false"
      value=${name}
      onInput=${setName}
    />
    <${SelectField} label="Type of its values" hint="Cannot be changed later." options=${TYPES} value=${type} onChange=${setType} />
    <${TextField} label="Description (optional)" multiline rows="2" maxlength="10000" value=${description} onInput=${setDescription} />
    <p class="secondary">The list starts empty; upload or add values next.</p>
    ${!isMade && html`<p class="approvals-note">A publisher must publish it. This creates a proposal.</p>`}
  <//>`;
}
