// What people have said about something, and the field for more: notes, comments.
import { html, useState } from "../../vendor/preact.js";
import { send } from "../api.js";
import { Time } from "../format.js";
import { Button } from "./button.js";
import { TextField } from "./field.js";
import { ProblemBox } from "./problem.js";
import { Folded } from "./folded.js";
import { useSubmit } from "./submit.js";

const LONGEST = 4_000;

/** @param {{label: string, remarks: object[]}} properties each has number, author, at, text; author_id if known */
export function Remarks({ label, remarks }) {
  return html`<ol aria-label=${label}>
    ${remarks.map(
      (remark) => html`<li key=${remark.number} class="note">
        <p class="note-head">
          <strong title=${remark.author_id && `token ${remark.author_id}`}><bdi>${remark.author}</bdi></strong> <${Time} at=${remark.at} ago />
        </p>
        <${Folded} className="note-text" text=${remark.text} />
      </li>`,
    )}
  </ol>`;
}

/** @param {{label: string, source: string, onAdded: () => Promise<void>}} properties label: "Note", "Comment" */
export function NewRemark({ label, source, onAdded }) {
  const [text, setText] = useState("");
  const { submit, busy, problem } = useSubmit(async () => {
    await send("POST", source, { text });
    setText("");
    await onAdded();
  });
  return html`<form class="stack" onSubmit=${submit}>
    <${TextField} label=${label} multiline rows="2" maxlength=${LONGEST} value=${text} onInput=${setText} />
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <div class="row"><${Button} small type="submit" busy=${busy} disabled=${!text.trim()}>Add ${label.toLowerCase()}<//></div>
  </form>`;
}
