// The change log: who changed what, when and why.
import { html } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { ACTIONS, ChangeItem } from "../activity/change.js";
import { route, setQuery } from "../router.js";
import { streams } from "../streams.js";
import { Empty } from "../ui/empty.js";
import { Search, Select } from "../ui/field.js";
import { Button } from "../ui/button.js";
import { Card, Loading, PageHeader } from "../ui/page.js";
import { Pager, isSized, pageSize, usePages } from "../ui/pager.js";
import { ProblemBox } from "../ui/problem.js";
import { ViewsMenu } from "../ui/views.js";

const SECONDS = 10;
const FILTERS = ["stream", "processor", "action", "actor"];

export default function ActivityPage() {
  const { query } = route.value;
  const filters = Object.fromEntries(FILTERS.filter((name) => query[name]).map((name) => [name, query[name]]));
  const pages = usePages();
  const { data, problem } = usePolled("/v1/changes", { ...filters, cursor: pages.cursor, limit: pageSize() }, SECONDS);
  const isFiltered = Object.keys(filters).length > 0;
  return html`
    <${PageHeader} title="Activity">Every change to rules, lists, streams, jobs and tokens, and the triage of matches: who, when and why. Each change to what runs is an epoch.<//>
    <${Filters} query=${query} isFiltered=${isFiltered} />
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <${Card} padded=${false}>
      ${!data && !problem && html`<${Loading} what="changes" />`}
      ${data && !data.items.length && html`<${Empty} title="No changes">
        <p>${isFiltered ? "No changes match these filters." : "No changes have been made yet."}</p>
      <//>`}
      ${data?.items.length > 0 && html`<ol class="changes">${data.items.map((change) => html`<${ChangeItem} key=${change.id} change=${change} />`)}</ol>`}
      <${Pager} pages=${pages} page=${data} sized=${isSized(pages, data)} />
    <//>
  `;
}

function Filters({ query, isFiltered }) {
  const names = (streams.value ?? []).map((each) => [each.name, each.name]);
  const actions = Object.entries(ACTIONS).map(([action, text]) => [action, text]);
  return html`<div class="filters" role="search" aria-label="Filter changes">
    <${Search} label="Rule id" value=${query.processor ?? ""} onSearch=${(text) => setQuery({ processor: text })} />
    <${Search} label="Who (token name)" value=${query.actor ?? ""} onSearch=${(text) => setQuery({ actor: text })} />
    <${Select} label="Stream" value=${query.stream ?? ""} options=${[["", "All streams"], ...names]} onChange=${(name) => setQuery({ stream: name })} />
    <${Select} label="What" value=${query.action ?? ""} options=${[["", "All changes"], ...actions]} onChange=${(action) => setQuery({ action })} />
    ${isFiltered && html`<${Button} kind="plain" onClick=${() => setQuery(Object.fromEntries(FILTERS.map((name) => [name, null])))}>Clear<//>`}
    <${ViewsMenu} list="activity" />
  </div>`;
}
