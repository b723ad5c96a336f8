// The page "Proposals": changes that others look at before they are published.
import { html } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { Time } from "../format.js";
import { ApprovalsSetting } from "../proposals/setting.js";
import { ProposalState, approvalsInWords, kindBeforeName, nameOf } from "../proposals/words.js";
import { Link, path, route, setQuery } from "../router.js";
import { stream, streams } from "../streams.js";
import { Button } from "../ui/button.js";
import { FilterChip } from "../ui/chips.js";
import { Empty } from "../ui/empty.js";
import { Search, Select } from "../ui/field.js";
import { Card, Loading, PageHeader } from "../ui/page.js";
import { Pager, isSized, pageSize, usePages } from "../ui/pager.js";
import { ProblemBox } from "../ui/problem.js";
import { stateChoices } from "../ui/states.js";
import { Table } from "../ui/table.js";
import { ViewsMenu } from "../ui/views.js";
import { isolated } from "../ui/visible.js";

const SECONDS = 10;
const FILTERS = ["stream", "processor", "list", "mine"];
const STATES = [...stateChoices("proposal").filter(([name]) => name !== "outdated"), ["any", "All states"]];
const WHOSE = [["", "Anyone"], ["true", "Mine"], ["false", "Others'"]];

export default function ProposalsPage() {
  const { query } = route.value;
  const state = query.state ?? "open";
  const filters = Object.fromEntries(FILTERS.filter((name) => query[name]).map((name) => [name, query[name]]));
  const asked = { ...filters, state: state === "any" ? null : state };
  const pages = usePages();
  const { data, problem } = usePolled("/v1/proposals", { ...asked, cursor: pages.cursor, limit: pageSize() }, SECONDS);
  return html`
    <${PageHeader} title="Proposals">
      Changes that other people review before they are published: how they differ from what runs, the result of the check, and who approves.
      ${stream.value && html`<${ApprovalsSetting} stream=${stream.value} />`}
    <//>
    <${Filters} query=${query} state=${state} />
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <${Card} padded=${false}>
      ${!data && !problem && html`<${Loading} what="proposals" />`}
      ${data && !data.items.length && html`<${Nothing} isAll=${state === "open" && !Object.keys(filters).length} />`}
      ${data?.items.length > 0 &&
      html`<${Table} caption="Proposals" columns=${COLUMNS} rows=${data.items} rowKey=${(each) => each.id} className="proposals" />`}
      <${Pager} pages=${pages} page=${data} sized=${isSized(pages, data)} />
    <//>
  `;
}

const COLUMNS = [
  {
    key: "change",
    label: "Change",
    className: "name",
    cell: (each) => html`<div>
      <${Link} href=${path`/proposals/${each.id}`} title=${nameOf(each)}>${kindBeforeName(each)} ${nameOf(each)}<//>
      ${each.comment && html`<span class="proposal-comment secondary">${each.comment}</span>`}
    </div>`,
  },
  { key: "number", label: "Number", right: true, cell: (each) => html`<span class="number">${each.id}</span>` },
  { key: "state", label: "State", cell: (each) => html`<${ProposalState} proposal=${each} />` },
  { key: "approvals", label: "Approvals", cell: (each) => html`<span class="number">${approvalsInWords(each)}</span>` },
  { key: "comments", label: "Comments", right: true, cell: (each) => html`<span class="number">${each.comment_count}</span>` },
  { key: "author", label: "By", cell: (each) => html`<bdi class="wrap-anywhere">${each.author}</bdi>` },
  { key: "stream", label: "Stream", cell: (each) => each.stream },
  { key: "edited", label: "Updated", cell: (each) => html`<${Time} at=${each.edited_at} ago />` },
];

function Filters({ query, state }) {
  const names = (streams.value ?? []).map((each) => [each.name, each.name]);
  const clear = () => setQuery(Object.fromEntries([...FILTERS, "state"].map((name) => [name, null])));
  const isFiltered = [...FILTERS, "state"].some((name) => query[name]);
  return html`<div class="filters" role="search" aria-label="Filter proposals">
    <${Select} label="State" value=${state} options=${STATES} onChange=${(chosen) => setQuery({ state: chosen })} />
    <${Select} label="Author" value=${query.mine ?? ""} options=${WHOSE} onChange=${(mine) => setQuery({ mine })} />
    <${Select} label="Stream" value=${query.stream ?? ""} options=${[["", "All streams"], ...names]} onChange=${(name) => setQuery({ stream: name })} />
    <${Search} label="Rule id" value=${query.processor ?? ""} onSearch=${(text) => setQuery({ processor: text })} />
    ${query.list && html`<${FilterChip} label=${`list ${isolated(query.list)}`} onRemove=${() => setQuery({ list: null })} />`}
    ${isFiltered && html`<${Button} kind="plain" onClick=${clear}>Clear<//>`}
    <${ViewsMenu} list="proposals" />
  </div>`;
}

function Nothing({ isAll }) {
  return html`<${Empty} title="No proposals">
    <p>${isAll ? "No change is waiting for review. Where a stream requires approvals, the editor proposes instead of publishing." : "No proposals match these filters."}</p>
  <//>`;
}
