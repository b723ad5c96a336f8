// The page "Matches": what the rules of a stream find, as they find it.
import { html, useState } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { plural } from "../format.js";
import { FilterBar } from "../matches/filter_bar.js";
import { wantedMatches, withoutFilters } from "../matches/filters.js";
import { MatchRow } from "../matches/match_row.js";
import { keyText } from "../matches/output.js";
import { useMatches } from "../matches/use_matches.js";
import { path, route, setQuery } from "../router.js";
import { can } from "../session.js";
import { MatchSelectionBar, TickAll } from "../triage/selection.js";
import { Button } from "../ui/button.js";
import { Empty } from "../ui/empty.js";
import { Loading, PageHeader } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { useSelection } from "../ui/selection.js";
import { State } from "../ui/state.js";

const STATUS = {
  live: ["running", "live", "New matches appear as they come"],
  reading: ["pending", "every few seconds", "Too many live connections; new matches are loaded every few seconds"],
  lost: ["stale", "not connected", "Connection lost; reconnecting. Nothing is missed"],
  held: ["paused", "held", "New matches wait until you resume"],
  ended: ["stopped", "up to a time", "Until a given time: nothing new can come"],
};

/** Shows the matches of a stream. */
export default function MatchesPage({ params }) {
  const { stream } = params;
  const wanted = wantedMatches(route.value.query);
  const [isHeld, setHeld] = useState(false);
  const definition = usePolled(path`/v1/streams/${stream}`, {}, null);
  const list = useMatches(path`/v1/streams/${stream}/matches`, wanted, isHeld);
  const selection = useSelection();
  const status = wanted.until ? "ended" : isHeld ? "held" : list.status;
  return html`<${PageHeader}
      title="Matches"
      beside=${html`<${Status} status=${status} />`}
      actions=${!wanted.until &&
      html`<${Button} icon=${isHeld ? "play" : "pause"} onClick=${() => setHeld(!isHeld)}>${isHeld ? "Go on" : "Hold"}<//>`}
    />
    <section class="card matches" aria-busy=${list.loading ? "true" : undefined}>
      <header><${FilterBar} stream=${stream} /></header>
      <p class="visually-hidden" role="status">${announced(list)}</p>
      ${list.problem && html`<div class="body"><${ProblemBox} problem=${list.problem} /></div>`}
      ${list.waiting.length > 0 &&
      html`<button type="button" class="waiting" onClick=${list.show}>
        Show ${plural(list.waiting.length, "new match", "new matches")}
      </button>`}
      <${List}
        list=${list}
        selection=${selection}
        column=${definition.data?.event_time_column ?? ""}
        isFiltered=${Object.keys(wanted).length > 0}
      />
    </section>
    ${can("author") && html`<${MatchSelectionBar} stream=${stream} selection=${selection} list=${list} wanted=${wanted} />`}`;
}

function Status({ status }) {
  if (!STATUS[status]) return null;
  const [name, word, title] = STATUS[status];
  return html`<span class="tail-status" data-status=${status}><${State} name=${name} title=${title}>${word}<//></span>`;
}

function List({ list, selection, column, isFiltered }) {
  const { matches, fresh, loading, nextCursor } = list;
  if (!matches.length) {
    if (loading) return html`<${Loading} what="matches" />`;
    return list.problem ? null : html`<${Nothing} isFiltered=${isFiltered} />`;
  }
  const listed = matches.map((match) => match.match_id);
  const tick = (match) =>
    can("author") &&
    html`<input
      type="checkbox"
      aria-label=${`Select the ${match.kind} of ${match.processor_id}, key ${keyText(match.key) || "none"}`}
      checked=${selection.ids.has(match.match_id)}
      onClick=${(event) => selection.tick(listed, match.match_id, event.currentTarget.checked, event.shiftKey)}
    />`;
  return html`${can("author") && html`<p class="found-head"><${TickAll} selection=${selection} matches=${matches} /></p>`}
    <ol class=${`found-list ${loading ? "refreshing" : ""}`}>
      ${matches.map(
        (match) =>
          html`<${MatchRow}
            key=${match.number}
            match=${match}
            column=${column}
            isFresh=${fresh.has(match.number)}
            tick=${tick(match)}
            onChange=${(triage) => list.changed({ ...match, triage })}
          />`,
      )}
    </ol>
    ${nextCursor && html`<p class="older"><${Button} onClick=${list.older}>Show older matches<//></p>`}`;
}

function Nothing({ isFiltered }) {
  if (isFiltered) {
    return html`<${Empty} title="No recent matches for these filters">
      <p>New matches that meet them appear here as they arrive.</p>
      <${Button} onClick=${() => setQuery(withoutFilters())}>Clear the filters<//>
    <//>`;
  }
  return html`<${Empty} title="No matches yet">
    <p>What the rules of this stream find appears here within seconds, once a job runs them and reports to this service.</p>
  <//>`;
}

function announced({ fresh, matches, waiting }) {
  if (waiting.length) return `${plural(waiting.length, "new match waits", "new matches wait")}`;
  if (!fresh.size) return "";
  return `${plural(fresh.size, "new match", "new matches")}, the newest of ${matches[0]?.processor_id}`;
}
