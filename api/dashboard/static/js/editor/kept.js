// Keeps a draft in this tab, so that a reload or a step back loses nothing.
import { useEffect } from "../../vendor/preact.js";

const PREFIX = "percept.draft.";

/** What was kept under a name: {text, format, revision, version}, or null. */
export function keptDraft(name) {
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + name));
  } catch {
    return null;
  }
}

/** Forgets it. */
export function forgetDraft(name) {
  sessionStorage.removeItem(PREFIX + name);
}

/** A hook: keeps a draft as long as it differs from what was loaded, and asks before the tab is closed. */
export function useKept(name, draft, isChanged) {
  useEffect(() => {
    if (!draft) return undefined;
    if (!isChanged) {
      forgetDraft(name);
      return undefined;
    }
    sessionStorage.setItem(PREFIX + name, JSON.stringify(draft));
    const warn = (event) => event.preventDefault();
    window.addEventListener("beforeunload", warn);
    return () => window.removeEventListener("beforeunload", warn);
  }, [name, draft?.text, draft?.format, draft?.revision, isChanged]);
}
