// Moves through pages by cursor; the way back is remembered in this tab only.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { Button } from "./button.js";

/**
 * A hook: the cursor of the page shown. It begins anew when `key` (filters and sort) changes.
 * @returns {{cursor: string|null, number: number, next: (cursor: string) => void, back: () => void}}
 */
export function usePages(key) {
  const [state, setState] = useState({ key, trail: [] });
  const trail = state.key === key ? state.trail : [];
  useEffect(() => {
    if (state.key !== key) setState({ key, trail: [] });
  }, [key]);
  return {
    cursor: trail.at(-1) ?? null,
    number: trail.length + 1,
    next: (cursor) => setState({ key, trail: [...trail, cursor] }),
    back: () => setState({ key, trail: trail.slice(0, -1) }),
  };
}

/** The buttons of a list. @param {{pages: object, page: {next_cursor: string|null}|undefined, children?: any}} properties */
export function Pager({ pages, page, children }) {
  const nextCursor = page?.next_cursor ?? null;
  if (pages.number === 1 && !nextCursor && !children) return null;
  return html`<nav class="pager" aria-label="Pages of the list">
    <span>${children}</span>
    <span class="row">
      <span class="number">page ${pages.number}</span>
      <${Button} small icon="left" disabled=${pages.number === 1} onClick=${pages.back}>Back<//>
      <${Button} small disabled=${!nextCursor} onClick=${() => pages.next(nextCursor)}>Next<//>
    </span>
  </nav>`;
}
