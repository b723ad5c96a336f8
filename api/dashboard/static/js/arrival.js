// When a page is there: as soon as all that it reads first is, so that nothing moves under the eye or the hand.
import { useEffect, useState } from "../vendor/preact.js";
import { readsUnderWay } from "./api.js";

const LONGEST_MS = 2_000;
const AFTER_FRAME_MS = 20; // what an answer asks for next is asked behind the frame that shows it
const RESTS = 2;

/**
 * Calls back once nothing is being read and nothing more is asked for, or that has taken too long.
 * @param {() => void} onRest @returns {() => void} ends the wait
 */
export function whenAtRest(onRest) {
  let frame = null;
  let look = null;
  let rests = 0;
  const end = () => {
    cancelAnimationFrame(frame);
    clearTimeout(look);
    clearTimeout(longest);
  };
  const rest = () => {
    end();
    onRest();
  };
  const next = () => {
    frame = requestAnimationFrame(() => {
      look = setTimeout(() => {
        rests = readsUnderWay() ? 0 : rests + 1;
        if (rests < RESTS) next();
        else rest();
      }, AFTER_FRAME_MS);
    });
  };
  const longest = setTimeout(rest, LONGEST_MS);
  next();
  return end;
}

/** A hook: whether a page is there. @param {boolean} isLoaded whether its code is @param {() => void} onThere */
export function useArrival(isLoaded, onThere) {
  const [isThere, setThere] = useState(false);
  useEffect(() => (isLoaded ? whenAtRest(() => setThere(true)) : undefined), [isLoaded]);
  useEffect(() => {
    if (isThere) onThere();
  }, [isThere]);
  return isThere;
}
