// The page "Lists": the lists of a stream that conditions ask, `user IN LIST('vip')`.
import { html, useState } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { Time, count } from "../format.js";
import { ApprovalsOfLists } from "../lists/approvals.js";
import { inEffect, pageOf, scheduled } from "../lists/model.js";
import { NewList } from "../lists/new_list.js";
import { Link, path } from "../router.js";
import { can } from "../session.js";
import { Button } from "../ui/button.js";
import { chosenColumns } from "../ui/columns.js";
import { Empty } from "../ui/empty.js";
import { Card, Loading, PageHeader } from "../ui/page.js";
import { Pager, usePages } from "../ui/pager.js";
import { ProblemBox } from "../ui/problem.js";
import { State } from "../ui/state.js";
import { stateWord } from "../ui/states.js";
import { Table } from "../ui/table.js";

const SECONDS = 5;
const SHOWN = 50;

export default function ListsPage({ params }) {
  const { stream } = params;
  const [making, setMaking] = useState(false);
  const pages = usePages();
  const { shown, menu } = chosenColumns("lists", COLUMNS);
  const { data, problem } = usePolled(path`/v1/streams/${stream}/lists`, { cursor: pages.cursor, limit: SHOWN }, SECONDS);
  const newList =
    can("author") && html`<${Button} kind="primary" icon="plus" onClick=${() => setMaking(true)}>New list<//>`;
  return html`
    <${PageHeader} title="Lists" actions=${newList}>
      Values that conditions of rules look up, <code>user IN LIST('vip')</code>. They change without changing a rule.
    <//>
    <${ApprovalsOfLists} stream=${stream} />
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <${Card} title="Lists of ${stream}" actions=${data?.items.length > 0 && menu} padded=${false}>
      ${!data && !problem && html`<${Loading} what="lists" />`}
      ${data && !data.items.length && html`<${Nothing} stream=${stream} />`}
      ${data?.items.length > 0 &&
      html`<${Table} caption=${`Lists of ${stream}`} columns=${shown} rows=${data.items} rowKey=${(list) => list.name} className="lists sticky" />`}
      <${Pager} pages=${pages} page=${data} />
    <//>
    ${making && html`<${NewList} stream=${stream} onClose=${() => setMaking(false)} />`}
  `;
}

const COLUMNS = [
  {
    key: "name",
    label: "Name",
    className: "name",
    cell: (list) => html`<div>
      <${Link} href=${pageOf(list)}>${list.name}<//>
      ${list.description && html`<span class="list-about secondary">${list.description}</span>`}
    </div>`,
  },
  { key: "type", label: "Type", cell: (list) => html`<code>${list.type}</code>` },
  { key: "values", label: "Values", right: true, cell: (list) => html`<span class="number">${count(inEffect(list).count)}</span>` },
  {
    key: "version",
    label: "Version",
    cell: (list) => html`<span class="row">
      <span class="number">${inEffect(list).version}</span>
      ${scheduled(list).map(({ version }) => html`<${State} of="list" key=${version} name="scheduled">${version} ${stateWord("list", "scheduled")}<//>`)}
    </span>`,
  },
  { key: "rules", label: "Rules", right: true, cell: (list) => html`<span class="number">${count(list.rule_count)}</span>` },
  { key: "changed", label: "Changed", cell: (list) => html`<${Time} at=${list.updated_at} ago />` },
  { key: "by", label: "By", cell: (list) => html`<bdi class="wrap-anywhere">${list.updated_by}</bdi>` },
];

function Nothing({ stream }) {
  return html`<${Empty} title=${`No lists on ${stream} yet`}>
    <p>
      A list holds values that rules look up and others keep up to date: VIP customers, blocked addresses, days
      without trading. Use it in a condition, <code>user IN LIST('vip')</code>, and each change takes effect for all rules at the same instant.
    </p>
    ${can("publisher") ? html`<p>Create one, then upload its values.</p>` : html`<p>Publishers create lists and change their values.</p>`}
  <//>`;
}
