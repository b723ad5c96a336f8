// The filters above the list of matches.
import { html, useEffect, useId, useState } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { path, route, setQuery } from "../router.js";
import { useAssignees } from "../triage/assignee.js";
import { STATUSES } from "../triage/status.js";
import { Button } from "../ui/button.js";
import { FilterChip } from "../ui/chips.js";
import { Search, Select } from "../ui/field.js";
import { Segments } from "../ui/tabs.js";
import { TO_THE_MINUTE, instantOf, localInput } from "../ui/time_field.js";
import { ViewsMenu } from "../ui/views.js";
import { isolated } from "../ui/visible.js";
import { ZoneNote } from "../ui/zone.js";
import { SORTS, sortOf, wantedMatches, withoutFilters } from "./filters.js";
import { RANGES, beginningOf, rangeOf } from "./range.js";

const SUGGESTIONS = 50;
const NOBODY = "nobody";
const OF = "of "; // in front of names, so that none is taken for another choice
const CUSTOM = "custom";
const CHIPS = {
  version: (version) => `version ${version}`,
  job: (job) => `job ${isolated(job)}`,
  key: (key) => `key ${isolated(key)}`,
  group: () => "of one group",
  kind: (kind) => (KINDS.some(([each]) => each === kind) ? null : kind),
};
const KINDS = [
  ["", "All"],
  ["match", "Matches"],
  ["timeout", "Timeouts"],
];

/** @param {{stream: string}} properties */
export function FilterBar({ stream }) {
  const { query } = route.value;
  const choose = (name) => (value) => setQuery({ [name]: value || null });
  const range = rangeOf(query);
  const isFiltered = range !== null || Object.keys(wantedMatches(query)).length > 0;
  return html`<div class="filters" role="search" aria-label="Filter matches">
    <${Segments} label="Kind" options=${KINDS} value=${query.kind ?? ""} onChange=${choose("kind")} />
    <${RuleField} stream=${stream} value=${query.processor ?? ""} />
    <span class="key-field">
      <${Search} label="Key" placeholder="Key starts with" value=${query.key_prefix ?? ""} onSearch=${choose("key_prefix")} />
    </span>
    <${Select}
      label="Status"
      options=${[["", "Any status"], ...STATUSES]}
      value=${query.status ?? ""}
      onChange=${choose("status")}
    />
    <${AssigneeSelect} stream=${stream} query=${query} />
    <${Search} label="Text in the output" value=${query.text ?? ""} onSearch=${choose("text")} />
    <span class="instants">
      <${Select} label="Event time" options=${ranges(query)} value=${range ?? (isCustom(query) ? CUSTOM : "")} onChange=${chooseRange} />
      <${InstantField} label="From" value=${query.since} onChange=${(since) => setQuery({ since, last: null })} />
      <${InstantField} label="Until" value=${query.until} onChange=${(until) => setQuery({ since: range ? beginningOf(range) : query.since ?? null, until, last: null })} />
    </span>
    <${Select} label="Sort by" options=${SORTS} value=${sortOf(query)} onChange=${choose("sort")} />
    ${Object.entries(CHIPS)
      .filter(([name]) => query[name])
      .map(([name, words]) => [name, words(query[name])])
      .filter(([, label]) => label)
      .map(([name, label]) => html`<${FilterChip} key=${name} label=${label} onRemove=${() => choose(name)(null)} />`)}
    ${isFiltered && html`<${Button} kind="plain" icon="cross" onClick=${() => setQuery(withoutFilters())}>Clear<//>`}
    <${ViewsMenu} list="matches" />
    <${ZoneNote} stream=${stream} />
  </div>`;
}

const isCustom = (query) => Boolean(query.since || query.until);

function ranges(query) {
  const chosen = isCustom(query) ? [[CUSTOM, "Custom range"]] : [];
  return [["", "Any time"], ...chosen, ...[...RANGES].map(([range, [, words]]) => [range, words])];
}

function chooseRange(range) {
  if (range !== CUSTOM) setQuery({ last: range || null, since: null, until: null });
}

function AssigneeSelect({ stream, query }) {
  const names = useAssignees(stream);
  const shown = !query.assignee || names.includes(query.assignee) ? names : [query.assignee, ...names];
  const options = [["", "Anyone"], [NOBODY, "Unassigned"], ...shown.map((name) => [OF + name, name])];
  const value = query.assignee ? OF + query.assignee : query.unassigned === "true" ? NOBODY : "";
  const choose = (chosen) =>
    setQuery({
      assignee: chosen.startsWith(OF) ? chosen.slice(OF.length) : null,
      unassigned: chosen === NOBODY ? "true" : null,
    });
  return html`<${Select} label="Assigned to" options=${options} value=${value} onChange=${choose} />`;
}

function RuleField({ stream, value }) {
  const [text, setText] = useState(value);
  const listId = useId();
  useEffect(() => setText(value), [value]);
  const source = text && text !== value ? path`/v1/streams/${stream}/rules` : null;
  const { data } = usePolled(source, { text: text.trim(), limit: SUGGESTIONS }, null);
  // A version belongs to one rule: another rule, another version.
  const choose = () => setQuery({ processor: text.trim() || null, version: null });
  return html`<span class="rule-field">
    <input
      type="search"
      class="input"
      aria-label="Rule"
      placeholder="Rule"
      list=${listId}
      value=${text}
      maxlength="200"
      autocomplete="off"
      spellcheck="false"
      onInput=${(event) => setText(event.currentTarget.value)}
      onChange=${choose}
    />
    <datalist id=${listId}>${(data?.items ?? []).map(({ id }) => html`<option key=${id} value=${id} />`)}</datalist>
  </span>`;
}

function InstantField({ label, value, onChange }) {
  const id = useId();
  return html`<span class="instant-field">
    <label for=${id}>${label}</label>
    <input
      id=${id}
      class="input"
      type="datetime-local"
      title="Event time, in your time zone"
      value=${localInput(value, TO_THE_MINUTE)}
      onChange=${(event) => onChange(instantOf(event.currentTarget.value))}
    />
  </span>`;
}
