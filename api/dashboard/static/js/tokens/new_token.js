// Makes a token and shows its text, once.
import { html, useState } from "../../vendor/preact.js";
import { send } from "../api.js";
import { streams } from "../streams.js";
import { apart } from "../ui/apart.js";
import { Button } from "../ui/button.js";
import { Dialog } from "../ui/dialog.js";
import { SelectField, TextField } from "../ui/field.js";
import { ProblemBox } from "../ui/problem.js";
import { Secret } from "../ui/secret.js";
import { useSubmit } from "../ui/submit.js";

const DAY_MS = 86_400_000;
const ROLES = [
  ["viewer", "viewer: read only"],
  ["author", "author: writes and proposes rules"],
  ["publisher", "publisher: publishes, pauses, rolls back"],
  ["admin", "admin: also streams and tokens"],
  ["job", "job: a streaming job"],
];
const LIFETIMES = [
  ["", "never"],
  ["1", "in a day"],
  ["7", "in a week"],
  ["30", "in 30 days"],
  ["90", "in 90 days"],
  ["365", "in a year"],
];

/** @param {{onMade: () => void, onClose: () => void}} properties */
export function NewToken({ onMade, onClose }) {
  const [made, setMade] = useState(null);
  const done = (token) => {
    setMade(token);
    onMade();
  };
  return made
    ? html`<${Secret} title=${apart`The token ${made.name}`} text=${made.token} label="The token" onClose=${onClose}>
        Copy it now. It is not stored and cannot be shown again.
      <//>`
    : html`<${Dialog} key="making" title="New token" onClose=${onClose}><${TokenForm} onDone=${done} onClose=${onClose} /><//>`;
}

function TokenForm({ onDone, onClose }) {
  const [name, setName] = useState("");
  const [person, setPerson] = useState("");
  const [role, setRole] = useState("viewer");
  const [named, setNamed] = useState("");
  const [days, setDays] = useState("90");
  const { submit, busy, problem } = useSubmit(async () => {
    const expires_at = days ? new Date(Date.now() + Number(days) * DAY_MS).toISOString() : null;
    const confined = named.trim() ? named.split(",").map((each) => each.trim()) : null;
    onDone(await send("POST", "/v1/tokens", { name: name.trim(), role, streams: confined, expires_at, person: person.trim() || null }));
  });
  return html`<form class="stack" onSubmit=${submit}>
    <${TextField}
      label="Name"
      hint="Who or what will use it: letters, digits, space and . _ @ -"
      required
      maxlength="100"
      autocomplete="off"
      value=${name}
      onInput=${setName}
    />
    <${TextField}
      label="Person (optional)"
      hint="Owner, the same in all tokens of one person; required to approve proposals."
      maxlength="100"
      autocomplete="off"
      value=${person}
      onInput=${setPerson}
    />
    <${SelectField} label="Role" options=${ROLES} value=${role} onChange=${setRole} />
    <${TextField}
      label="Streams (optional)"
      hint="The only ones it may read and change: exact names, with commas. Empty: all streams."
      autocomplete="off"
      list="streams-of-token"
      value=${named}
      onInput=${setNamed}
    />
    <datalist id="streams-of-token">
      ${(streams.value ?? []).map((each) => html`<option key=${each.name} value=${each.name}></option>`)}
    </datalist>
    <${SelectField} label="Expires" options=${LIFETIMES} value=${days} onChange=${setDays} />
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <footer class="row">
      <${Button} kind="plain" onClick=${onClose}>Cancel<//>
      <${Button} kind="primary" type="submit" busy=${busy}>Create token<//>
    </footer>
  </form>`;
}
