// On the page of a rule or a list: the proposals about it that are open.
import { html } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { plural } from "../format.js";
import { Link, path } from "../router.js";
import { approvalsInWords, kindInWords } from "./words.js";

const SECONDS = 15;
const SHOWN = 3;

/** @param {{about: object}} properties which ones: `{processor}`, or `{stream, list}` */
export function ProposalsAbout({ about }) {
  const { data } = usePolled("/v1/proposals", { ...about, state: "open", limit: SHOWN + 1 }, SECONDS);
  if (!data?.items.length) return null;
  const shown = data.items.slice(0, SHOWN);
  const count = data.items.length > SHOWN ? `More than ${SHOWN} proposals` : plural(shown.length, "proposal");
  return html`<div class="alarms stack"><section class="alarm info" aria-label="Proposals">
    <p><strong>${count} ${shown.length > 1 ? "are" : "is"} open.</strong></p>
    <ul class="in-text">
      ${shown.map(
        (each) => html`<li key=${each.id}>
          <${Link} href=${path`/proposals/${each.id}`}>Proposal ${each.id}<//>: ${kindInWords(each)}, by <bdi>${each.author}</bdi>${each.is_stale
            ? ", outdated"
            : `, ${approvalsInWords(each)} approvals`}
        </li>`,
      )}
    </ul>
    ${data.items.length > SHOWN && html`<p><${Link} href="/proposals" query=${{ ...about, state: "open" }}>All proposals<//></p>`}
  </section></div>`;
}
