// Makes a webhook and shows its secret, once.
import { html, useState } from "../../vendor/preact.js";
import { send } from "../api.js";
import { confinedTo } from "../session.js";
import { streams } from "../streams.js";
import { apart } from "../ui/apart.js";
import { Button } from "../ui/button.js";
import { Dialog } from "../ui/dialog.js";
import { SelectField, TextField } from "../ui/field.js";
import { ProblemBox } from "../ui/problem.js";
import { Secret } from "../ui/secret.js";
import { useSubmit } from "../ui/submit.js";

const EVENTS = [
  ["rule.quarantined", "a rule has raised an error and is quarantined"],
  ["rule.throttled", "a rule has spent its budget of matches"],
  ["job.stale", "a job is silent"],
  ["discovery.failing", "a job cannot read its rules"],
  ["approval.asked", "a proposal is waiting for approval"],
];

/** @param {{onMade: () => void, onClose: () => void}} properties */
export function NewWebhook({ onMade, onClose }) {
  const [made, setMade] = useState(null);
  const done = (webhook) => {
    setMade(webhook);
    onMade();
  };
  return made
    ? html`<${WebhookSecret} webhook=${made} onClose=${onClose} />`
    : html`<${Dialog} key="making" title="New webhook" onClose=${onClose}><${Form} onDone=${done} onClose=${onClose} /><//>`;
}

/** Shows a secret. @param {{webhook: object, onClose: () => void}} properties */
export function WebhookSecret({ webhook, onClose }) {
  return html`<${Secret} title=${apart`The secret of ${webhook.name}`} text=${webhook.secret} label="The secret" onClose=${onClose}>
    Copy it now and give it to the receiver, which verifies signatures with it. It cannot be shown again.
  <//>`;
}

function Form({ onDone, onClose }) {
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const names = (streams.value ?? []).map((each) => each.name);
  const [stream, setStream] = useState(confinedTo() ? (names[0] ?? "") : "");
  const [events, setEvents] = useState(EVENTS.map(([event]) => event));
  const { submit, busy, problem } = useSubmit(async () =>
    onDone(await send("POST", "/v1/webhooks", { name: name.trim(), url: url.trim(), events, stream: stream || null })),
  );
  const turn = (event) => setEvents(events.includes(event) ? events.filter((each) => each !== event) : [...events, event]);
  const choices = [...(confinedTo() ? [] : [["", "all streams"]]), ...names.map((name) => [name, name])];
  return html`<form class="stack" onSubmit=${submit}>
    <${TextField} label="Name" required maxlength="100" autocomplete="off" value=${name} onInput=${setName} />
    <${TextField} label="Address" hint="The address of the receiver, starting with https" required maxlength="2000" autocomplete="off" value=${url} onInput=${setUrl} />
    <fieldset class="choices">
      <legend>Notify when</legend>
      ${EVENTS.map(
        ([event, words]) => html`<label key=${event} class="row">
          <input type="checkbox" checked=${events.includes(event)} onChange=${() => turn(event)} /> ${words}
        </label>`,
      )}
    </fieldset>
    <${SelectField} label="Stream" options=${choices} value=${stream} onChange=${setStream} />
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <footer class="row">
      <${Button} kind="plain" onClick=${onClose}>Cancel<//>
      <${Button} kind="primary" type="submit" busy=${busy} disabled=${!events.length}>Create webhook<//>
    </footer>
  </form>`;
}
