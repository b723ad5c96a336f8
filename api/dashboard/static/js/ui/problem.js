// What went wrong, as what to do about it.
import { html } from "../../vendor/preact.js";
import { CodeBlock } from "./code.js";

const TITLES = {
  400: "Invalid request",
  403: "Not allowed",
  404: "Not found",
  409: "Not possible at the moment",
  412: "Changed in the meantime",
  413: "Too large",
  422: "Please correct the following",
  429: "Too many requests",
  500: "The service failed",
  503: "The service is not ready",
};
const ADVICE = {
  403: "Ask an admin for a token that has access.",
  404: "It may have been deleted, or the link is old.",
  409: "Its state does not allow this, or the name is already taken. Reload and try again.",
  412: "Close this to see the other change, and apply yours to it.",
  429: "Too many requests. Wait a moment.",
  500: "The service log shows the cause under the request id below.",
  503: "The service is busy or shutting down. Retrying automatically.",
};

/** Shows a Problem (or any Error): what, where, and what to do. */
export function ProblemBox({ problem }) {
  const status = problem.status ?? -1;
  const title = status === -1 ? "This page could not be displayed" : (TITLES[status] ?? problem.title);
  return html`<div class="problem" role="alert">
    <p><strong>${title}</strong></p>
    <p>${problem.detail ?? problem.message}</p>
    ${ADVICE[status] && html`<p class="secondary">${ADVICE[status]}</p>`}
    ${problem.errors?.length > 0 &&
    html`<ul>
      ${problem.errors.map((flaw, index) => html`<${FlawItem} key=${index} flaw=${flaw} />`)}
    </ul>`}
    ${problem.requestId &&
    status >= 500 &&
    html`<p class="muted">request id <code>${problem.requestId}</code></p>`}
  </div>`;
}

/** One flaw of a document: place, what is wrong, how to mend it, the line itself. */
export function FlawItem({ flaw }) {
  return html`<li>
    ${flaw.pointer && html`<code>${flaw.pointer}</code>${" "}`}${!flaw.pointer && flaw.line && html`<strong>line ${flaw.line}</strong>${" "}`}${flaw.detail}${" "}
    ${flaw.remedy && html`<span class="secondary">${flaw.remedy}</span>`}
    ${flaw.snippet && html`<${CodeBlock} text=${flaw.snippet} copy=${false} />`}
  </li>`;
}
