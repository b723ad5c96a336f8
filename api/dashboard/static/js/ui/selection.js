// Lines of a list are ticked, to do something with all of them.
import { useRef, useState } from "../../vendor/preact.js";

/** A hook: the ids that are ticked. With Shift a tick goes for all from the one before. */
export function useSelection() {
  const [ids, setIds] = useState(new Set());
  const before = useRef(null);
  const set = (some, isOn) => {
    setIds((known) => {
      const next = new Set(known);
      for (const id of some) next[isOn ? "add" : "delete"](id);
      return next;
    });
  };
  const tick = (listed, id, isOn, isRange) => {
    const [from, to] = [listed.indexOf(before.current), listed.indexOf(id)].sort((one, other) => one - other);
    set(isRange && from >= 0 ? listed.slice(from, to + 1) : [id], isOn);
    before.current = id;
  };
  return { ids, set, tick, clear: () => setIds(new Set()) };
}
