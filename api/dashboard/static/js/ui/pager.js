// Moves through pages by cursor: the address names the page, so that it can be reloaded, sent and gone back to.
import { html } from "../../vendor/preact.js";
import { route, setQuery } from "../router.js";
import { Button } from "./button.js";
import { Select } from "./field.js";

const SIZES = [25, 50, 100, 200];
const DEFAULT_SIZE = 50;
const SIZE_KEY = "percept.rows";
const trails = new Map(); // in this tab, by list: the cursors of the pages gone through

/**
 * A hook: the page that the address names.
 * @returns {{cursor: string|null, number: number, next: (cursor: string) => void, back: () => void, first: () => void}}
 */
export function usePages() {
  const { path, query } = route.value;
  const { page, cursor = null, ...others } = query;
  const list = JSON.stringify([path, others]);
  const number = cursor ? Math.max(Number.parseInt(page, 10) || 2, 2) : 1;
  const trail = trails.get(list) ?? {};
  const go = (to, by) => {
    setQuery({ page: by ? to : null, cursor: by }, { replace: false });
    document.querySelector(".pager")?.closest(".card")?.scrollIntoView({ block: "start" });
  };
  return {
    cursor,
    number,
    next: (by) => {
      trails.set(list, { ...trail, [number]: cursor, [number + 1]: by });
      go(number + 1, by);
    },
    // The way back to a page that was opened by its address is not known, but for the first.
    back: () => (trail[number - 1] ? go(number - 1, trail[number - 1]) : go(1, null)),
    first: () => go(1, null),
  };
}

/** How many rows a page has: as the address says, else as chosen last in this browser. */
export function pageSize() {
  const asked = Number(route.value.query.rows ?? localStorage.getItem(SIZE_KEY));
  return SIZES.includes(asked) ? asked : DEFAULT_SIZE;
}

/** Whether a choice of sizes says anything of a list: not if all of it is on the smallest page. */
export function isSized(pages, page) {
  return pages.number > 1 || Boolean(page?.next_cursor) || (page?.items.length ?? 0) > SIZES[0];
}

/** The buttons of a list. @param {{pages: object, page: {next_cursor: string|null}|undefined, sized?: boolean, children?: any}} properties */
export function Pager({ pages, page, sized = false, children }) {
  const nextCursor = page?.next_cursor ?? null;
  const isWhole = pages.number === 1 && !nextCursor;
  if (isWhole && !children && !sized) return null;
  return html`<nav class="pager" aria-label="Pages of the list">
    <span>${children}</span>
    <span class="row">
      ${sized && html`<${SizeSelect} />`}
      ${!isWhole &&
      html`<span class="number">page ${pages.number}</span>
        ${pages.number > 2 && html`<${Button} small onClick=${pages.first}>First<//>`}
        <${Button} small icon="left" disabled=${pages.number === 1} onClick=${pages.back}>Back<//>
        <${Button} small disabled=${!nextCursor} onClick=${() => pages.next(nextCursor)}>Next<//>`}
    </span>
  </nav>`;
}

function SizeSelect() {
  const choose = (size) => {
    localStorage.setItem(SIZE_KEY, size);
    setQuery({ rows: size === String(DEFAULT_SIZE) ? null : size });
  };
  const options = SIZES.map((size) => [String(size), `${size} rows`]);
  return html`<${Select} label="Rows on a page" options=${options} value=${String(pageSize())} onChange=${choose} />`;
}
