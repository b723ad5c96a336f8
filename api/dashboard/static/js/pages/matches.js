// The page "Matches": what the rules of a stream find, as they find it.
import { html, useState } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { millis, plural } from "../format.js";
import { FilterBar } from "../matches/filter_bar.js";
import { sortOf, wantedMatches, withoutFilters } from "../matches/filters.js";
import { MatchRow } from "../matches/match_row.js";
import { shownKey } from "../matches/output.js";
import { useRange } from "../matches/range.js";
import { MatchesSummary } from "../matches/summary.js";
import { useMatches } from "../matches/use_matches.js";
import { Link, path, route, setQuery } from "../router.js";
import { Diagnosis } from "../rule/diagnosis.js";
import { can } from "../session.js";
import { MatchSelectionBar, TickAll } from "../triage/selection.js";
import { Button } from "../ui/button.js";
import { chosenColumns } from "../ui/columns.js";
import { Empty } from "../ui/empty.js";
import { Loading, PageHeader } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { useSelection } from "../ui/selection.js";
import { State } from "../ui/state.js";

const MOST_REASONS = 5;
const JOBS_SECONDS = 5;
// What a line shows of a match.
const PARTS = [
  { key: "time", label: "Time" },
  { key: "kind", label: "Kind" },
  { key: "status", label: "Status" },
  { key: "rule", label: "Rule" },
  { key: "key", label: "Key" },
  { key: "output", label: "Output" },
  { key: "events", label: "Events, duration" },
];
const TITLES = {
  live: "New matches appear as they arrive",
  reading: "Too many live connections; new matches are loaded every few seconds",
  lost: "Connection lost; reconnecting. No match is missed",
  silent: "A job of this stream does not report, so its matches may be missing here",
  jobless: "No job runs on this stream, so no new matches appear",
  held: "New matches wait until you resume",
  ended: "The range has an end, so no new matches appear",
};

