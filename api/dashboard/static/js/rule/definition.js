// What a rule is: its pattern drawn and told, its key and outputs, and its text.
import { html, useMemo, useState } from "../../vendor/preact.js";
import { usePolled, useRead } from "../api.js";
import { PatternGraph } from "../pattern/graph.js";
import { PatternText } from "../pattern/text.js";
import { clauseOf, useDrawing } from "../pattern/use_drawing.js";
import { Link, path } from "../router.js";
import { CodeBlock } from "../ui/code.js";
import { Card, Loading } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { Segments } from "../ui/tabs.js";
import { Effective } from "./actions.js";
import { FunnelTable, notesOf, stepsOf } from "./funnel.js";
import { holdsCode, readableTextOf, textOf } from "./as_written.js";

const ROWS = { "ONE ROW PER MATCH": "one row per match, with its key" };
const UPDATES = {
  drop: "Partial matches are dropped when a new version takes over.",
  drain: "Partial matches that have started are finished by their own version.",
};

/**
 * The pattern as drawing and as text: of what runs now, else of what is published, else the newest.
 * @param {{rule: object, running: object}} properties
 */
export function PatternCard({ rule, running }) {
  const live = running.jobs.map((each) => each.live_version).find((version) => version !== null);
  const versions = [...new Set([...rule.published.map((each) => each.version), rule.version])];
  const [chosen, setChosen] = useState(null);
  const version = versions.includes(chosen) ? chosen : versions.includes(live) ? live : versions[0];
  const older = usePolled(version === rule.version ? null : path`/v1/processors/${rule.id}/versions/${version}`, {}, 0);
  const funnel = usePolled(path`/v1/processors/${rule.id}/funnel`, {}, 5);
  const counted = useMemo(() => stepsOf(funnel.data, version), [funnel.data, version]);
  const notes = useMemo(() => notesOf(counted), [counted]);
  const document = version === rule.version ? rule.document : older.data?.document;
  const lists = (version === rule.version ? rule : older.data)?.lists ?? [];
  const choice = versions.length > 1 &&
    html`<${Segments}
      label="Version"
      options=${versions.map((each) => [String(each), each === live ? `version ${each}, live` : `version ${each}`])}
      value=${String(version)}
      onChange=${(text) => setChosen(Number(text))}
    />`;
  return html`<${Card} title="Pattern" actions=${choice}>
    ${older.problem && html`<${ProblemBox} problem=${older.problem} />`}
    ${!document && !older.problem && html`<${Loading} />`}
    ${document &&
    html`<${PatternGraph} pattern=${document.pattern} notes=${notes} />
      <${FunnelTable} counted=${counted} problem=${funnel.data ? null : funnel.problem} />
      <div class="rule-words">
        <${PatternText} pattern=${document.pattern} />
        <${Facts} stream=${rule.stream} document=${document} lists=${lists} />
      </div>`}
  <//>`;
}

const length = (time) => (typeof time === "number" ? `${time} ms` : time);

function Facts({ stream, document, lists }) {
  const { key_by: keys, function: code, limits } = document;
  const { suppress, group, budget } = document.alert ?? {};
  const clause = useDrawing(clauseOf(document.pattern));
  const select = clause ? columnsOf(clause) : document.select && Object.entries(document.select);
  return html`<dl class="facts">
    <dt>Key</dt>
    <dd>
      ${keys?.length
        ? html`<code>${keys.join(", ")}</code> <span class="secondary">evaluated separately per key</span>`
        : html`<span class="secondary">none: all events together</span>`}
    </dd>
    <dt>Output</dt>
    <dd>
      ${select &&
      html`<ul class="outputs">
        ${select.map(([name, text]) => html`<li key=${name}><code>${name}</code> = <code>${text}</code></li>`)}
      </ul>`}
      ${code && html`<span>Python: <code>${code.name ?? "signed code"}</code></span>`}
      ${clause && html`<p class="secondary">${ROWS[clause.output] ?? "the rows of each match, with these columns"}</p>`}
      ${!clause && !select && !code && html`<span class="secondary">the events of the match</span>`}
    </dd>
    ${lists.length > 0 &&
    html`<dt>Lists</dt>
      <dd class="row">
        ${lists.map((name) => html`<${Link} key=${name} href=${path`/streams/${stream}/lists/${name}`}><code>${name}</code><//>`)}
      </dd>`}
    <dt>Effective</dt>
    <dd><${Effective} from=${document.effective_from} until=${document.effective_until} /></dd>
    <dt>On update</dt>
    <dd class="secondary">${UPDATES[document.on_update ?? "drop"]}</dd>
    ${suppress &&
    html`<dt>Alerts</dt>
      <dd>at most ${suppress.at_most ?? 1} in ${length(suppress.for)} for each key${suppress.by?.length
        ? html` and <code>${suppress.by.join(", ")}</code>`
        : ""}</dd>`}
    ${group &&
    html`<dt>Grouping</dt>
      <dd>one alert for all matches in each ${length(group.for)}${group.by?.length
        ? html` with the same <code>${group.by.join(", ")}</code>`
        : ""}, whatever their keys: the first is sent for the whole group</dd>`}
    ${budget &&
    html`<dt>Budget</dt>
      <dd>at most ${budget.at_most} matches in each ${length(budget.for)}, of all keys</dd>`}
    ${limits &&
    html`<dt>Limits</dt>
      <dd>${Object.entries(limits).map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`).join(", ")}</dd>`}
  </dl>`;
}

function columnsOf(clause) {
  return clause.measures.length ? clause.measures.map(({ name, expression }) => [name, expression]) : null;
}

/** The whole rule as text, to be read and copied. @param {{document: object}} properties */
export function DefinitionText({ document }) {
  const [format, setFormat] = useState("yaml");
  const hasCode = holdsCode(document);
  const read = () => (hasCode ? readableTextOf(document, format) : textOf(document, format));
  const { data, problem } = useRead(read, [document, format]);
  const choice = html`<${Segments} label="Format" options=${[["yaml", "YAML"], ["json", "JSON"]]} value=${format} onChange=${setFormat} />`;
  return html`<${Card} title="Definition" actions=${choice}>
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    ${!data && !problem && html`<${Loading} />`}
    ${data &&
    html`<${CodeBlock} text=${data} label="Definition" readWhole=${hasCode && (() => textOf(document, format))} />
      ${hasCode && html`<p class="secondary">Python code is shown as source; a copy has all of it.</p>`}`}
  <//>`;
}
