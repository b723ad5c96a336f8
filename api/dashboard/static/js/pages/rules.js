// The page "Rules": all rules of a stream beside the job that runs them, kept fresh.
import { html, useMemo } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { count, plural } from "../format.js";
import { path, route, setQuery } from "../router.js";
import { MAY_BE_HIDDEN, columns } from "../rules/columns.js";
import { Counts, FilterBar } from "../rules/filter_bar.js";
import { DEFAULT_SORT, isFiltered, listQuery, withoutFilters } from "../rules/filters.js";
import { JobNotice, UnreadRules } from "../rules/job_notice.js";
import { SelectAll, SelectionBar, tickColumn } from "../rules/selection.js";
import { can } from "../session.js";
import { Button, ButtonLink } from "../ui/button.js";
import { ColumnsMenu, hiddenColumns } from "../ui/columns.js";
import { Empty } from "../ui/empty.js";
import { Loading, PageHeader } from "../ui/page.js";
import { Pager, pageSize, usePages } from "../ui/pager.js";
import { ProblemBox } from "../ui/problem.js";
import { useSelection } from "../ui/selection.js";
import { Table } from "../ui/table.js";
import { ViewsMenu } from "../ui/views.js";

const TABLE = "rules";
const LEAST_SIZE = 25;
const REFRESH_SECONDS = 5;

/** Shows the rules of a stream. */
export default function RulesPage({ params }) {
  const { stream } = params;
  const { query } = route.value;
  const pages = usePages();
  const source = path`/v1/streams/${stream}/rules`;
  const list = usePolled(source, listQuery(query, pages.cursor, pageSize()), REFRESH_SECONDS);
  const selection = useSelection();
  const page = list.data;
  const newRule =
    can("author") &&
    html`<${ButtonLink} kind="primary" icon="plus" href=${path`/streams/${stream}/new-rule`}>New rule<//>`;

  return html`<${PageHeader} title="Rules" actions=${newRule} />
    ${page && html`<${JobNotice} stream=${stream} page=${page} />`}
    <${UnreadRules} stream=${stream} />
    <section class="card rules" aria-busy=${list.loading ? "true" : undefined}>
      <header class="rules-head">
        ${page && html`<${Counts} page=${page} />`}
        <div class="rules-tools">
          <${FilterBar} page=${page} stream=${stream} />
          <span class="row"><${ViewsMenu} list=${TABLE} /><${ColumnsMenu} table=${TABLE} columns=${MAY_BE_HIDDEN} /></span>
        </div>
      </header>
      ${list.problem && html`<div class="body"><${ProblemBox} problem=${list.problem} /></div>`}
      ${!page && !list.problem && html`<${Loading} what="rules" />`}
      ${page &&
      html`<${List}
        stream=${stream}
        page=${page}
        pages=${pages}
        loading=${list.loading}
        selection=${selection}
        newRule=${newRule}
      />`}
    </section>
    <${SelectionBar} stream=${stream} selection=${selection} onDone=${list.refresh} />`;
}

function List({ stream, page, pages, loading, selection, newRule }) {
  const { query } = route.value;
  const lines = page.items;
  const fixed = useMemo(() => columns(stream, setQuery), [stream]);
  const hidden = hiddenColumns(TABLE);
  const chosen = fixed.filter(({ key }) => !hidden.has(key));
  const shown = can("author") ? [tickColumn(selection, lines), ...chosen] : chosen;
  if (!lines.length) return html`<${Nothing} stream=${stream} newRule=${newRule} />`;
  return html`<${SelectAll} stream=${stream} selection=${selection} page=${page} />
    <div class=${loading ? "refreshing" : ""}>
      <${Table}
        className="rules-table"
        caption=${`Rules of ${stream}`}
        columns=${shown}
        rows=${lines}
        rowKey=${(line) => line.id}
        sort=${query.sort ?? DEFAULT_SORT}
        onSort=${(sort) => setQuery({ sort: sort === DEFAULT_SORT ? null : sort })}
        selected=${(line) => selection.ids.has(line.id)}
      />
    </div>
    <${Pager} pages=${pages} page=${page} sized=${page.total > LEAST_SIZE}><${Range} pages=${pages} page=${page} /><//>`;
}

function Range({ pages, page }) {
  if (pages.number === 1 && !page.next_cursor) return html`<span class="number">${plural(page.total, "rule")}</span>`;
  const before = (pages.number - 1) * pageSize();
  return html`<span class="number">
    ${count(before + 1)}–${count(before + page.items.length)} of ${count(page.total)}
  </span>`;
}

function Nothing({ stream, newRule }) {
  if (isFiltered(route.value.query)) {
    return html`<${Empty} title="No rules match these filters">
      <${Button} onClick=${() => setQuery(withoutFilters())}>Clear the filters<//>
    <//>`;
  }
  return html`<${Empty} title=${`No rules on ${stream} yet`}>
    <p>
      A rule defines which events, in which order, make a match. Write one here, or keep rules as files in a repository and
      publish them: <code>percept apply rules/</code>
    </p>
    ${newRule}
  <//>`;
}
