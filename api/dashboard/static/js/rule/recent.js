// The newest matches of a rule, each as a line of time; its events unfold below it.
import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { get, recoveries, usePolled } from "../api.js";
import { Time, plural } from "../format.js";
import { OutputLine, shownKey } from "../matches/output.js";
import { StandsForNote } from "../matches/stands_for.js";
import { Timeline } from "../matches/timeline.js";
import { Link, path } from "../router.js";
import { Status } from "../triage/status.js";
import { CodeBlock } from "../ui/code.js";
import { Diagnosis } from "./diagnosis.js";
import { Empty } from "../ui/empty.js";
import { Loading } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { State } from "../ui/state.js";

/** @param {{rule: object, most?: number}} properties */
export function RecentMatches({ rule, most = 6 }) {
  const list = usePolled(path`/v1/streams/${rule.stream}/matches`, { processor: rule.id, limit: most }, 3);
  const stream = usePolled(path`/v1/streams/${rule.stream}`, {}, 0);
  const [open, setOpen] = useState(false);
  if (list.problem && !list.data) return html`<${ProblemBox} problem=${list.problem} />`;
  if (!list.data || !stream.data) return html`<${Loading} what="matches" />`;
  if (!list.data.items.length) {
    return html`<${Empty} title="No matches yet">
        <p>They appear here automatically. To see what the rule would find, try it out in the editor.</p>
      <//>
      <${Diagnosis} rule=${rule} />`;
  }
  return html`<div class="recent">
    <ol aria-live="polite" aria-relevant="additions">
      ${list.data.items.map(
        (match) => html`<li key=${match.match_id}>
          <${MatchLine} match=${match} column=${stream.data.event_time_column} />
        </li>`,
      )}
    </ol>
    <p class="recent-all">
      <${Link} href=${path`/streams/${rule.stream}/matches`} query=${{ processor: rule.id }}>All matches of this rule<//>
    </p>
    <details class="recent-chain" onToggle=${(event) => setOpen(event.currentTarget.open)}>
      <summary>Why aren't there more?</summary>
      ${open && html`<${Diagnosis} rule=${rule} />`}
    </details>
  </div>`;
}

function MatchLine({ match, column }) {
  const events = useEvents(match);
  const key = shownKey(match.key);
  return html`<article class="recent-match" data-match=${match.match_id}>
    <header>
      <${State} of="match" name=${match.kind} />
      ${match.triage.status !== "open" && html`<${Status} triage=${match.triage} />`}
      <${Link} href=${path`/streams/${match.stream}/matches/${match.match_id}`}>${key || "global key"}<//>
      <span class="secondary">
        v${match.version} · epoch ${match.epoch} · ${plural(match.event_count, "event")} · ${match.job}
      </span>
      <span class="recent-match-time"><${Time} at=${match.end} ago /></span>
    </header>
    ${events && html`<${Timeline} match=${{ ...match, events }} column=${column} />`}
    <p class="recent-match-output"><${StandsForNote} match=${match} /><${OutputLine} output=${match.output} /></p>
    ${events &&
    html`<details>
      <summary>Events</summary>
      <${CodeBlock} text=${JSON.stringify(events, null, 2)} label=${`Events of ${key || "the match"} ${match.match_id}`} />
    </details>`}
  </article>`;
}

// A match never changes, so its events are read once.
const known = new Map();
const MOST_KNOWN = 200;

function useEvents({ stream, match_id: id }) {
  const key = `${stream}/${id}`;
  const [events, setEvents] = useState(known.get(key) ?? null);
  const asked = useRef(false);
  const turn = recoveries.value;
  useEffect(() => {
    if (events || asked.current) return;
    asked.current = true;
    get(path`/v1/streams/${stream}/matches/${id}`).then(
      (match) => {
        if (known.size >= MOST_KNOWN) known.delete(known.keys().next().value);
        known.set(key, match.events);
        setEvents(match.events);
      },
      () => {
        asked.current = false; // it was let go meanwhile, or comes once the service is back; the line above stands
      },
    );
  }, [key, turn]);
  return events;
}
