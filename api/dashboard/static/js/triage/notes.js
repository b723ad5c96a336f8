// The notes on a match, newest first, and the field for another one.
import { html, useState } from "../../vendor/preact.js";
import { send, usePolled } from "../api.js";
import { Time } from "../format.js";
import { path } from "../router.js";
import { can } from "../session.js";
import { Button } from "../ui/button.js";
import { TextField } from "../ui/field.js";
import { ProblemBox } from "../ui/problem.js";

const SECONDS = 10;
const MOST = 200; // so many may a match have
const LONGEST = 4_000;

/** @param {{match: object, onAdded?: () => void}} properties */
export function Notes({ match, onAdded }) {
  const source = path`/v1/streams/${match.stream}/matches/${match.match_id}/notes`;
  const { data, problem, refresh } = usePolled(source, { limit: MOST }, SECONDS);
  const notes = data?.items ?? [];
  const added = async () => {
    await refresh();
    onAdded?.();
  };
  return html`<div class="notes">
    ${can("author") && html`<${NewNote} source=${source} onAdded=${added} />`}
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    ${data && !notes.length && html`<p class="muted">No notes yet.</p>`}
    <ol aria-label="Notes">
      ${notes.map(
        (note) => html`<li key=${note.number} class="note">
          <p class="note-head">
            <strong title=${`token ${note.author_id}`}>${note.author}</strong> <${Time} at=${note.at} ago />
          </p>
          <p class="note-text">${note.text}</p>
        </li>`,
      )}
    </ol>
  </div>`;
}

function NewNote({ source, onAdded }) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const add = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await send("POST", source, { text });
      setText("");
      await onAdded();
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  return html`<form class="stack new-note" onSubmit=${add}>
    <${TextField} label="Note" multiline rows="2" maxlength=${LONGEST} value=${text} onInput=${setText} />
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <div class="row"><${Button} small type="submit" busy=${busy} disabled=${!text.trim()}>Add note<//></div>
  </form>`;
}
