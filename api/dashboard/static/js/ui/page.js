// The head of a page: where it stands, its name, its state, what can be done.
import { html, useEffect } from "../../vendor/preact.js";

/**
 * @param {{title: string, above?: any, beside?: any, actions?: any, children?: any}} properties
 *   above: links to what it belongs to. beside: badges. children: one or two sentences below.
 */
export function PageHeader({ title, above, beside, actions, children }) {
  useEffect(() => {
    document.title = `${title} · Percept`;
  }, [title]);
  return html`<header class="page-header">
    ${above && html`<div class="above">${above}</div>`}
    <div class="title"><h1>${title}</h1>${beside}</div>
    ${actions && html`<div class="actions">${actions}</div>`}
    ${children && html`<div class="below"><div>${children}</div></div>`}
  </header>`;
}

/** A card with a heading. */
export function Card({ title, actions, padded = true, children }) {
  return html`<section class="card">
    ${title && html`<header><h2>${title}</h2>${actions && html`<div class="row">${actions}</div>`}</header>`}
    ${padded ? html`<div class="body">${children}</div>` : children}
  </section>`;
}

/** A number with its name. @param {{name: string, value: any, unit?: string, note?: any, kind?: "bad"|"warn"}} properties */
export function Figure({ name, value, unit, note, kind = "" }) {
  return html`<div class=${`figure ${kind}`}>
    <span class="name">${name}</span>
    <span class="value">${value}${unit && html`<span class="unit">${unit}</span>`}</span>
    ${note && html`<span class="note">${note}</span>`}
  </div>`;
}

const SKELETON = ["half", "whole", "most", "whole", "half most"];

/** What is shown until the first data is there. */
export function Loading({ what = "" }) {
  return html`<div class="loading" role="status">
    <span class="visually-hidden">Loading${what && ` ${what}`}…</span>
    ${SKELETON.map((width) => html`<span key=${width} class=${`skeleton ${width}`} aria-hidden="true"></span>`)}
  </div>`;
}
