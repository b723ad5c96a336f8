// A rule is written or changed: text on one side; its drawing, what is wrong, and a try-out on the other.
import { html, useMemo, useState } from "../../vendor/preact.js";
import { ask, get, usePolled, useRead } from "../api.js";
import { DraftBacktest } from "../backtests/draft.js";
import { Link, path, route } from "../router.js";
import { can } from "../session.js";
import { checked, isReady, useCheck } from "../editor/check.js";
import { CodeEditor } from "../editor/code_editor.js";
import { Conflict } from "../editor/conflict.js";
import { forgetDraft, keptDraft, useKept } from "../editor/kept.js";
import { ProblemList } from "../editor/problems.js";
import { Publish } from "../editor/publish.js";
import { TryOut } from "../editor/trial.js";
import { clauseWords } from "../editor/clause_words.js";
import { readRuleSchema } from "../editor/rule_schema.js";
import { firstDraft } from "../editor/vocabulary.js";
import { PatternGraph } from "../pattern/graph.js";
import { readPattern, stepsOf } from "../pattern/model.js";
import { PatternText } from "../pattern/text.js";
import { clauseOf, useDrawing } from "../pattern/use_drawing.js";
import { useOutdated } from "../proposals/use_outdated.js";
import { textOf } from "../rule/as_written.js";
import { Button, ButtonLink } from "../ui/button.js";
import { Empty } from "../ui/empty.js";
import { Card, Loading, PageHeader } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { Segments } from "../ui/tabs.js";
import { toast, toastProblem } from "../ui/toast.js";

const LOOK_SECONDS = 15;

// Another copy or proposal is another draft, though the path is the same.
export default function EditorPage({ params }) {
  const { copy, proposal } = route.value.query;
  return html`<${Loaded} key=${`${copy} ${proposal}`} ...${params} copy=${copy} number=${proposal} />`;
}

function Loaded({ stream, id, copy, number }) {
  const name = number ? `proposal ${number}` : (id ?? `new in ${stream}`);
  const mayWrite = can("author");
  const read = async () => (!mayWrite ? null : number ? loadProposal(name, stream, number) : load(name, stream, id, copy));
  const { data: loaded, problem: failure } = useRead(read, []);
  const title = number ? `Edit proposal ${number}` : id ? `Edit ${id}` : "New rule";
  if (!mayWrite) {
    return html`<${Title} stream=${stream} id=${id} title=${title} />
      <${Empty} title="Your role is read-only"><p>Authors and publishers can write rules. Ask an admin for access.</p><//>`;
  }
  if (failure) return html`<${Title} stream=${stream} id=${id} title=${title} /><${ProblemBox} problem=${failure} />`;
  if (!loaded) return html`<${Title} stream=${stream} id=${id} title=${title} /><${Loading} what="the rule" />`;
  return html`<${Editor} name=${name} title=${title} loaded=${loaded} />`;
}

