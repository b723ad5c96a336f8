// Checks a draft while it is typed: what it says, and what is wrong with it, by line.
import { useEffect, useRef, useState } from "../../vendor/preact.js";
import { ask, halted, reachable } from "../api.js";

const REST_MS = 300;

/**
 * @param {string|null} text null = there is none yet
 * @param {"yaml"|"json"} format
 * @returns {{document: object|null, problems: object[], checked: string|null, problem: Error|null}}
 *   `document` is the newest that could be read; `checked` is the text that `problems` are of.
 */
export function useCheck(text, format) {
  const [state, setState] = useState({ document: null, problems: [], checked: null, problem: null });
  const isFirst = useRef(true);
  const isHalted = halted.value;
  const isReachable = reachable.value;
  useEffect(() => {
    if (text === null || isHalted || !isReachable) return undefined;
    const abort = new AbortController();
    const check = async () => {
      try {
        const report = await checked(text, format, abort.signal);
        setState((before) => ({
          document: report.document ?? before.document,
          isReadable: report.document !== null,
          problems: report.problems,
          checked: text,
          problem: null,
        }));
      } catch (problem) {
        if (problem.name === "AbortError") return;
        setState((before) => ({ ...before, checked: null, problem: problem.status === 0 ? null : problem }));
      }
    };
    const timer = setTimeout(check, isFirst.current ? 0 : REST_MS);
    isFirst.current = false;
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, format, isHalted, isReachable]);
  return state;
}

/** What the service says of a text. @returns {Promise<{document: object|null, problems: object[]}>} null = it cannot be read */
export function checked(text, format, signal) {
  return ask("/v1/drafts/check", { text, format }, { signal });
}

/** Whether a checked draft may be published: it is checked as it stands, and nothing is wrong. */
export function isReady(check, text) {
  return check.checked === text && check.isReadable && !check.problems.some((each) => each.severity === "error");
}
