// The version that is tried beside the published one: what it finds, its share of the keys, its end.
import { html, useState } from "../../vendor/preact.js";
import { send, usePolled } from "../api.js";
import { now } from "../clock.js";
import { Time, count, millis, plural, roughly } from "../format.js";
import { path } from "../router.js";
import { can } from "../session.js";
import { Button } from "../ui/button.js";
import { Confirm } from "../ui/dialog.js";
import { Field } from "../ui/field.js";
import { Folded } from "../ui/folded.js";
import { Card, Loading } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { State } from "../ui/state.js";
import { toast } from "../ui/toast.js";
import { ApprovalsNote } from "../proposals/propose.js";
import { etagOf, orPropose, verbFor } from "./actions.js";
import { VersionDiff } from "./diff.js";

// What is below one of these is little to judge a version by.
const ENOUGH = { ms: 86_400_000, events: 10_000, matches: 10 };

/** @param {{rule: object, refresh: () => void}} properties a rule that has a rollout */
export function RolloutCard({ rule, refresh }) {
  const [open, setOpen] = useState(null);
  const { data, problem } = usePolled(rolloutPath(rule), {}, 5);
  const tried = rule.rollout;
  const shared = { rule, refresh, onClose: () => setOpen(null) };
  const isNew = !rule.published.length;
  return html`<${Card}
    title=${`Version ${tried.version} ${tried.share_percent ? `for ${percent(tried.share_percent)} of the keys` : "in shadow"}`}
    actions=${can("publisher") &&
    html`<${Button} small onClick=${() => setOpen("share")} disabled=${isNew}>Change share…<//>
      <${Button} small onClick=${() => setOpen("end")} disabled=${isNew}>End…<//>
      <${Button} small kind="primary" onClick=${() => setOpen("promote")}>Promote…<//>`}
  >
    <div class="rollout">
    <p class="secondary">
      ${tried.share_percent
        ? `Its matches count for ${percent(tried.share_percent)} of the keys; those of the published version count for the others.`
        : "It runs on all events. Its matches do not count and are sent only to outputs that include shadow matches."}
    </p>
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    ${!data && !problem && html`<${Loading} what="the comparison" />`}
    ${data && !data.jobs.length && html`<p>No job has reported yet.</p>`}
    ${data?.jobs.map((job) => html`<${InJob} key=${job.job} job=${job} rollout=${data} />`)}
    ${!isNew &&
    html`<details class="rollout-diff">
      <summary>What it changes</summary>
      <${VersionDiff} id=${rule.id} before=${rule.version} after=${tried.version} />
    </details>`}
    </div>
    ${open === "share" && html`<${Share} ...${shared} />`}
    ${open === "end" && html`<${End} ...${shared} />`}
    ${open === "promote" && html`<${Promote} ...${shared} rollout=${data} />`}
  <//>`;
}

function InJob({ job, rollout }) {
  const isAlone = !rollout.published_versions.length;
  const missing = job.is_complete ? job.finds - job.both - job.gained : 0;
  const figures = [
    ["found", job.finds],
    ...(isAlone ? [] : [["by both", job.both], ["only by this version", job.gained], ["only by the published version", job.lost]]),
    ["partial matches", job.partial_matches],
  ];
  return html`<section class="rollout-job">
    <h3>${job.job} <${State} of="running" name=${job.state} /></h3>
    ${job.error && html`<${Folded} className="error-text" text=${job.error} />`}
    <dl class="rollout-figures">
      ${figures.map(
        ([label, value]) => html`<div key=${label}><dt>${label}</dt><dd>${count(value)}</dd></div>`,
      )}
    </dl>
    ${!job.is_complete && html`<p class="secondary">Only the first 20,000 matches are compared.</p>`}
    ${!isAlone && missing > 0 &&
    html`<p class="secondary">
      ${plural(missing, "match", "matches")} of this version did not reach the service. The job's output to the service must
      include the kind shadow.
    </p>`}
    ${!isAlone && html`<${Samples} title="Only found by this version" matches=${job.newest_gained} />`}
    ${!isAlone && html`<${Samples} title="Only found by the published version" matches=${job.newest_lost} />`}
  </section>`;
}

