// What a trial found: matches, and how near the others came and what ended them.
import { html } from "../../vendor/preact.js";
import { localTime, plural } from "../format.js";
import { OutputLine, shownKey } from "../matches/output.js";
import { Timeline } from "../matches/timeline.js";
import { State } from "../ui/state.js";

const MOST_SHOWN = 20;

/**
 * @param {object} properties
 *   report: what the service found. events: those it was tried on. column: that of the event time.
 */
export function Findings({ report, events, column }) {
  const { near, other } = apart(report);
  const timed = events.map((event, position) => ({ ...event, [column]: report.times[position] }));
  const shared = { events: timed, column };
  return html`<div class="findings">
    <p role="status" class="findings-summary">
      <strong>${plural(report.matches.length, "match", "matches")}</strong>, ${plural(near.length, "near miss", "near misses")}
      ${" "}in ${plural(events.length, "event")}
    </p>
    ${report.unknown_fields.length > 0 &&
    html`<p class="mistake">
      Not a column of the stream: ${report.unknown_fields.map((name) => html`<code key=${name}>${name}</code> `)}
    </p>`}
    ${report.matches.length === 0 && near.length === 0 && html`<${Nothing} report=${report} />`}
    ${report.matches.slice(0, MOST_SHOWN).map((match, index) => html`<${Found} key=${index} match=${match} ...${shared} />`)}
    ${report.matches.length > MOST_SHOWN &&
    html`<p class="muted">and ${plural(report.matches.length - MOST_SHOWN, "more match", "more matches")}</p>`}
    ${near.length > 0 && html`<h3>Near misses</h3>`}
    ${near.slice(0, MOST_SHOWN).map((partial, index) => html`<${NearMiss} key=${index} partial=${partial} ...${shared} />`)}
    ${other.length > 0 &&
    html`<details>
      <summary>${plural(other.length, "more partial match", "more partial matches")} on the same events</summary>
      ${other.slice(0, MOST_SHOWN).map((partial, index) => html`<${NearMiss} key=${index} partial=${partial} ...${shared} />`)}
    </details>`}
    ${report.left_out > 0 && html`<p class="muted">${plural(report.left_out, "more")} are not listed.</p>`}
  </div>`;
}

function Nothing({ report }) {
  return html`<div class="findings-nothing">
    <p>No event started a match. Events that meet each step’s own condition:</p>
    <ul>
      ${Object.entries(report.fits).map(
        ([step, positions]) => html`<li key=${step}><strong>${step}</strong>: ${plural(positions.length, "event")}</li>`,
      )}
    </ul>
  </div>`;
}

function Found({ match, events, column }) {
  const key = shownKey(match.key);
  const drawn = { kind: "match", start: match.start, end: match.at, events: eventsByStep(match.steps, events) };
  return html`<article class="finding">
    <header>
      <${State} of="match" name="match" />
      ${key && html`<span class="mono">${key}</span>`} <span class="secondary">${counted(match.steps)}</span>
    </header>
    <${Timeline} match=${drawn} column=${column} />
    ${match.output && html`<p><${OutputLine} output=${match.output} /></p>`}
  </article>`;
}

function NearMiss({ partial, events, column }) {
  const key = shownKey(partial.key);
  const taken = eventsByStep(partial.steps, events);
  const isTimeout = partial.outcome === "timed_out";
  const last = Object.values(taken).flat().map((event) => event[column]).sort().at(-1);
  const drawn = { kind: "timeout", start: partial.start, end: isTimeout ? partial.ended_at : last, events: taken };
  return html`<article class="finding">
    <header>
      <${State} of="near_miss" name=${partial.outcome} />
      ${key && html`<span class="mono">${key}</span>`} <span class="secondary">${counted(partial.steps)}</span>
    </header>
    <p><${Reason} partial=${partial} /></p>
    ${partial.ended_by !== null &&
    html`<p class="culprit">
      <span class="muted">event ${partial.ended_by + 1}</span> <${OutputLine} output=${events[partial.ended_by]} />
    </p>`}
    <${Timeline} match=${drawn} column=${column} />
  </article>`;
}

function Reason({ partial }) {
  const awaited = names(partial.awaited, "or");
  const wanted = partial.awaited.length ? html`waiting for ${awaited}` : html`waiting for its window to close`;
  switch (partial.outcome) {
    case "timed_out":
      return html`The window closed at ${localTime(partial.ended_at)}, still ${wanted}.`;
    case "forbidden":
      return html`A forbidden event arrived while it was ${wanted}: ${names(partial.forbidden, "or")}.`;
    case "broken":
      return html`This event arrived while it was ${wanted}, and nothing is allowed in between.`;
    case "skipped":
      return html`Dropped after a match by <code>after_match_skip</code>.`;
    default:
      return html`Still ${wanted}.`;
  }
}

function names(steps, word) {
  return steps.map((step, index) => html`${index > 0 && ` ${word} `}<strong>${step}</strong>`);
}

function counted(steps) {
  return Object.entries(steps)
    .map(([name, positions]) => (positions.length > 1 ? `${name} × ${positions.length}` : name))
    .join(", ");
}

function eventsByStep(steps, events) {
  return Object.fromEntries(Object.entries(steps).map(([name, positions]) => [name, positions.map((each) => events[each])]));
}

// A partial match on events that a match, or one that came farther, has as well, teaches little.
function apart(report) {
  const seen = report.matches.map((match) => positionsOf(match));
  const near = [];
  const other = [];
  for (const partial of report.partial_matches) {
    const positions = positionsOf(partial);
    const isKnown = seen.some((known) => positions.every((position) => known.includes(position)));
    (isKnown ? other : near).push(partial);
    if (!isKnown) seen.push(positions);
  }
  return { near, other };
}

function positionsOf({ steps }) {
  return Object.values(steps).flat();
}
