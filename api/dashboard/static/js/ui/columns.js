// Which columns of a table are shown: chosen behind a button, kept in this browser.
import { html, signal } from "../../vendor/preact.js";
import { Check } from "./field.js";
import { Menu } from "./menu.js";

const chosen = new Map();

/** The keys of the columns that are hidden in a table. @param {string} table @returns {Set<string>} */
export function hiddenColumns(table) {
  return hidden(table).value;
}

/**
 * The columns that are shown in a table, and the menu that chooses among them; the first is always shown.
 * @param {string} table @param {object[]} columns of the table
 */
export function chosenColumns(table, columns) {
  const hiddenKeys = hiddenColumns(table);
  const shown = columns.filter(({ key }, place) => place === 0 || !hiddenKeys.has(key));
  return { shown, menu: html`<${ColumnsMenu} table=${table} columns=${columns.slice(1)} />` };
}

/** @param {{table: string, columns: {key: string, label: string}[]}} properties columns: those that may be hidden */
export function ColumnsMenu({ table, columns }) {
  const keys = hidden(table);
  const toggle = (key, isShown) => {
    const next = new Set(keys.value);
    next[isShown ? "delete" : "add"](key);
    keys.value = next;
    localStorage.setItem(nameOf(table), JSON.stringify([...next]));
  };
  return html`<${Menu} label="Columns" icon="columns">
    ${columns.map(
      ({ key, label }) => html`<${Check}
        key=${key}
        label=${label}
        checked=${!keys.value.has(key)}
        onChange=${(isShown) => toggle(key, isShown)}
      />`,
    )}
  <//>`;
}

function hidden(table) {
  if (!chosen.has(table)) chosen.set(table, signal(new Set(kept(table))));
  return chosen.get(table);
}

function kept(table) {
  try {
    const keys = JSON.parse(localStorage.getItem(nameOf(table)));
    return Array.isArray(keys) ? keys : [];
  } catch {
    return [];
  }
}

function nameOf(table) {
  return `percept.columns.${table}`;
}
