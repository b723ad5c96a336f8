// A proposal whose rule has been changed since: what both began with, the rule as it is now, the proposal, both merged.
import { html } from "../../vendor/preact.js";
import { get, useRead } from "../api.js";
import { ThreeWay, useMerge } from "../editor/three_way.js";
import { path } from "../router.js";
import { readableTextOf } from "../rule/as_written.js";
import { ButtonLink } from "../ui/button.js";
import { Card } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";

/** Whether there is a text to merge: the proposal has a document, and the rule was another one when it was made. */
export function isOutdated({ is_stale: isStale, document, base_content: base }) {
  return Boolean(isStale && document && base);
}

/** The rule as it was when a proposal was made; its labels, which no version has, are those of now. */
export function baseOf({ base_content: content, base_version: version }, rule) {
  const { id, stream, description, owner, tags } = rule.document;
  const labels = Object.fromEntries(Object.entries({ description, owner, tags }).filter(([, value]) => value !== undefined));
  return { version, revision: null, isProposed: true, document: { id, stream, ...labels, ...content } };
}

/** @param {{proposal: object, editPath: string}} properties a whole proposal that isOutdated */
export function OutdatedCard({ proposal, editPath }) {
  const { data: texts, problem } = useRead(() => readTexts(proposal), [proposal.id, proposal.revision]);
  const merge = useMerge(texts);
  if (problem) return html`<${Card} title="Changed since"><${ProblemBox} problem=${problem} /><//>`;
  if (!texts || texts.before === texts.theirs) return null;
  const edit = proposal.is_mine && html`<${ButtonLink} href=${editPath}>Merge in the editor<//>`;
  return html`<${Card} title="Changed since" actions=${edit}>
    <div class="stack changed-since" role="group" aria-label="Changed since">
      <p class="secondary">
        The rule has another text than when this was proposed. Renewed as it is, the proposal takes back what was changed
        meanwhile; merged, it keeps both.
      </p>
      <${ThreeWay} texts=${texts} merge=${merge} mine="Proposed" />
    </div>
  <//>`;
}

async function readTexts(proposal) {
  const rule = await get(path`/v1/processors/${proposal.processor_id}`);
  const documents = [baseOf(proposal, rule).document, proposal.document, rule.document];
  const [before, mine, theirs] = await Promise.all(documents.map((document) => readableTextOf(document)));
  return { before, mine, theirs };
}
