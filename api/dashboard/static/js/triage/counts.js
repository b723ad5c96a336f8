// What people made of the matches of a rule: its counts by status, its rate of false positives, its labels.
import { html } from "../../vendor/preact.js";
import { usePolled, withQuery } from "../api.js";
import { count } from "../format.js";
import { Link, path } from "../router.js";
import { Card, Figure } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { STATUSES, rateInWords, rateText } from "./status.js";

const SECONDS = 10;
const NONE = { open: 0, acknowledged: 0, false_positive: 0, resolved: 0, false_positive_rate: null };

/** @param {{rule: object}} properties */
export function TriageCard({ rule }) {
  const source = path`/v1/streams/${rule.stream}/triage`;
  const { data, problem } = usePolled(source, { processor: rule.id }, SECONDS);
  if (problem && !data) return html`<${Card} title="Triage"><${ProblemBox} problem=${problem} /><//>`;
  if (!data) return null;
  const counts = data.items[0] ?? NONE;
  const labels = withQuery(`${source}/labels`, { processor: rule.id });
  const actions = html`<a href=${labels} download title="Every reviewed match with its status">Labels (CSV)</a>`;
  return html`<${Card} title="Triage" actions=${actions} padded=${false}>
    <div class="figures triage-figures">
      <${Figure} name="False positives" value=${rateText(counts)} note=${rateInWords(counts)} />
      ${STATUSES.map(
        ([status, word]) => html`<${Figure}
          key=${status}
          name=${word}
          value=${html`<${Link} href=${path`/streams/${rule.stream}/matches`} query=${{ processor: rule.id, status }}>
            ${count(counts[status])}
          <//>`}
        />`,
      )}
    </div>
  <//>`;
}
