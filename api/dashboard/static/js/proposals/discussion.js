// What is said about a proposal, oldest first, and the field for more.
import { html } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { path } from "../router.js";
import { can } from "../session.js";
import { Card } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { NewRemark, Remarks } from "../ui/remarks.js";

const SECONDS = 10;
const MOST = 200; // so many may a proposal have

/** @param {{proposal: object}} properties */
export function Discussion({ proposal }) {
  const source = path`/v1/proposals/${proposal.id}` + "/comments";
  const { data, problem, refresh } = usePolled(source, { limit: MOST }, SECONDS);
  const comments = data?.items ?? [];
  return html`<${Card} title="Comments">
    <div class="notes">
      ${problem && html`<${ProblemBox} problem=${problem} />`}
      ${data && !comments.length && html`<p class="muted">No comments yet.</p>`}
      <${Remarks} label="Comments" remarks=${comments} />
      ${can("author") && html`<${NewRemark} label="Comment" source=${source} onAdded=${refresh} />`}
    </div>
  <//>`;
}
