// One backtest: what ran over which events, and what it found.
import { html } from "../../vendor/preact.js";
import { BacktestResult, BacktestState } from "../backtests/result.js";
import { useBacktest } from "../backtests/use_backtest.js";
import { Time } from "../format.js";
import { Link, path } from "../router.js";
import { DefinitionText } from "../rule/definition.js";
import { Card, Loading, PageHeader } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";

export default function BacktestPage({ params }) {
  const { backtest, problem, refresh } = useBacktest(/^\d{1,15}$/.test(params.number) ? params.number : "0");
  const title = `Backtest #${params.number}`;
  if (problem && !backtest) return html`<${PageHeader} title=${title} /><${ProblemBox} problem=${problem} />`;
  if (!backtest) return html`<${PageHeader} title=${title} /><${Loading} what="the backtest" />`;
  const rule = path`/streams/${backtest.stream}/rules/${backtest.processor_id}`;
  return html`
    <${PageHeader}
      title=${title}
      above=${html`<${Link} href=${path`/streams/${backtest.stream}/rules`}>Rules of ${backtest.stream}<//> ›${" "}
        <${Link} href=${`${rule}?tab=backtests`}>${backtest.processor_id}<//>`}
      beside=${html`<span aria-live="polite"><${BacktestState} backtest=${backtest} /></span>`}
    >
      <p class="secondary">
        ${backtest.version === null ? "A draft" : `Version ${backtest.version}`} of${" "}
        <${Link} href=${rule}>${backtest.processor_id}<//>
        ${backtest.against_version !== null && ` against version ${backtest.against_version}`},
        ${" "}${span(backtest)}. Requested <${Time} at=${backtest.created_at} ago /> by <bdi>${backtest.created_by}</bdi>.
      </p>
    <//>
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <div class="stack">
      <${Card} title="Result">
        <${BacktestResult} backtest=${backtest} refresh=${refresh} />
      <//>
      <${DefinitionText} document=${backtest.document} />
    </div>
  `;
}

function span({ since, until }) {
  if (!since && !until) return "over all past events";
  return html`over past events${since && html` from <${Time} at=${since} />`}${until && html` until <${Time} at=${until} />`}`;
}