function Editor({ name, title, loaded }) {
  const [draft, setDraft] = useState(() => loaded.kept ?? { text: loaded.text, format: "yaml" });
  const [base, setBase] = useState(loaded.base);
  const [replacement, setReplacement] = useState(null);
  const [jump, setJump] = useState(null);
  const [isPublishing, setPublishing] = useState(false);
  const [report, setReport] = useState(null);
  const check = useCheck(draft.text, draft.format);
  const [unchanged, setUnchanged] = useState({ yaml: loaded.text });
  const isChanged = draft.text !== unchanged[draft.format];
  useKept(name, { ...draft, revision: base?.revision, version: base?.version }, isChanged);

  const { stream, rule, proposal } = loaded;
  const newest = usePolled(rule && path`/v1/processors/${rule.id}`, null, LOOK_SECONDS);
  const theirs = newest.data ?? rule;
  const isBehind = base && theirs.revision !== base.revision;
  const [outdated, settle] = useOutdated(proposal, LOOK_SECONDS);
  const pattern = check.document?.pattern;
  const ready = isReady(check, draft.text);
  const problems = check.checked === draft.text ? check.problems : [];
  const wrong = problems.filter((each) => each.severity === "error").map((each) => each.pointer);
  const isRead = check.checked === draft.text && check.isReadable;
  const canRun = isRead && !wrong.some(isOfRule);
  const steps = stepsOf(readPattern(pattern).elements).map((step) => step.name);
  const clause = useDrawing(clauseOf(pattern));
  const parameters = { ...pattern?.parameters, ...check.document?.parameters };
  const { data: schema } = useRead(readRuleSchema, []);
  const notes = useMemo(() => notesOf(report), [report]);
  const replace = (replaced) => {
    setDraft(replaced);
    setReplacement(replaced);
  };
  const changeFormat = async (format) => {
    if (format === draft.format) return;
    try {
      const document = isRead ? check.document : (await checked(draft.text, draft.format)).document;
      if (!document) {
        toast("The text cannot be read as it stands. Correct its errors, then change the format.", { bad: true });
        return;
      }
      const { text } = await ask("/v1/drafts/text", { document, format });
      if (!isChanged) setUnchanged({ ...unchanged, [format]: text });
      replace({ text, format });
    } catch (problem) {
      toastProblem(problem);
    }
  };
  const take = (text, format, theirText) => {
    setBase(theirs);
    setUnchanged({ [format]: theirText });
    if (text !== draft.text || format !== draft.format) replace({ text, format });
  };
  const discard = async () => {
    try {
      const text = theirs ? await textOf(theirs.document, "yaml") : loaded.text;
      take(text, "yaml", text);
    } catch (problem) {
      toastProblem(problem);
    }
  };
  return html`
    <${Title}
      stream=${stream.name}
      id=${rule?.id}
      title=${title}
      actions=${html`
        ${isChanged && html`<${Button} kind="plain" onClick=${discard}>Discard changes<//>`}
        <${ButtonLink} href=${cancelPath(stream, rule, proposal)}>Cancel<//>
        <${Button} kind="primary" disabled=${!ready} onClick=${() => setPublishing(true)}>${verbFor(stream, base, proposal)}<//>
      `}
    />
    ${isBehind &&
    html`<${Conflict}
      base=${base}
      theirs=${theirs}
      draft=${draft}
      onTake=${(text, theirText) => take(text, draft.format, theirText)}
    />`}
    ${outdated &&
    html`<${Conflict}
      base=${outdated.base}
      theirs=${outdated.theirs}
      draft=${draft}
      onTake=${(text) => {
        settle();
        if (text !== draft.text) replace({ text, format: draft.format });
      }}
    />`}
    <div class="editor">
      <section class="card editor-text" aria-label="Rule text">
        <header>
          <${ProblemSummary} check=${check} draft=${draft} />
          <${Segments} label="Format" options=${[["yaml", "YAML"], ["json", "JSON"]]} value=${draft.format} onChange=${changeFormat} />
        </header>
        <div class="editor-code">
          <${CodeEditor}
            initial=${draft.text}
            replacement=${replacement}
            onChange=${(text) => setDraft((before) => ({ ...before, text }))}
            format=${draft.format}
            label="The rule"
            problems=${problems}
            offers=${{ schema, stream, steps, parameters, clauseWords: clauseWords(stream, clause) }}
            jump=${jump}
          />
        </div>
        ${check.problem && html`<${ProblemBox} problem=${check.problem} />`}
        <${ProblemList} problems=${problems} isChecked=${check.checked === draft.text} onJump=${(problem) => setJump({ ...problem })} />
      </section>
      <div class="editor-side stack">
        <${Card} title="What it finds">
          <${PatternGraph} pattern=${pattern} wrong=${wrong} notes=${notes} />
          <div class="rule-words"><${PatternText} pattern=${pattern} /></div>
        <//>
        <${TryOut} stream=${stream} draft=${draft} document=${check.document} id=${base?.id} isReady=${canRun} onReport=${setReport} />
        <${DraftBacktest} stream=${stream} document=${check.document} rule=${theirs} isReady=${ready} />
        <${Columns} stream=${stream} />
      </div>
    </div>
    ${isPublishing &&
    html`<${Publish}
      document=${check.document}
      rule=${base}
      proposal=${proposal}
      onConflict=${newest.refresh}
      onDone=${() => forgetDraft(name)}
      onClose=${() => setPublishing(false)}
    />`}
  `;
}

