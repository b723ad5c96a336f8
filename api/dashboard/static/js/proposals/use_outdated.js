// While a proposal is edited: whether its rule has changed since it was made, or since that was looked at.
import { useEffect, useState } from "../../vendor/preact.js";
import { get, usePolled } from "../api.js";
import { path } from "../router.js";
import { toastProblem } from "../ui/toast.js";
import { baseOf, isOutdated } from "./outdated.js";

/**
 * A hook.
 * @param {object|undefined} proposal the one that is edited
 * @param {number} seconds between two looks
 * @returns {[{base: object, theirs: object}|null, () => void]} what to merge, and what to call once it is merged
 */
export function useOutdated(proposal, seconds) {
  const [found, setFound] = useState(null);
  const [settled, setSettled] = useState(null);
  const newest = usePolled(proposal ? path`/v1/proposals/${proposal.id}` : null, null, seconds).data ?? proposal;
  useEffect(() => {
    if (!newest || !isOutdated(newest)) return undefined;
    let gone = false;
    get(path`/v1/processors/${newest.processor_id}`).then((theirs) => {
      if (gone || theirs.revision === settled?.revision) return;
      setFound({ base: settled ?? baseOf(newest, theirs), theirs });
    }, toastProblem);
    return () => {
      gone = true;
    };
  }, [newest]);
  const settle = () => {
    setSettled({ ...found.theirs, isProposed: true });
    setFound(null);
  };
  return [found, settle];
}
