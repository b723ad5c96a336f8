// Tabs that are links (each has its own address), and a small choice of one among few.
import { html } from "../../vendor/preact.js";
import { Link, patchedQuery, route } from "../router.js";

/**
 * Tabs kept in the query: ?tab=versions. The first one is the default and leaves the query clean.
 * @param {{tabs: {key: string, label: any, count?: number}[], name?: string, label: string}} properties
 */
export function Tabs({ tabs, name = "tab", label }) {
  const current = currentTab(tabs, name);
  const { path } = route.value;
  return html`<nav class="tabs" aria-label=${label}>
    ${tabs.map(
      ({ key, label: text, count }, index) =>
        html`<${Link}
          key=${key}
          href=${path}
          query=${patchedQuery({ [name]: index ? key : null })}
          aria-current=${key === current ? "page" : undefined}
        >
          ${text}${count !== undefined && html`<span class="count number">${count}</span>`}
        <//>`,
    )}
  </nav>`;
}

/** Returns the key of the tab that the address names. */
export function currentTab(tabs, name = "tab") {
  const wanted = route.value.query[name];
  return tabs.some(({ key }) => key === wanted) ? wanted : tabs[0].key;
}

/** A choice of one among few. @param {{options: [string, any][], value: string, onChange: (value: string) => void, label: string}} properties */
export function Segments({ options, value, onChange, label }) {
  return html`<div class="segments" role="group" aria-label=${label}>
    ${options.map(
      ([key, text]) =>
        html`<button
          type="button"
          key=${key}
          aria-pressed=${key === value ? "true" : "false"}
          onClick=${() => onChange(key)}
        >
          ${text}
        </button>`,
    )}
  </div>`;
}
