// What a form does when it is sent: while it works it is busy, and what goes wrong is told in it.
import { useState } from "../../vendor/preact.js";

/**
 * A hook. @param {() => Promise<void>} work what it throws is the problem
 * @returns {{submit: (event: Event) => Promise<void>, busy: boolean, problem: Error|null}}
 */
export function useSubmit(work) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await work();
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return { submit, busy, problem };
}
