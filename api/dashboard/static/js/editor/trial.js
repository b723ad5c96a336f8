// Tries a draft on events: pasted, made up, or those of a real match.
import { html, useEffect, useMemo, useRef, useState } from "../../vendor/preact.js";
import { ask, get } from "../api.js";
import { path } from "../router.js";
import { Button } from "../ui/button.js";
import { Check } from "../ui/field.js";
import { Card } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { CodeEditor } from "./code_editor.js";
import { readEvents, writeEvents } from "./event_text.js";
import { Findings } from "./findings.js";

const REST_MS = 400;

/**
 * @param {object} properties
 *   stream: as the service shows it. draft: {text, format}. document: what the draft says.
 *   id: the rule that is edited, known before the draft has been checked. isReady: whether its rule can run. onReport: told what a trial found, or null.
 */
export function TryOut({ stream, draft, document, id, isReady, onReport }) {
  const [text, setText] = useState("");
  const [replacement, setReplacement] = useState(null);
  const [timePasses, setTimePasses] = useState(true);
  const [making, setMaking] = useState(null);
  const [failure, setFailure] = useState(null);
  const { events, mistake } = useMemo(() => readEvents(text), [text]);
  const trial = useTrial({ draft, events, timePasses, isReady: isReady && !mistake, onReport });

  const fill = async (name, make) => {
    setMaking(name);
    setFailure(null);
    try {
      setReplacement({ text: writeEvents(await make()) });
    } catch (error) {
      setFailure(error);
    } finally {
      setMaking(null);
    }
  };
  const examples = (Array.isArray(document?.examples) ? document.examples : []).filter((each) => Array.isArray(each?.events));
  const sample = async () => (await ask("/v1/drafts/samples", draft)).events;
  return html`<${Card} title="Try it out">
    <div class="try-out">
      <div class="row">
        <${Button} small disabled=${!isReady} busy=${making === "sample"} onClick=${() => fill("sample", sample)}>Create sample events<//>
        <${Button} small busy=${making === "match"} onClick=${() => fill("match", () => eventsOfMatch(stream, document?.id ?? id))}>
          From the newest match
        <//>
        ${examples.length > 0 &&
        html`<${Button} small onClick=${() => fill("examples", async () => examples[0].events)}>From the rule’s example<//>`}
        ${text && html`<${Button} small kind="plain" onClick=${() => setReplacement({ text: "" })}>Clear<//>`}
      </div>
      <div class="event-editor">
        <${CodeEditor}
          initial=""
          onChange=${setText}
          replacement=${replacement}
          format="json"
          label="Events, a JSON list or one JSON object per line"
        />
      </div>
      <p class="hint">A JSON list, or one JSON object per line, at most 2,000. Nothing is stored.</p>
      <${Check} label="Then advance time until all windows close" checked=${timePasses} onChange=${setTimePasses} />
      ${mistake && html`<p class="mistake" role="alert">${mistake}</p>`}
      ${failure && html`<${ProblemBox} problem=${failure} />`}
      ${!isReady && events.length > 0 && html`<p class="muted">Fix the rule first; then it runs on the events.</p>`}
      ${trial.problem && html`<${ProblemBox} problem=${trial.problem} />`}
      ${trial.report && html`<${Findings} report=${trial.report} events=${trial.events} column=${stream.event_time_column} />`}
    </div>
  <//>`;
}

function useTrial({ draft, events, timePasses, isReady, onReport }) {
  const [state, setState] = useState({ report: null, problem: null, events: [] });
  const tell = useRef(onReport);
  tell.current = onReport;
  useEffect(() => {
    if (!events.length) {
      setState({ report: null, problem: null, events: [] });
      tell.current(null);
      return undefined;
    }
    if (!isReady) return undefined;
    const abort = new AbortController();
    const run = async () => {
      const body = { ...draft, events, let_time_pass: timePasses };
      try {
        const report = await ask("/v1/drafts/trial", body, { signal: abort.signal });
        setState({ report, problem: null, events });
        tell.current(report);
      } catch (problem) {
        if (problem.name === "AbortError") return;
        setState({ report: null, problem, events });
        tell.current(null);
      }
    };
    const timer = setTimeout(run, REST_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [draft.text, draft.format, events, timePasses, isReady]);
  return state;
}

/** The events of the newest match of a rule; of any rule of the stream, if it has none. */
async function eventsOfMatch(stream, id) {
  const list = path`/v1/streams/${stream.name}/matches`;
  const asked = typeof id === "string" && id ? [{ processor: id, limit: 1 }, { limit: 1 }] : [{ limit: 1 }];
  for (const query of asked) {
    const [newest] = (await get(list, query)).items;
    if (newest) {
      const { events } = await get(path`/v1/streams/${stream.name}/matches/${newest.match_id}`);
      return Object.values(events).flat().map(withoutNulls);
    }
  }
  throw new Error("No job has reported a match of this stream yet.");
}

// A column that is left out is null as well, and the text stays short.
function withoutNulls(event) {
  return Object.fromEntries(Object.entries(event).filter(([, value]) => value !== null));
}
