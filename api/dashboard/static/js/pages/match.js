// The page "Match": one match with its events, each at its time.
import { html, useState } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { Time, duration, millis, plural } from "../format.js";
import { EventsTable } from "../matches/events_table.js";
import { OutputFacts, keyText, shownKey } from "../matches/output.js";
import { GroupFacts, StandsForNote } from "../matches/stands_for.js";
import { Timeline } from "../matches/timeline.js";
import { Link, path } from "../router.js";
import { TriagePanel } from "../triage/panel.js";
import { Status } from "../triage/status.js";
import { CodeBlock, CopyButton } from "../ui/code.js";
import { Card, Loading, PageHeader } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { State } from "../ui/state.js";

const SECONDS = 10;

/** Shows a match. */
export default function MatchPage({ params }) {
  const { stream, match_id: matchId } = params;
  const { data: match, problem } = usePolled(path`/v1/streams/${stream}/matches/${matchId}`, {}, null);
  const definition = usePolled(path`/v1/streams/${stream}`, {}, null);
  const above = html`<${Link} href=${path`/streams/${stream}/matches`}>Matches<//>`;
  const triage = usePolled(path`/v1/streams/${stream}/matches/${matchId}/triage`, {}, SECONDS);
  if (problem) {
    return html`<${PageHeader} title="Match" above=${above} />
      <${ProblemBox} problem=${problem} />
      <p class="secondary">The outputs of the job have all matches.</p>
      ${problem.status === 404 && triage.data && html`<${Removed} stream=${stream} triage=${triage.data} />`}`;
  }
  if (!match || !definition.data) return html`<${PageHeader} title="Match" above=${above} /><${Loading} what="match" />`;
  const newest = { ...match, triage: triage.data ?? match.triage };
  return html`<${Found} stream=${stream} match=${newest} refresh=${triage.refresh} column=${definition.data.event_time_column} above=${above} />`;
}

/** What was decided about a match that is gone. */
function Removed({ stream, triage }) {
  return html`<${Card} title="Triage decision">
    <dl class="facts">
      <dt>Rule</dt>
      <dd>
        <${Link} href=${path`/streams/${stream}/rules/${triage.processor_id}`}>${triage.processor_id}<//>, version
        ${" "}${triage.version}
      </dd>
      <dt>Key</dt>
      <dd>${shownKey(triage.key) || html`<span class="muted">one global key</span>`}</dd>
      <dt>${triage.kind === "timeout" ? "Timed out" : "Found"}</dt>
      <dd><${Time} at=${triage.end} /></dd>
    </dl>
    <${TriagePanel} match=${{ ...triage, triage }} />
  <//>`;
}

function Found({ stream, match, refresh, column, above }) {
  const [marked, setMarked] = useState(null);
  const rule = match.processor_id;
  const word = match.kind === "timeout" ? "Timeout" : "Match";
  return html`<${PageHeader}
      title=${`${word} of ${rule}`}
      above=${above}
      beside=${html`<${State} of="match" name=${match.kind} /> <${Status} triage=${match.triage} /> <${StandsForNote} match=${match} />`}
      actions=${html`<${CopyButton} text=${JSON.stringify(match, null, 2)} label="Copy as JSON" />`}
    />
    <${Card} title="Triage"><${TriagePanel} match=${match} onChange=${refresh} /><//>
    <${Card} title="Timeline">
      <${Timeline} match=${match} column=${column} marked=${marked} onMark=${setMarked} />
    <//>
    <div class="found-halves">
      <${Card} title="Details"><${Facts} stream=${stream} match=${match} /><//>
      <${Card} title="Output"><${OutputFacts} output=${match.output} /><//>
    </div>
    ${match.event_count > 0 &&
    html`<${Card} title=${plural(match.event_count, "event")} padded=${false}>
      <${EventsTable} match=${match} column=${column} marked=${marked} onMark=${setMarked} />
    <//>
    <details class="card as-json">
      <summary>As JSON</summary>
      <${CodeBlock} text=${JSON.stringify(match.events, null, 2)} label="Events as JSON" />
    </details>`}`;
}

function Facts({ stream, match }) {
  const rule = match.processor_id;
  const list = path`/streams/${stream}/matches`;
  const key = keyText(match.key);
  return html`<dl class="facts">
    <dt>Rule</dt>
    <dd>
      <${Link} href=${path`/streams/${stream}/rules/${rule}`}>${rule}<//>, version ${match.version}, epoch ${match.epoch}
    </dd>
    <dt>Key</dt>
    <dd>
      ${key
        ? html`<bdi>${shownKey(match.key)}</bdi> · <${Link} href=${list} query=${{ key }}>all matches for this key<//>`
        : html`<span class="muted">one global key</span>`}
    </dd>
    <dt>Started</dt>
    <dd><${Time} at=${match.start} /></dd>
    <dt>${match.kind === "timeout" ? "Timed out" : "Found"}</dt>
    <dd><${Time} at=${match.end} />, after ${duration(millis(match.end) - millis(match.start))}</dd>
    <${GroupFacts} match=${match} />
    <dt>Found by</dt>
    <dd><${Link} href=${path`/streams/${stream}/jobs/${match.job}`}>${match.job}<//></dd>
    <dt>Received</dt>
    <dd><${Time} at=${match.received_at} /></dd>
    <dt>Match id</dt>
    <dd><code class="wrap-anywhere">${match.match_id}</code></dd>
  </dl>`;
}
