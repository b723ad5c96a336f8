// What is open for one key of a rule: how far it came, what it waits for, when it expires.
import { html, useState } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { Time, plural } from "../format.js";
import { Link, path } from "../router.js";
import { Button } from "../ui/button.js";
import { TextField } from "../ui/field.js";
import { Card, Loading } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { Table } from "../ui/table.js";

const SECONDS = 2; // jobs go on telling for a minute after the last time they were asked

/** @param {{rule: {id: string, stream: string, document: object}}} properties */
export function PartialMatchesCard({ rule }) {
  const keys = rule.document?.key_by ?? [];
  const [written, setWritten] = useState("");
  const [asked, setAsked] = useState(null);
  const ask = (event) => {
    event.preventDefault();
    setAsked(written.trim());
  };
  return html`<${Card} title="Partial matches of a key"><div class="stack">
    <form class="row key-question" onSubmit=${ask}>
      ${keys.length > 0 &&
      html`<${TextField}
        label=${`Key: ${keys.join(", ")}`}
        value=${written}
        onInput=${setWritten}
        maxlength="2000"
        autocomplete="off"
        required
        hint=${keys.length > 1 ? "As shown in the list of matches: values joined by a comma and a space." : "As shown in the list of matches."}
      />`}
      <${Button} type="submit">${keys.length ? "Show" : "Show open partial matches"}<//>
    </form>
    ${asked !== null && html`<${Told} key=${asked} rule=${rule} asked=${asked} />`}
  </div><//>`;
}

function Told({ rule, asked }) {
  const { data, problem } = usePolled(path`/v1/processors/${rule.id}/partial-matches`, { key: asked }, SECONDS);
  if (problem && !data) return html`<${ProblemBox} problem=${problem} />`;
  if (!data) return html`<${Loading} what="the partial matches" />`;
  return html`<div class="stack" aria-live="polite">
    ${data.jobs.length === 0 && html`<p>No job runs the stream <strong>${data.stream}</strong>.</p>`}
    ${data.jobs.map((each) => html`<${OfJob} key=${each.job.id} told=${each} stream=${data.stream} />`)}
    ${data.jobs_left_out > 0 && html`<p class="secondary">${plural(data.jobs_left_out, "more job")} not shown.</p>`}
  </div>`;
}

function OfJob({ told, stream }) {
  const job = html`<${Link} href=${path`/streams/${stream}/jobs/${told.job.name}`}>${told.job.name}<//>`;
  if (told.answered_at === null) {
    return html`<p>${job}: waiting for the next batch with events.</p>`;
  }
  if (told.problem) return html`<p>${job}: ${told.problem}.</p>`;
  const columns = [
    { key: "steps", label: "Progress", className: "name", cell: (each) => html`<${Steps} partial=${each} />` },
    { key: "awaited", label: "Waiting for", cell: (each) => html`<${Awaited} partial=${each} />` },
    { key: "started", label: "Started", cell: (each) => html`<${Time} at=${each.started} />` },
    { key: "last", label: "Newest event", cell: (each) => html`<${Time} at=${each.last} />` },
    { key: "expires", label: "Expires", cell: (each) => html`<${Time} at=${each.expires} none="never" />` },
    { key: "version", label: "Version", right: true, cell: (each) => each.version },
  ];
  return html`<div>
    <p>
      ${job}: <strong>${plural(told.open, "partial match", "partial matches")}</strong> open
      ${told.held_back > 0 && html`${" "}and ${plural(told.held_back, "match", "matches")} held back`}${" "}
      <span class="secondary">at event time <${Time} at=${told.watermark} none="unknown" /></span>
    </p>
    ${told.partial_matches.length > 0 &&
    html`<${Table}
      caption="Partial matches of the key, most progress first"
      columns=${columns}
      rows=${told.partial_matches.map((each, place) => ({ ...each, place }))}
      rowKey=${(each) => each.place}
    />`}
    ${told.open > told.partial_matches.length &&
    told.partial_matches.length > 0 &&
    html`<p class="secondary">Only those with the most progress are shown.</p>`}
  </div>`;
}

function Steps({ partial }) {
  const steps = partial.steps.map(
    (step, place) => html`${place > 0 && " → "}<bdi>${step.name}</bdi>${step.count > 1 && ` × ${step.count}`}`,
  );
  return html`<span>${steps}</span>`;
}

function Awaited({ partial }) {
  const steps = partial.awaited.map(
    (step, place) => html`${place > 0 && " or "}<bdi title=${step.condition}>${step.name}</bdi>`,
  );
  const awaited = steps.length ? steps : html`<span class="secondary">its window to close</span>`;
  return html`<span>${awaited}<${Without} forbidden=${partial.forbidden} /></span>`;
}

function Without({ forbidden }) {
  if (!forbidden.length) return null;
  return html` <span class="secondary">without ${forbidden.map((step) => step.name).join(" or ")}</span>`;
}
