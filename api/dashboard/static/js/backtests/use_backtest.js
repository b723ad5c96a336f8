// One backtest, read again while it waits or runs.
import { useEffect, useState } from "../../vendor/preact.js";
import { usePolled } from "../api.js";

const SOON_SECONDS = 1;

/** @returns {{backtest: object|undefined, problem: object|null, refresh: () => void}} */
export function useBacktest(number) {
  const [hasEnded, setEnded] = useState(false);
  const path = number === null ? null : `/v1/backtests/${number}`;
  const { data, problem, refresh } = usePolled(path, {}, hasEnded ? 0 : SOON_SECONDS);
  const ended = Boolean(data) && !isUnderWay(data);
  useEffect(() => setEnded(ended), [ended, number]);
  return { backtest: data, problem, refresh };
}

/** Whether a backtest waits or runs. */
export function isUnderWay({ state }) {
  return state === "queued" || state === "running";
}
