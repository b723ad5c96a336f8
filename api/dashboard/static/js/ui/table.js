// A dense table whose headers sort and whose rows become cards on a phone.
import { html } from "../../vendor/preact.js";

/**
 * A table.
 * @param {object} properties
 *   caption: what it lists, read out by screen readers.
 *   columns: [{key, label, cell: (row) => content, right?, sort?: name of the sort, className?, title?, spoken?}]
 *     title: what the label means, shown on hover. spoken: read out by screen readers in place of an empty label.
 *   rows: the rows; `rowKey(row)` identifies one.
 *   sort: the sort in force, "-" in front = descending; `onSort(name)` is called with the new one.
 *   selected: optional (row) => boolean.
 */
export function Table({ caption, columns, rows, rowKey, sort, onSort, selected, className = "" }) {
  return html`<div class="table-scroll" tabindex="-1">
    <table class=${`table cards ${className}`}>
      <caption class="visually-hidden">${caption}</caption>
      <thead>
        <tr>
          ${columns.map(
            (column) => html`<${Header} key=${column.key} column=${column} sort=${sort} onSort=${onSort} />`,
          )}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) => html`<tr key=${rowKey(row)} aria-selected=${selected?.(row) ? "true" : undefined}>
            ${columns.map(
              (column) =>
                html`<td
                  key=${column.key}
                  class=${classesOf(column)}
                  data-label=${typeof column.label === "string" ? column.label : ""}
                >
                  ${column.cell(row)}
                </td>`,
            )}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function Header({ column, sort, onSort }) {
  const classes = classesOf(column);
  if (!column.sort || !onSort) {
    const spoken = column.spoken && html`<span class="visually-hidden">${column.spoken}</span>`;
    return html`<th scope="col" class=${classes} title=${column.title}>${column.label || spoken}</th>`;
  }
  const isAscending = sort === column.sort;
  const isDescending = sort === `-${column.sort}`;
  const order = isAscending ? "ascending" : isDescending ? "descending" : undefined;
  const next = isDescending ? column.sort : isAscending ? `-${column.sort}` : column.first ?? column.sort;
  return html`<th scope="col" class=${classes} title=${column.title} aria-sort=${order}>
    <button type="button" onClick=${() => onSort(next)}>
      ${column.label}<span aria-hidden="true">${isAscending ? "↑" : isDescending ? "↓" : ""}</span>
    </button>
  </th>`;
}

function classesOf({ right, className }) {
  return [right && "right", className].filter(Boolean).join(" ");
}
