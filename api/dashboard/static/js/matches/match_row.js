// One match in the list: a line that opens to its timeline.
import { html } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { Time, duration, millis, plural } from "../format.js";
import { Link, path } from "../router.js";
import { TriagePanel } from "../triage/panel.js";
import { Status } from "../triage/status.js";
import { Icon } from "../ui/icon.js";
import { ProblemBox } from "../ui/problem.js";
import { State } from "../ui/state.js";
import { OutputFacts, OutputLine, keyText, shownKey } from "./output.js";
import { GroupFacts, StandsForNote } from "./stands_for.js";
import { Timeline } from "./timeline.js";

/**
 * @param {{match: object, column: string, isFresh: boolean, isOpen: boolean, onOpen: (isOpen: boolean) => void, tick?: any, onChange: (triage: object) => void}} properties
 *   column: that of the event time. tick: a check box in front. onChange: told of a change of its triage.
 */
export function MatchRow({ match, column, isFresh, isOpen, onOpen, tick, onChange }) {
  const { stream, processor_id: rule } = match;
  const page = path`/streams/${stream}/matches/${match.match_id}`;
  return html`<li class=${`found ${isFresh ? "fresh" : ""}`} data-match=${match.match_id}>
    <div class="found-line">
      <span class="found-pick">${tick}<button
        type="button"
        class="opener"
        aria-expanded=${isOpen ? "true" : "false"}
        aria-label=${`Events of the ${match.kind} of ${rule}, key ${shownKey(match.key) || "none"}`}
        onClick=${() => onOpen(!isOpen)}
      >
        <${Icon} name=${isOpen ? "down" : "right"} />
      </button></span>
      <${Link} class="found-time" href=${page}><${Time} at=${match.end} /><//>
      <span class="found-kind"><${State} of="match" name=${match.kind} /></span>
      <span class="found-status"><${Status} triage=${match.triage} /></span>
      <span class="found-rule">
        <${Link} class="name" title=${rule} href=${path`/streams/${stream}/rules/${rule}`}>${rule}<//>
        <span class="muted number nowrap">v${match.version} · epoch ${match.epoch}</span>
      </span>
      <bdi class="found-key" title=${`Key: ${shownKey(match.key)}`}>${shownKey(match.key) || html`<span class="muted">global key</span>`}</bdi>
      <span class="found-output"><${StandsForNote} match=${match} /><${OutputLine} output=${match.output} /></span>
      <span class="found-events muted number nowrap">
        ${plural(match.event_count, "event")} · ${duration(millis(match.end) - millis(match.start))}
      </span>
    </div>
    ${isOpen && html`<${Opened} match=${match} page=${page} column=${column} onChange=${onChange} />`}
  </li>`;
}

function Opened({ match, page, column, onChange }) {
  const { stream, processor_id: processor } = match;
  const { data, problem } = usePolled(path`/v1/streams/${stream}/matches/${match.match_id}`, {}, null);
  const list = path`/streams/${stream}/matches`;
  const key = keyText(match.key);
  return html`<div class="found-opened">
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    ${data && html`<${Timeline} match=${data} column=${column} />`}
    ${match.output !== null && html`<${OutputFacts} output=${match.output} />`}
    ${match.group_id && html`<dl class="facts"><${GroupFacts} match=${match} /></dl>`}
    <${TriagePanel} match=${match} onChange=${onChange} />
    <p class="row">
      <${Link} href=${page}>All event fields<//>
      <${Link} href=${list} query=${{ processor }}>All matches of this rule<//>
      <${Link} href=${list} query=${{ processor, version: match.version }}>All matches of version ${match.version}<//>
      ${key && html`<${Link} href=${list} query=${{ key }}>All matches for this key<//>`}
    </p>
  </div>`;
}
