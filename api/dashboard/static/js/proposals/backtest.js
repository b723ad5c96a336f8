// What is proposed over past events: the newest backtest of it, and another one.
import { html } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { BacktestForm } from "../backtests/form.js";
import { pathOf } from "../backtests/list.js";
import { BacktestResult } from "../backtests/result.js";
import { useBacktest } from "../backtests/use_backtest.js";
import { Time } from "../format.js";
import { Link } from "../router.js";
import { can } from "../session.js";
import { Card } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";

const SECONDS = 5;

/** @param {{proposal: object}} properties a whole proposal that has a document */
export function BacktestCard({ proposal }) {
  const same = { stream: proposal.stream, processor: proposal.processor_id, content_hash: proposal.content_hash, limit: 1 };
  const { data, problem, refresh } = usePolled("/v1/backtests", same, SECONDS);
  const newest = data?.items[0];
  const shown = useBacktest(newest?.number ?? null);
  return html`<${Card} title="Backtest">
    <div class="backtest-draft">
      ${problem && html`<${ProblemBox} problem=${problem} />`}
      ${data && !newest && html`<p class="secondary">This proposal has not been run over past events yet.</p>`}
      ${shown.backtest &&
      html`<div class="backtest-draft">
        <p>
          <${Link} href=${pathOf(shown.backtest)}>Backtest #${shown.backtest.number}<//>, requested${" "}
          <${Time} at=${shown.backtest.created_at} ago /> by <bdi>${shown.backtest.created_by}</bdi>
        </p>
        <${BacktestResult} backtest=${shown.backtest} refresh=${shown.refresh} />
      </div>`}
      ${can("author") &&
      proposal.state === "open" &&
      html`<${BacktestForm}
        stream=${proposal.stream}
        tried=${{ document: proposal.document }}
        canCompare=${proposal.base_version !== null}
        onRequested=${refresh}
      />`}
    </div>
  <//>`;
}
