// Beside the editor: the draft over past events, compared with what is published.
import { html, useState } from "../../vendor/preact.js";
import { Time } from "../format.js";
import { Link } from "../router.js";
import { Card } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { BacktestForm } from "./form.js";
import { pathOf } from "./list.js";
import { BacktestResult } from "./result.js";
import { useBacktest } from "./use_backtest.js";

/**
 * @param {object} properties
 *   stream: as the service shows it. document: what the draft says. rule: the rule it changes, if any.
 *   isReady: whether it could be published.
 */
export function DraftBacktest({ stream, document, rule, isReady }) {
  const [requested, setRequested] = useState(null);
  const [run, setRun] = useState(null);
  const { backtest, problem, refresh } = useBacktest(requested?.number ?? null);
  const written = JSON.stringify(document);
  return html`<${Card} title="Backtest">
    <div class="backtest-draft">
      <${BacktestForm}
        stream=${stream.name}
        tried=${{ document }}
        canCompare=${Boolean(rule?.published.length)}
        isReady=${isReady}
        onRequested=${(asked) => {
          setRequested(asked);
          setRun(written);
        }}
      />
      ${problem && html`<${ProblemBox} problem=${problem} />`}
      ${backtest &&
      html`<div class="backtest-of-draft">
        <p>
          <${Link} href=${pathOf(backtest)}>Backtest #${backtest.number}<//>, requested <${Time} at=${backtest.created_at} ago />
          ${run !== written && html`<strong> for an earlier version of this draft</strong>`}
        </p>
        <${BacktestResult} backtest=${backtest} refresh=${refresh} />
      </div>`}
    </div>
  <//>`;
}
