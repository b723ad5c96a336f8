// The values of a list, a page at a time: searched by the service, one taken away.
import { html, useState } from "../../vendor/preact.js";
import { usePolled, withQuery } from "../api.js";
import { count, plural } from "../format.js";
import { route, setQuery } from "../router.js";
import { Button } from "../ui/button.js";
import { FilterChip } from "../ui/chips.js";
import { Empty } from "../ui/empty.js";
import { Search } from "../ui/field.js";
import { Loading } from "../ui/page.js";
import { Pager, pageSize, usePages } from "../ui/pager.js";
import { ProblemBox } from "../ui/problem.js";
import { Segments } from "../ui/tabs.js";
import { visibleValue } from "../ui/visible.js";
import { RemoveValue } from "./edit_values.js";
import { inEffect, mayChange, sourceOf } from "./model.js";

const LEAST_SIZE = 25;
const LONGEST_LABEL = 60;
const PLACES = [
  ["contains", "Anywhere"],
  ["prefix", "Starts with"],
];

/** @param {{list: object, refresh: () => void}} properties */
export function Values({ list, refresh }) {
  const { query } = route.value;
  const [removing, setRemoving] = useState(null);
  const pages = usePages();
  const current = inEffect(list).version;
  const version = Number.parseInt(query.version, 10) || current;
  const place = query.at === "prefix" ? "prefix" : "contains";
  const found = { [place]: query.text };
  const source = `${sourceOf(list)}/values`;
  const { data, problem, loading } = usePolled(source, { ...found, version, cursor: pages.cursor, limit: pageSize() }, 0);
  const isCurrent = data?.version === current;
  return html`<section class="card" aria-label="Values" aria-busy=${loading ? "true" : undefined}>
    <header class="list-tools">
      <div class="filters" role="search" aria-label="Search the values">
        <${Search} label="Values with this text" value=${query.text ?? ""} onSearch=${(text) => setQuery({ text })} />
        <${Segments}
          label="Match"
          options=${PLACES}
          value=${place}
          onChange=${(at) => setQuery({ at: at === "prefix" ? at : null })}
        />
        ${query.version && html`<${FilterChip} label=${`version ${version}`} onRemove=${() => setQuery({ version: null })} />`}
      </div>
      ${data &&
      (query.text || !isCurrent) &&
      html`<a href=${withQuery(source, { ...found, version: data.version, format: "csv" })} download>
        ${query.text ? "Download results (CSV)" : `Download version ${data.version} (CSV)`}
      </a>`}
    </header>
    ${problem && html`<div class="body"><${ProblemBox} problem=${problem} /></div>`}
    ${!data && !problem && html`<${Loading} what="values" />`}
    ${data &&
    !isCurrent &&
    html`<p class="list-other" role="status">
      These are the values of <strong>version ${data.version}</strong>; version ${current} is in effect.${" "}
      <${Button} small onClick=${() => setQuery({ version: null })}>Show version ${current}<//>
    </p>`}
    ${data && !data.items.length && html`<${Nothing} list=${list} isSearched=${Boolean(query.text)} />`}
    ${data?.items.length > 0 &&
    html`<ul class=${`list-values ${loading ? "refreshing" : ""}`} aria-label=${`Values of version ${data.version}`}>
      ${data.items.map(
        (value) => html`<li key=${value}>
          <bdi class="list-text">${visibleValue(value)}</bdi>
          ${isCurrent &&
          mayChange() &&
          html`<${Button} small kind="plain" icon="cross" label=${`Remove ${cut(value)}`} onClick=${() => setRemoving(value)} />`}
        </li>`,
      )}
    </ul>`}
    ${data &&
    html`<${Pager} pages=${pages} page=${data} sized=${data.count > LEAST_SIZE}>
      <span class="number">${query.text ? `found among ${plural(data.count, "value")}` : rangeOf(pages, data)}</span>
    <//>`}
    ${removing !== null &&
    html`<${RemoveValue} list=${list} value=${removing} refresh=${refresh} onClose=${() => setRemoving(null)} />`}
  </section>`;
}

function rangeOf(pages, data) {
  if (pages.number === 1 && !data.next_cursor) return plural(data.count, "value");
  const before = (pages.number - 1) * pageSize();
  return `${count(before + 1)}–${count(before + data.items.length)} of ${count(data.count)}`;
}

function Nothing({ list, isSearched }) {
  if (isSearched) {
    return html`<${Empty} title="No values match this search">
      <p>The search is case-sensitive.</p>
      <${Button} onClick=${() => setQuery({ text: null })}>Show all values<//>
    <//>`;
  }
  return html`<${Empty} title="No values yet">
    <p>The list is empty: a condition <code>IN LIST('${list.name}')</code> matches no event.</p>
    ${mayChange() && html`<p>Upload a file, or add some values.</p>`}
  <//>`;
}

function cut(value) {
  return value.length > LONGEST_LABEL ? `${value.slice(0, LONGEST_LABEL)}…` : value;
}
