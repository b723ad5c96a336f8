// What a proposal would change, and what the check said about it.
import { html } from "../../vendor/preact.js";
import { useRead } from "../api.js";
import { plural } from "../format.js";
import { Link, path } from "../router.js";
import { readableTextOf } from "../rule/as_written.js";
import { Meaning, TextDiff } from "../rule/diff.js";
import { CodeBlock } from "../ui/code.js";
import { Card, Loading } from "../ui/page.js";
import { FlawItem, ProblemBox } from "../ui/problem.js";

/** @param {{proposal: object}} properties a whole proposal */
export function ChangesCard({ proposal }) {
  return html`<${Card} title="What changes">
    <div class="stack">
      <p class="secondary in-text"><${InWords} proposal=${proposal} /></p>
      ${proposal.content && html`<${Contents} key=${proposal.revision} proposal=${proposal} />`}
    </div>
  <//>`;
}

function InWords({ proposal }) {
  const { kind, base_version: base, versions } = proposal;
  const rule = path`/streams/${proposal.stream}/rules/${proposal.processor_id}`;
  const compared = base && html` Compared with version ${base}${proposal.state === "open" && kind === "resume" ? ", which ran last" : ""}.`;
  if (kind === "delete") return html`Jobs stop the rule. Its versions are kept.`;
  if (kind === "cancel") return html`Version ${versions.join(", ")} will not take over; see the <${Link} href=${`${rule}?tab=versions`}>versions<//>.`;
  if (kind === "resume") {
    const which = `${versions.length > 1 ? "Versions" : "Version"} ${versions.join(", ")}`;
    return html`${which} would run again, from now on.${compared}`;
  }
  if (!base) return html`The rule is new and has not run yet.`;
  return compared;
}

function Contents({ proposal }) {
  const { data: texts, problem } = useRead(() => contents(proposal), []);
  if (problem) return html`<${ProblemBox} problem=${problem} />`;
  if (!texts) return html`<${Loading} what="the change" />`;
  const [before, after] = texts;
  if (before === null) return html`<${CodeBlock} text=${after} label="The rule" />`;
  return html`<div class="version-diff">
    <${Meaning} differences=${proposal.differences} />
    ${before !== after && html`<${TextDiff} before=${before} after=${after} />`}
  </div>`;
}

async function contents({ base_content: base, content }) {
  return Promise.all([base === null ? null : readableTextOf(base), readableTextOf(content)]);
}

/** @param {{proposal: object}} properties a whole proposal that has a document */
export function CheckCard({ proposal }) {
  const { warnings, example_count: examples } = proposal;
  return html`<${Card} title="Check">
    <div class="stack">
      <p>
        Valid for this stream.${" "}
        ${examples ? `${plural(examples, "example")}, all passing.` : "No examples."}
      </p>
      ${warnings.length > 0 &&
      html`<ul class="proposal-warnings">
        ${warnings.map((flaw) => html`<${FlawItem} key=${flaw.pointer + flaw.detail} flaw=${flaw} />`)}
      </ul>`}
    </div>
  <//>`;
}
