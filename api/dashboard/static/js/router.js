// Paths and pages: the address bar is the state, every page has a link that can be sent to others.
import { html, signal } from "../vendor/preact.js";
import { withQuery } from "./api.js";
import { whenAtRest } from "./arrival.js";

const PLACES_KEY = "percept.places";

let table = [];
let entry = 0; // which one of the history of this tab is shown
let wanted = null; // how far down it was when it was left

/** Where we are: {path, pattern, params, query}; `query` is an object of strings. */
export const route = signal({ path: "/", pattern: "/", params: {}, query: {} });

/** Sets the known patterns, such as `/streams/:stream/rules`, and reads the address bar. */
export function startRouter(patterns) {
  table = patterns.map((pattern) => [pattern, expression(pattern)]);
  // The browser would scroll before there is anything to scroll to.
  history.scrollRestoration = "manual";
  window.addEventListener("popstate", goBack);
  window.addEventListener("pagehide", keepPlace);
  takeUp();
  readAddress();
}

/** Scrolls to where a page was left that has been gone back to; called when it is there. */
export function returnToPlace() {
  if (wanted !== null) window.scrollTo(0, wanted);
  wanted = null;
}

/** Goes to a page. @param {object} [query] @param {{replace?: boolean}} [options] */
export function navigate(path, query = {}, { replace = false } = {}) {
  const before = route.value.path;
  if (!replace) {
    keepPlace();
    entry = Date.now();
    wanted = null;
  }
  history[replace ? "replaceState" : "pushState"]({ entry }, "", withQuery(path, query));
  readAddress();
  if (route.value.path !== before) arrive();
}

/** Changes parts of the query in place; null or "" takes a part out. Another list begins at its first page. */
export function setQuery(patch, { replace = true } = {}) {
  navigate(route.value.path, patchedQuery(patch), { replace });
}

/** The query as it is after a change, for links. */
export function patchedQuery(patch) {
  return { ...route.value.query, page: null, cursor: null, ...patch };
}

/** A link inside the dashboard. All other attributes go to the `<a>`. */
export function Link({ href, query, children, ...attributes }) {
  const target = query ? withQuery(href, query) : href;
  const onClick = (event) => {
    const isPlain = !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    if (event.defaultPrevented || event.button !== 0 || !isPlain) return;
    event.preventDefault();
    const address = new URL(target, location.origin);
    navigate(address.pathname, Object.fromEntries(address.searchParams));
  };
  return html`<a href=${target} onClick=${onClick} ...${attributes}>${children}</a>`;
}

/** Returns the path of a page with its parts escaped: path`/streams/${name}/rules`. */
export function path(strings, ...parts) {
  return strings.reduce((text, string, index) => text + encodeURIComponent(parts[index - 1]) + string);
}

function readAddress() {
  const pathname = location.pathname.replace(/(?<=.)\/$/, "");
  const query = Object.fromEntries(new URLSearchParams(location.search));
  for (const [pattern, matcher] of table) {
    const found = matcher.exec(pathname);
    if (found) {
      const params = Object.fromEntries(
        Object.entries(found.groups ?? {}).map(([name, text]) => [name, decoded(text)]),
      );
      route.value = { path: pathname, pattern, params, query };
      return;
    }
  }
  route.value = { path: pathname, pattern: null, params: {}, query };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a lone % in an address that was typed
  }
}

function expression(pattern) {
  return new RegExp(`^${pattern.replace(/:(\w+)/g, "(?<$1>[^/]+)")}$`);
}

function goBack() {
  const before = route.value.path;
  keepPlace();
  takeUp();
  readAddress();
  if (route.value.path === before) whenAtRest(returnToPlace);
  else focusPage();
}

function takeUp() {
  entry = history.state?.entry ?? 0;
  wanted = places()[entry] ?? null;
}

function keepPlace() {
  sessionStorage.setItem(PLACES_KEY, JSON.stringify({ ...places(), [entry]: window.scrollY }));
}

function places() {
  return JSON.parse(sessionStorage.getItem(PLACES_KEY) ?? "{}");
}

function arrive() {
  window.scrollTo(0, 0);
  focusPage();
}

function focusPage() {
  // Screen readers continue at the new page, not at the link that was followed.
  requestAnimationFrame(() => document.querySelector("main")?.focus({ preventScroll: true }));
}
