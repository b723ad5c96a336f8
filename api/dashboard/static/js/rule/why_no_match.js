// Why there was no match for a key at a time in the past: asked, answered by a worker with the archive.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { send, usePolled } from "../api.js";
import { isUnderWay } from "../backtests/use_backtest.js";
import { path } from "../router.js";
import { Button } from "../ui/button.js";
import { TextField } from "../ui/field.js";
import { Card, Loading } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { useSubmit } from "../ui/submit.js";
import { InstantField } from "../ui/time_field.js";
import { ZoneNote } from "../ui/zone.js";

const SOON_SECONDS = 1;

/** @param {{rule: {id: string, stream: string, document: object}}} properties */
export function WhyNoMatchCard({ rule }) {
  const keys = rule.document?.key_by ?? [];
  const [key, setKey] = useState("");
  const [since, setSince] = useState(null);
  const [until, setUntil] = useState(null);
  const [asked, setAsked] = useState(null);
  const { submit, busy, problem } = useSubmit(async () =>
    setAsked(await send("POST", path`/v1/processors/${rule.id}/explanations`, { key: key.trim(), since, until })),
  );
  return html`<${Card} title="Why no match at that time?"><div class="stack">
    <form class="stack" onSubmit=${submit}>
      ${keys.length > 0 &&
      html`<${TextField}
        label=${`Key: ${keys.join(", ")}`}
        value=${key}
        onInput=${setKey}
        maxlength="2000"
        autocomplete="off"
        required
      />`}
      <div class="row">
        <${InstantField} label="From" value=${since} onChange=${setSince} required />
        <${InstantField} label="Until" value=${until} onChange=${setUntil} required />
      </div>
      <p class="secondary"><${ZoneNote} stream=${rule.stream} /> A worker reads the events of this key in its archive.</p>
      ${problem && html`<${ProblemBox} problem=${problem} />`}
      <div class="row"><${Button} type="submit" busy=${busy}>Explain<//></div>
    </form>
    ${asked && html`<${Told} key=${asked.number} rule=${rule} asked=${asked} />`}
  </div><//>`;
}

function Waiting({ url }) {
  const { submit, busy, problem } = useSubmit(() => send("POST", `${url}/cancel`));
  return html`<div class="stack">
    <${Loading} what="the answer of a worker" />
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <div class="row"><${Button} kind="plain" small busy=${busy} onClick=${submit}>Cancel<//></div>
  </div>`;
}

function Told({ rule, asked }) {
  const [hasEnded, setEnded] = useState(false);
  const url = path`/v1/processors/${rule.id}/explanations/${asked.number}`;
  const { data, problem } = usePolled(url, {}, hasEnded ? 0 : SOON_SECONDS);
  const told = data ?? asked;
  const ended = !isUnderWay(told);
  useEffect(() => setEnded(ended), [ended]);
  if (problem && !data) return html`<${ProblemBox} problem=${problem} />`;
  if (!ended) return html`<${Waiting} url=${url} />`;
  if (told.state === "cancelled") return html`<p class="secondary" role="status">The question was cancelled.</p>`;
  if (!told.report) return html`<p role="alert">It could not be told: ${told.error}</p>`;
  return html`<div class="why-lines" aria-live="polite">
    ${told.lines.map((line, place) => html`<div key=${place} class=${line.style}>${line.text}</div>`)}
  </div>`;
}
