// Makes a list, without values, and goes to its page.
import { html, useState } from "../../vendor/preact.js";
import { send } from "../api.js";
import { navigate, path } from "../router.js";
import { Confirm } from "../ui/dialog.js";
import { SelectField, TextField } from "../ui/field.js";
import { TYPES, pageOf } from "./model.js";

/** @param {{stream: string, onClose: () => void}} properties */
export function NewList({ stream, onClose }) {
  const [name, setName] = useState("");
  const [type, setType] = useState(TYPES[0][0]);
  const [description, setDescription] = useState("");
  const act = async (comment) => {
    const document = { name: name.trim(), type, description: description.trim() };
    const list = await send("POST", path`/v1/streams/${stream}/lists`, document, { query: { comment } });
    navigate(pageOf(list));
  };
  return html`<${Confirm} title=${`New list of ${stream}`} verb="Create list" ready=${name.trim() !== ""} act=${act} onClose=${onClose}>
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
  <//>`;
}