/** Shows the matches of a stream. */
export default function MatchesPage({ params }) {
  const { stream } = params;
  const range = useRange(route.value.query);
  const wanted = wantedMatches(route.value.query, range.since);
  const [isHeld, setHeld] = useState(false);
  const definition = usePolled(path`/v1/streams/${stream}`, {}, null);
  const read = useMatches(path`/v1/streams/${stream}/matches`, wanted, sortOf(route.value.query), isHeld);
  const list = range.now ? { ...read, matches: read.matches.filter(({ end }) => millis(end) >= millis(range.now)) } : read;
  const selection = useSelection();
  const jobs = usePolled(path`/v1/streams/${stream}/jobs`, {}, JOBS_SECONDS).data;
  const status = wanted.until ? "ended" : isHeld ? "held" : heard(list.status, jobs);
  return html`<${PageHeader}
      title="Matches"
      beside=${html`<${Status} status=${status} />`}
      actions=${!wanted.until &&
      html`<${Button} icon=${isHeld ? "play" : "pause"} onClick=${() => setHeld(!isHeld)}>${isHeld ? "Resume" : "Pause"}<//>`}
    />
    <section class="card matches" aria-busy=${list.loading ? "true" : undefined}>
      <header><${FilterBar} stream=${stream} /></header>
      <${MatchesSummary} stream=${stream} wanted=${wantedMatches(route.value.query, range.now)} />
      <p class="visually-hidden" role="status">${announced(list)}</p>
      ${list.problem && html`<div class="body"><${ProblemBox} problem=${list.problem} /></div>`}
      ${list.waiting.length > 0 &&
      html`<button type="button" class="waiting" onClick=${list.show}>
        Show ${plural(list.waiting.length, "new match", "new matches")}
      </button>`}
      <${List}
        stream=${stream}
        list=${list}
        selection=${selection}
        column=${definition.data?.event_time_column ?? ""}
        isFiltered=${Object.keys(wanted).length > 0}
      />
    </section>
    ${can("author") && html`<${MatchSelectionBar} stream=${stream} selection=${selection} list=${list} wanted=${wanted} />`}`;
}

// A connection that is open says nothing of the jobs whose matches should come over it.
function heard(status, jobs) {
  if (status !== "live" && status !== "reading") return status;
  if (!jobs) return "";
  if (jobs.some(({ state }) => state === "stale")) return "silent";
  return jobs.some(({ state }) => state !== "stopped") ? status : "jobless";
}

function Status({ status }) {
  if (!TITLES[status]) return null;
  return html`<span class="tail-status" data-status=${status}><${State} of="tail" name=${status} title=${TITLES[status]} /></span>`;
}

// A link may name a match that is not on this page: it stands above the list.
function Linked({ stream, id, column }) {
  const { data, refresh } = usePolled(path`/v1/streams/${stream}/matches/${id}`, {}, null);
  if (!data) return null;
  const close = () => setQuery({ open: null });
  return html`<ol class="found-list linked" aria-label="Linked match">
    <${MatchRow} match=${data} column=${column} isFresh=${false} isOpen onOpen=${close} onChange=${refresh} />
  </ol>`;
}

function List({ stream, list, selection, column, isFiltered }) {
  const { matches, fresh, loading, nextCursor } = list;
  const older =
    nextCursor && html`<p class="older"><${Button} onClick=${list.older}>Show ${sortOf(route.value.query) === "end" ? "later" : "older"} matches<//></p>`;
  if (!matches.length) {
    if (loading) return html`<${Loading} what="matches" />`;
    if (nextCursor) return html`<p class="body">No match so far. The newest have been searched, older ones have not.</p>${older}`;
    return list.problem ? null : html`<${Nothing} stream=${stream} isFiltered=${isFiltered} />`;
  }
  const listed = matches.map((match) => match.match_id);
  const { shown, menu } = chosenColumns("matches", PARTS);
  const without = PARTS.filter((part) => !shown.includes(part)).map(({ key }) => `without-${key}`);
  const { open } = route.value.query;
  const tick = (match) =>
    can("author") &&
    html`<input
      type="checkbox"
      aria-label=${`Select the ${match.kind} of ${match.processor_id}, key ${shownKey(match.key) || "none"}`}
      checked=${selection.ids.has(match.match_id)}
      onClick=${(event) => selection.tick(listed, match.match_id, event.currentTarget.checked, event.shiftKey)}
    />`;
  return html`<div class="found-head">${can("author") && html`<${TickAll} selection=${selection} matches=${matches} />`}${menu}</div>
    ${open && !loading && !listed.includes(open) && html`<${Linked} stream=${stream} id=${open} column=${column} />`}
    <ol class=${["found-list", loading && "refreshing", ...without].filter(Boolean).join(" ")}>
      ${matches.map(
        (match) =>
          html`<${MatchRow}
            key=${match.number}
            match=${match}
            column=${column}
            isFresh=${fresh.has(match.number)}
            isOpen=${match.match_id === open}
            onOpen=${(isOpen) => setQuery({ open: isOpen ? match.match_id : null })}
            tick=${tick(match)}
            onChange=${(triage) => list.changed({ ...match, triage })}
          />`,
      )}
    </ol>
    ${older}`;
}

function Nothing({ stream, isFiltered }) {
  const { processor } = route.value.query;
  const reasons = processor
    ? html`<${Diagnosis} rule=${{ id: processor, stream }} />`
    : html`<${Reasons} stream=${stream} />`;
  if (isFiltered) {
    return html`<${Empty} title="No recent matches for these filters">
        <p>New matches that match them appear here as they arrive.</p>
        <${Button} onClick=${() => setQuery(withoutFilters())}>Clear the filters<//>
      <//>
      ${reasons}`;
  }
  return html`<${Empty} title="No matches yet">
      <p>Matches of the rules of this stream appear here within seconds, once a job runs them and reports to this service.</p>
    <//>
    ${reasons}`;
}

function Reasons({ stream }) {
  const { data } = usePolled(path`/v1/streams/${stream}/rules`, { limit: MOST_REASONS }, null);
  if (!data?.items.length) return null;
  return html`<p class="body in-text">
    Why a rule finds nothing:${" "}
    ${data.items.map(
      ({ id }, index) => html`${index > 0 && ", "}<${Link} key=${id} href=${path`/streams/${stream}/matches`} query=${{ processor: id }}>${id}<//>`,
    )}${data.total > MOST_REASONS && html`, <${Link} href=${path`/streams/${stream}/rules`}>${plural(data.total - MOST_REASONS, "more rule")}<//>`}.
  </p>`;
}

function announced({ fresh, matches, waiting }) {
  if (waiting.length) return `${plural(waiting.length, "new match waits", "new matches wait")}`;
  if (!fresh.size) return "";
  return `${plural(fresh.size, "new match", "new matches")}, the newest of ${matches[0]?.processor_id}`;
}