function Samples({ title, matches }) {
  if (!matches.length) return null;
  return html`<div>
    <h4>${title}</h4>
    <ul class="rollout-samples">
      ${matches.map(
        (match) => html`<li key=${match.match_id}>
          <bdi>${match.key_text || "global key"}</bdi> <span class="secondary"><${Time} at=${match.end} /></span>
        </li>`,
      )}
    </ul>
  </div>`;
}

function Share({ rule, refresh, onClose }) {
  const [share, setShare] = useState(String(rule.rollout.share_percent || 5));
  const make = async (comment) => {
    const body = { share_percent: Number(share) };
    await send("PATCH", rolloutPath(rule), body, { query: { comment }, etag: etagOf(rule) });
    toast(`Version ${rule.rollout.version} has ${percent(Number(share))} of the keys from the next batch on.`);
    refresh();
  };
  const isFree = Number(share) <= rule.rollout.share_percent;
  const change = { kind: "share", processor_id: rule.id, share_percent: Number(share) };
  const act = orPropose(rule, change, make, isFree);
  return html`<${Confirm} title="Change the share" verb=${verbFor(rule, "Change", isFree)} act=${act} onClose=${onClose}>
    <p>
      For these keys the matches of version ${rule.rollout.version} count instead of those of the published version.
      Raising the share keeps keys already in it. At 0 it only runs in shadow.
    </p>
    ${!isFree && html`<${ApprovalsNote} stream=${rule.stream} />`}
    <${Field}
      label="Share of the keys, in percent"
      control=${(tied) => html`<input
        class="input"
        type="number"
        min="0"
        max="99.99"
        step="0.01"
        value=${share}
        required
        onInput=${(event) => setShare(event.currentTarget.value)}
        ...${tied}
      />`}
    />
  <//>`;
}

function Promote({ rule, rollout, refresh, onClose }) {
  const { version } = rule.rollout;
  const [isSure, setSure] = useState(false);
  const ran = rollout && { ms: now.value - millis(rollout.created_at), events: total(rollout, "events"), matches: total(rollout, "finds") };
  const isLittle = !ran || Object.keys(ENOUGH).some((name) => ran[name] < ENOUGH[name]);
  const make = async (comment) => {
    await send("POST", `${rolloutPath(rule)}/promote`, undefined, { query: { comment }, etag: etagOf(rule) });
    toast(`Version ${version} was published.`);
    refresh();
  };
  const act = orPropose(rule, { kind: "promote", processor_id: rule.id }, make);
  const verb = verbFor(rule, "Promote");
  return html`<${Confirm} title=${`Publish version ${version} for all keys?`} verb=${verb} act=${act} ready=${isSure || !isLittle} onClose=${onClose}>
    <p>It keeps its partial matches and replaces the version published now.</p>
    ${ran
      ? html`<p>
          <strong>On trial for ${roughly(ran.ms)}</strong>, over ${plural(ran.events, "event")}; it found
          ${" "}${plural(ran.matches, "match", "matches")}.
        </p>`
      : html`<p>How long it ran, and over how many events, is not known yet.</p>`}
    ${isLittle &&
    html`<p>
      <strong>That is little to judge by:</strong> less than a day, ${count(ENOUGH.events)} events or ${ENOUGH.matches} matches.
    </p>
    <label class="check">
      <input type="checkbox" checked=${isSure} onChange=${(event) => setSure(event.currentTarget.checked)} />
      Publish it all the same
    </label>`}
    <${ApprovalsNote} stream=${rule.stream} />
  <//>`;
}

function End({ rule, refresh, onClose }) {
  const { version } = rule.rollout;
  const act = async (comment) => {
    await send("DELETE", rolloutPath(rule), undefined, { query: { comment }, etag: etagOf(rule) });
    toast(`Trial of version ${version} ended.`);
    refresh();
  };
  return html`<${Confirm} title=${`End trial of version ${version}?`} verb="End" danger act=${act} onClose=${onClose}>
    <p>It stops, and the published version takes all keys. That version has run on all keys throughout.</p>
  <//>`;
}

function total(rollout, name) {
  return rollout.jobs.reduce((sum, job) => sum + job[name], 0);
}

function rolloutPath(rule) {
  return path`/v1/processors/${rule.id}/rollout`;
}

function percent(share) {
  return `${share}%`;
}
