// What a match stands for: all matches of its group, of a window of event time.
import { html } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { Time, count, millis, plural } from "../format.js";
import { durationWords } from "../pattern/durations.js";
import { Link, path } from "../router.js";
import { valueText } from "./output.js";

/** {matches: 37, …} → "37 matches in 1 hour". */
export function groupWords({ matches, since, until }) {
  return `${plural(matches, "match", "matches")} in ${durationWords(millis(until) - millis(since))}`;
}

/** What a match stands for in few words, if it is more than itself. @param {{match: object}} properties */
export function StandsForNote({ match }) {
  const told = match.stands_for;
  if (!told) return null;
  return html`<span class="stands-for nowrap" title=${sharedWords(told)}>stands for ${groupWords(told)}</span>`;
}

/** What is known of the group of a match, as facts of a list. @param {{match: object}} properties */
export function GroupFacts({ match }) {
  const { stream, processor_id: processor, group_id: group, kind, stands_for: told } = match;
  const list = path`/streams/${stream}/matches`;
  if (kind === "grouped") {
    return html`<dt>Group</dt>
      <dd>Represented by another match. <${Link} href=${list} query=${{ processor, group }}>Show the match that was sent<//></dd>`;
  }
  if (!told) return null;
  return html`<dt>Stands for</dt>
    <dd>
      <strong>${groupWords(told)}</strong>, of ${told.keys_are_estimated ? "about " : ""}${plural(told.keys, "key")}${" "}
      <span class="secondary">(<${Time} at=${told.since} /> to <${Time} at=${told.until} />)</span>
      <${Others} stream=${stream} processor=${processor} group=${group} list=${list} />
    </dd>
    <dt>In common</dt>
    <dd><${InCommon} told=${told} /></dd>`;
}

function InCommon({ told }) {
  const pairs = Object.entries(told.group);
  if (told.is_rest) return html`<span class="secondary">the rest: over the limit of groups in one window</span>`;
  if (!pairs.length) return html`<span class="secondary">only the rule: all its matches are one group</span>`;
  return html`<span class="pairs">
    ${pairs.map(
      ([name, value]) => html`<span key=${name} class="pair"><span class="pair-name">${name}</span> ${valueText(value)}</span>`,
    )}
  </span>`;
}

// The service has them only if the output of the job takes them.
function Others({ stream, processor, group, list }) {
  const wanted = { processor, group, kind: "grouped" };
  const { data } = usePolled(group ? path`/v1/streams/${stream}/matches/summary` : null, wanted, null);
  if (!data?.total) return null;
  return html` · <${Link} href=${list} query=${wanted}>${data.total === 1 ? "the other match" : `the other ${count(data.total)} matches still stored`}<//>`;
}

function sharedWords({ group }) {
  return Object.entries(group)
    .map(([name, value]) => `${name} ${valueText(value)}`)
    .join(", ");
}
