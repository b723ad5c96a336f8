// A rule is written or changed: text on one side; its drawing, what is wrong, and a try-out on the other.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { get, send, usePolled } from "../api.js";
import { Link, path, route } from "../router.js";
import { can } from "../session.js";
import { isReady, useCheck } from "../editor/check.js";
import { CodeEditor } from "../editor/code_editor.js";
import { Conflict } from "../editor/conflict.js";
import { forgetDraft, keptDraft, useKept } from "../editor/kept.js";
import { ProblemList } from "../editor/problems.js";
import { Publish } from "../editor/publish.js";
import { TryOut } from "../editor/trial.js";
import { clauseWords } from "../editor/clause_words.js";
import { firstDraft, wordsFor } from "../editor/vocabulary.js";
import { PatternGraph } from "../pattern/graph.js";
import { readPattern, stepsOf } from "../pattern/model.js";
import { PatternText } from "../pattern/text.js";
import { clauseOf, useDrawing } from "../pattern/use_drawing.js";
import { textOf } from "../rule/as_written.js";
import { Button, ButtonLink } from "../ui/button.js";
import { Empty } from "../ui/empty.js";
import { Card, Loading, PageHeader } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { Segments } from "../ui/tabs.js";
import { toastProblem } from "../ui/toast.js";

const LOOK_SECONDS = 15;

export default function EditorPage({ params }) {
  const { stream, id } = params;
  const name = id ?? `new in ${stream}`;
  const [loaded, setLoaded] = useState(null);
  const [failure, setFailure] = useState(null);
  useEffect(() => {
    if (!can("author")) return;
    load(name, stream, id, route.value.query.copy).then(setLoaded, setFailure);
  }, []);
  const title = id ? `Edit ${id}` : "New rule";
  if (!can("author")) {
    return html`<${Title} stream=${stream} id=${id} title=${title} />
      <${Empty} title="Your role is read-only"><p>An author or publisher may write rules. Ask an admin.</p><//>`;
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

  const { stream, rule } = loaded;
  const newest = usePolled(rule && path`/v1/processors/${rule.id}`, null, LOOK_SECONDS);
  const theirs = newest.data ?? rule;
  const isBehind = base && theirs.revision !== base.revision;
  const pattern = check.document?.pattern;
  const ready = isReady(check, draft.text);
  const problems = check.checked === draft.text ? check.problems : [];
  const wrong = problems.filter((each) => each.severity === "error").map((each) => each.pointer);
  const canRun = check.checked === draft.text && check.isReadable && !wrong.some(isOfRule);
  const steps = stepsOf(readPattern(pattern).elements).map((step) => step.name);
  const clause = useDrawing(clauseOf(pattern));
  const replace = (replaced) => {
    setDraft(replaced);
    setReplacement(replaced);
  };
  const changeFormat = async (format) => {
    try {
      const { text } = await send("POST", "/v1/drafts/text", { document: check.document, format });
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
        <${ButtonLink} href=${rule ? path`/streams/${stream.name}/rules/${rule.id}` : path`/streams/${stream.name}/rules`}>Cancel<//>
        <${Button} kind="primary" disabled=${!ready} onClick=${() => setPublishing(true)}>${can("publisher") ? "Publish…" : "Save…"}<//>
      `}
    />
    ${isBehind &&
    html`<${Conflict}
      base=${base}
      theirs=${theirs}
      draft=${draft}
      onTake=${(text, theirText) => take(text, draft.format, theirText)}
    />`}
    <div class="editor">
      <section class="card editor-text" aria-label="The rule as text">
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
            words=${wordsFor(stream, steps)}
            clauseWords=${clauseWords(stream, clause)}
            jump=${jump}
          />
        </div>
        ${check.problem && html`<${ProblemBox} problem=${check.problem} />`}
        <${ProblemList} problems=${problems} isChecked=${check.checked === draft.text} onJump=${(problem) => setJump({ ...problem })} />
      </section>
      <div class="editor-side stack">
        <${Card} title="What it finds">
          <${PatternGraph} pattern=${pattern} wrong=${wrong} notes=${notesOf(report)} />
          <div class="rule-words"><${PatternText} pattern=${pattern} /></div>
        <//>
        <${TryOut} stream=${stream} draft=${draft} document=${check.document} isReady=${canRun} onReport=${setReport} />
        <${Columns} stream=${stream} />
      </div>
    </div>
    ${isPublishing &&
    html`<${Publish}
      document=${check.document}
      rule=${base}
      onConflict=${newest.refresh}
      onDone=${() => forgetDraft(name)}
      onClose=${() => setPublishing(false)}
    />`}
  `;
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
  const note = (positions) => (positions.length === 1 ? "1 event fits" : `${positions.length} events fit`);
  return Object.fromEntries(entries.map(([step, positions]) => [step, note(positions)]));
}
