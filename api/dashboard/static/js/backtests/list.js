// The backtests of a rule: run another one, and those that are kept.
import { html } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { Time, count } from "../format.js";
import { Link, navigate, path } from "../router.js";
import { can } from "../session.js";
import { Empty } from "../ui/empty.js";
import { Card, Loading } from "../ui/page.js";
import { Pager, usePages } from "../ui/pager.js";
import { ProblemBox } from "../ui/problem.js";
import { Table } from "../ui/table.js";
import { BacktestForm } from "./form.js";
import { BacktestState } from "./result.js";

const LOOK_SECONDS = 3;

/** @param {{rule: object}} properties */
export function RuleBacktests({ rule }) {
  const pages = usePages();
  const query = { processor: rule.id, limit: 20, cursor: pages.cursor };
  const { data, problem } = usePolled("/v1/backtests", query, LOOK_SECONDS);
  const version = rule.rollout?.version ?? rule.version;
  const canCompare = rule.published.length > 0 && !rule.published.some((each) => each.version === version);
  const show = (backtest) => navigate(pathOf(backtest));
  const columns = [
    { key: "number", label: "Backtest", cell: (each) => html`<${Link} href=${pathOf(each)}>#${each.number}<//>` },
    { key: "state", label: "State", cell: (each) => html`<${BacktestState} backtest=${each} />` },
    { key: "version", label: "Version", cell: versions },
    { key: "matches", label: "Matches", right: true, cell: (each) => count(each.matches) },
    { key: "gained", label: "Gained", right: true, cell: (each) => count(each.gained) },
    { key: "lost", label: "Lost", right: true, cell: (each) => count(each.lost) },
    { key: "events", label: "Events", right: true, cell: (each) => count(each.events_done) },
    { key: "created", label: "Requested", cell: (each) => html`<${Time} at=${each.created_at} ago /> by <bdi>${each.created_by}</bdi>` },
  ];
  return html`<div class="stack">
    ${can("author") &&
    html`<${Card} title=${`Run version ${version} over past events`}>
      <${BacktestForm}
        stream=${rule.stream}
        tried=${{ processor_id: rule.id, version }}
        canCompare=${canCompare}
        onRequested=${show}
      />
    <//>`}
    <${Card} title="Backtests" padded=${false}>
      ${problem && html`<${ProblemBox} problem=${problem} />`}
      ${!data && !problem && html`<${Loading} what="the backtests" />`}
      ${data &&
      (data.items.length
        ? html`<${Table} caption="Backtests of this rule" columns=${columns} rows=${data.items} rowKey=${(each) => each.number} />`
        : html`<${Empty} title="No backtests yet"><p>A backtest shows what a rule would have found in past events.</p><//>`)}
      <${Pager} pages=${pages} page=${data} />
    <//>
  </div>`;
}

/** Where a backtest is shown. */
export function pathOf(backtest) {
  return path`/streams/${backtest.stream}/backtests/${String(backtest.number)}`;
}

function versions({ version, against_version: against }) {
  const tried = version === null ? "draft" : `v${version}`;
  return against === null ? tried : `${tried} against v${against}`;
}
