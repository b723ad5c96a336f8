// Why a rule finds nothing: each link from events to matches, whether it holds, and what to do.
import { html } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { Time, plural } from "../format.js";
import { Link, path } from "../router.js";
import { Loading } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { State } from "../ui/state.js";

/** @param {{rule: {id: string, stream: string}}} properties */
export function Diagnosis({ rule }) {
  const { data, problem } = usePolled(path`/v1/processors/${rule.id}/diagnosis`, {}, 5);
  if (problem && !data) return html`<${ProblemBox} problem=${problem} />`;
  if (!data) return html`<${Loading} what="the diagnosis" />`;
  return html`<div class="diagnosis" aria-live="polite">
    <h3>${data.matches ? "From events to matches" : "Why no matches?"}</h3>
    <p class="diagnosis-reason">
      ${data.reason
        ? html`<strong>${data.reason}.</strong>`
        : html`<strong>No problem found.</strong> Matching events may simply not have arrived yet.`}
    </p>
    <ul>
      ${data.lines.map((line) => html`<${Line} key=${`${line.job} ${line.link}`} line=${line} stream=${data.stream} />`)}
    </ul>
    ${data.jobs_left_out > 0 && html`<p class="secondary">${plural(data.jobs_left_out, "more job")} not shown.</p>`}
  </div>`;
}

function Line({ line, stream }) {
  return html`<li class=${`is-${line.state}`}>
    <${State} of="link" name=${line.state} />
    <div>
      <p>
        ${line.job && html`<${Link} href=${path`/streams/${stream}/jobs/${line.job}`}>${line.job}<//>${": "}`}
        <bdi>${line.title}</bdi>
        ${line.at !== null && html`<span class="secondary">, <${Time} at=${line.at} /></span>`}
      </p>
      ${line.detail && html`<p class="secondary">${line.detail}</p>`}
      ${line.remedy && line.state === "attention" && html`<p class="diagnosis-remedy">${line.remedy}</p>`}
    </div>
  </li>`;
}