function cancelPath(stream, rule, proposal) {
  if (proposal) return path`/proposals/${proposal.id}`;
  return rule ? path`/streams/${stream.name}/rules/${rule.id}` : path`/streams/${stream.name}/rules`;
}

function verbFor(stream, rule, proposal) {
  if (proposal || !can("publisher")) return "Save…";
  return stream.required_approvals > 0 && rule?.state !== "paused" ? "Propose…" : "Publish…";
}

function ProblemSummary({ check, draft }) {
  const isJson = draft.format === "json";
  return html`<h2>
    Rule ${isJson && html`<span class="secondary">as JSON</span> `}
    ${check.document?.id && html`<code>${String(check.document.id)}</code>`}
  </h2>`;
}

function Columns({ stream }) {
  return html`<details class="card columns">
    <summary>Columns of ${stream.name}</summary>
    <p><code>${stream.schema}</code></p>
    <p class="secondary">The event time is <code>${stream.event_time_column}</code>.</p>
  </details>`;
}

function Title({ stream, id, title, actions }) {
  const rules = path`/streams/${stream}/rules`;
  return html`<${PageHeader}
    title=${title}
    above=${html`<${Link} href=${rules}>Rules of ${stream}<//>
      ${id && html` › <${Link} href=${path`/streams/${stream}/rules/${id}`}>${id}<//>`}`}
    actions=${actions}
  />`;
}

// A proposal is edited as it was sent; what it is compared with is the service's to say.
async function loadProposal(draftName, name, number) {
  const [stream, proposal] = await Promise.all([get(path`/v1/streams/${name}`), get(path`/v1/proposals/${number}`)]);
  if (!proposal.document) throw new Error(`Proposal ${number} cannot be edited.`);
  const text = await textOf(proposal.document, "yaml");
  return { stream, proposal, rule: null, base: null, kept: keptDraft(draftName), text };
}

async function load(draftName, name, id, copied) {
  const stream = await get(path`/v1/streams/${name}`);
  const kept = keptDraft(draftName);
  const source = id ?? copied;
  if (!source) return { stream, rule: null, base: null, kept, text: firstDraft(stream) };
  const rule = await get(path`/v1/processors/${source}`);
  const { effective_from: _from, effective_until: _until, ...content } = rule.document;
  const text = await textOf(id ? rule.document : { ...content, id: `${source}-copy` }, "yaml");
  if (!id) return { stream, rule: null, base: null, kept, text };
  return { stream, rule, base: await baseOf(rule, kept), kept, text };
}

// What a draft kept from before began with: the rule may have been changed since.
async function baseOf(rule, kept) {
  if (!kept || kept.revision === rule.revision || !kept.version) return rule;
  const { document } = await get(path`/v1/processors/${rule.id}/versions/${kept.version}`);
  return { ...rule, revision: kept.revision, version: kept.version, document };
}

function isOfRule(pointer) {
  return pointer === "" || ["/pattern", "/key_by", "/select", "/stream"].some((each) => pointer.startsWith(each));
}

function notesOf(report) {
  if (!report) return {};
  const entries = Object.entries(report.fits);
  const note = (positions) => (positions.length === 1 ? "1 event matches" : `${positions.length} events match`);
  return Object.fromEntries(entries.map(([step, positions]) => [step, note(positions)]));
}
