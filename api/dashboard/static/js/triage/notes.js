// The notes on a match, newest first, and the field for another one.
import { html } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { path } from "../router.js";
import { can } from "../session.js";
import { ProblemBox } from "../ui/problem.js";
import { NewRemark, Remarks } from "../ui/remarks.js";

const SECONDS = 10;
const MOST = 200; // so many may a match have

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
    ${can("author") && html`<${NewRemark} label="Note" source=${source} onAdded=${added} />`}
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    ${data && !notes.length && html`<p class="muted">No notes yet.</p>`}
    <${Remarks} label="Notes" remarks=${notes} />
  </div>`;
}
