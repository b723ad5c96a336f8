// The columns of the table of rules: one function per cell.
import { html } from "../../vendor/preact.js";
import { Time, count, plural, shortCount } from "../format.js";
import { Link, path, route } from "../router.js";
import { lookedAt, rateInWords, rateText } from "../triage/status.js";
import { Chip } from "../ui/chips.js";
import { Icon } from "../ui/icon.js";
import { Sparkline } from "../ui/sparkline.js";
import { State } from "../ui/state.js";
import { tagsOf, withTags } from "./filters.js";
import { Standing, eventTimeUntil } from "./standing.js";

const TAGS_LENGTH = 14; // characters of two tags that have room beside each other

/** Returns the columns of the table. @param {string} stream @param {(patch: object) => void} filter */
export function columns(stream, filter) {
  return [
    {
      key: "rule",
      label: "Rule",
      sort: "id",
      className: "lead",
      cell: (line) => html`<${Rule} stream=${stream} line=${line} />`,
    },
    {
      key: "standing",
      label: "State",
      sort: "standing",
      className: "state-cell",
      cell: (line) => html`<${Standing} line=${line} />`,
    },
    { key: "version", label: "Version", className: "version-column", cell: (line) => html`<${Versions} line=${line} />` },
    {
      key: "key",
      label: "Key",
      className: "key wide-only narrow-off",
      cell: (line) => html`<${Key} columns=${line.key_by} />`,
    },
    {
      key: "matches",
      label: "Matches/h",
      sort: "matches_last_hour",
      first: "-matches_last_hour",
      right: true,
      className: "matches-column",
      cell: (line) => html`<${Matches} stream=${stream} line=${line} />`,
    },
    {
      key: "false",
      label: "False pos.",
      sort: "false_positive_rate",
      first: "-false_positive_rate",
      right: true,
      className: "false-rate",
      cell: (line) => html`<${FalsePositives} stream=${stream} line=${line} />`,
    },
    {
      key: "last",
      label: "Last match",
      sort: "last_match",
      first: "-last_match",
      className: "last-column",
      cell: (line) => html`<${Time} at=${line.running?.last_match} ago=${true} none=${line.running ? "none yet" : "–"} />`,
    },
    {
      key: "partial",
      label: "Partial",
      sort: "partial_matches",
      first: "-partial_matches",
      right: true,
      className: "partial",
      cell: ({ running }) => html`<span title=${partialTitle(running)}>${shortCount(running?.partial_matches)}</span>`,
    },
    {
      key: "errors",
      label: "Errors",
      sort: "errors",
      first: "-errors",
      right: true,
      className: "errors-column",
      cell: (line) => html`<${Errors} running=${line.running} />`,
    },
    {
      key: "owner",
      label: "Owner, tags",
      sort: "owner",
      className: "labels wide-only narrow-off",
      cell: (line) => html`<${Labels} line=${line} filter=${filter} />`,
    },
    {
      key: "updated",
      label: "Updated",
      sort: "updated_at",
      first: "-updated_at",
      className: "updated-cell",
      cell: (line) => html`<${Updated} line=${line} />`,
    },
  ];
}

/** The columns that a person may do without. */
export const MAY_BE_HIDDEN = columns("", null)
  .filter(({ key }) => key !== "rule" && key !== "standing")
  .map(({ key, label }) => ({ key, label }));

function partialTitle(running) {
  return `${count(running?.partial_matches)} partial matches: started, neither completed nor dropped`;
}

function Rule({ stream, line }) {
  return html`<div class="rule-cell">
    <span class="rule-name">
      <${Link} class="name" title=${line.id} href=${path`/streams/${stream}/rules/${line.id}`}>${line.id}<//>
      ${line.warning_count > 0 &&
      html`<span class="lint" title=${`${plural(line.warning_count, "warning")} about its definition`}>
        <${Icon} name="warning" label=${plural(line.warning_count, "warning")} />
      </span>`}
    </span>
    ${(line.severity || line.description) &&
    html`<span class="rule-about">
      ${line.severity && html`<${State} of="severity" name=${line.severity} title=${`Severity ${line.severity}`} />`}
      ${line.description && html`<bdi class="description" title=${line.description}>${line.description}</bdi>`}
    </span>`}
  </div>`;
}

function Versions({ line }) {
  const { running } = line;
  const live = running?.live_version;
  const next = running?.next_version ?? awaitedVersion(line);
  return html`<span class="version-cell number">
    ${live ? html`<span>v${live}</span>` : !next && html`<span class="muted">v${line.version}</span>`}
    ${next && html`<span class="next" title=${nextTitle(line)}>${live ? "→ " : ""}v${next}</span>`}
  </span>`;
}

// A version that is published and that the job has not told of yet.
function awaitedVersion({ running, published }) {
  const newest = published.at(-1)?.version ?? 0;
  return running?.live_version && newest > running.live_version ? newest : null;
}

function nextTitle({ running }) {
  if (!running?.next_from) return "Published; not picked up by the job yet";
  return `Runs ${eventTimeUntil(running.next_from, running.job.watermark)}`;
}

function Key({ columns: keys }) {
  if (!keys?.length) return html`<span class="muted">global</span>`;
  const text = keys.join(", ");
  return html`<code class="clipped" title=${text}>${text}</code>`;
}

function Matches({ stream, line }) {
  const { running, matches, id } = line;
  if (!running) return html`<span class="muted">–</span>`;
  return html`<${Link} class="matches-cell" href=${path`/streams/${stream}/matches`} query=${{ processor: id }}>
    <${Sparkline} values=${matches} label="Matches per five minutes in the last hour" />
    <span class="number">${shortCount(running.matches_last_hour)}</span>
  <//>`;
}

function FalsePositives({ stream, line: { id, triage } }) {
  const looked = lookedAt(triage);
  const open = triage.open > 0 && html`<span class="muted number nowrap">${shortCount(triage.open)} open</span>`;
  if (!looked) return open || html`<span class="muted">–</span>`;
  const query = { processor: id, status: "false_positive" };
  return html`<span class="false-positives">
    <${Link} class="number" href=${path`/streams/${stream}/matches`} query=${query} title=${rateInWords(triage)}>
      ${rateText(triage)}
    <//>
    <span class="muted number nowrap">of ${shortCount(looked)}</span>
    ${open}
  </span>`;
}

function Errors({ running }) {
  if (!running?.errors) return html`<span class="muted">${running ? 0 : "–"}</span>`;
  return html`<strong class="error-count" title=${running.error}>${shortCount(running.errors)}</strong>`;
}

function Updated({ line }) {
  return html`<span class="updated">
    <${Time} at=${line.updated_at} ago=${true} /><span class="by" title=${line.updated_by}><bdi>${line.updated_by}</bdi></span>
  </span>`;
}

function Labels({ line, filter }) {
  const { owner, tags } = line;
  const shown = tags.slice(0, tags.slice(0, 2).join("").length > TAGS_LENGTH ? 1 : 2);
  const more = tags.slice(shown.length);
  return html`<div class="labels-cell">
    ${owner &&
    html`<button type="button" class="owner" title=${`Only rules of ${owner}`} onClick=${() => filter({ owner })}>
      ${owner}
    </button>`}
    ${tags.length > 0 &&
    html`<span class="chips">
      ${shown.map((tag) => html`<${Chip} key=${tag} title="Only with this tag" onClick=${() => filter({ tag: withTags([...new Set([...tagsOf(route.value.query), tag])]) })}>${tag}<//>`)}
      ${more.length > 0 && html`<span class="muted" title=${more.join(", ")}>+${more.length}</span>`}
    </span>`}
  </div>`;
}
