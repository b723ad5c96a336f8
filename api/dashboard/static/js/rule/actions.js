// What can be done with a rule, each behind a question: pause, resume, schedule, roll back, delete.
import { html, useState } from "../../vendor/preact.js";
import { get, send } from "../api.js";
import { now } from "../clock.js";
import { Time, localTime, millis } from "../format.js";
import { navigate, path } from "../router.js";
import { ApprovalsNote, makeOrPropose, proposes } from "../proposals/propose.js";
import { can } from "../session.js";
import { apart } from "../ui/apart.js";
import { Button, ButtonLink } from "../ui/button.js";
import { Confirm } from "../ui/dialog.js";
import { SelectField } from "../ui/field.js";
import { Menu } from "../ui/menu.js";
import { TimeField, instantOf, localInput } from "../ui/time_field.js";
import { toast } from "../ui/toast.js";
import { VersionDiff } from "./diff.js";
import { Snooze } from "./snoozes.js";

/** The ETag of a rule as the service gives it: its revision. */
export function etagOf(rule) {
  return `"${rule.revision}"`;
}

/** The buttons of a rule's page. @param {{rule: object, versions: object[], refresh: () => void}} properties */
export function RuleActions({ rule, versions, refresh }) {
  const [open, setOpen] = useState(null);
  const close = () => setOpen(null);
  const paused = isPaused(rule);
  const editPath = path`/streams/${rule.stream}/rules/${rule.id}/edit`;
  const shared = { rule, versions, refresh, onClose: close };
  return html`
    ${can("publisher") &&
    html`<${Button} icon=${paused ? "play" : "pause"} onClick=${() => setOpen(paused ? "resume" : "pause")}>
      ${paused ? "Resume" : "Pause"}
    <//>`}
    ${can("author") && html`<${ButtonLink} icon="edit" href=${editPath}>Edit<//>`}
    ${can("author") &&
    html`<${Menu} label="More actions">
      ${can("publisher") &&
      html`<button type="button" onClick=${() => setOpen("snooze")}>Snooze…</button>
        <button type="button" onClick=${() => setOpen("schedule")}>Schedule a version…</button>
        <button type="button" disabled=${targets(versions).length < 2} onClick=${() => setOpen("rollback")}>Roll back…</button>`}
      <button
        type="button"
        onClick=${() => navigate(path`/streams/${rule.stream}/new-rule`, { copy: rule.id })}
      >
        Duplicate
      </button>
      ${can("publisher") &&
      html`<hr /><button type="button" class="danger" onClick=${() => setOpen("delete")}>Delete…</button>`}
    <//>`}
    ${open === "pause" && html`<${Pause} ...${shared} />`}
    ${open === "resume" && html`<${Resume} ...${shared} />`}
    ${open === "snooze" && html`<${Snooze} ...${shared} />`}
    ${open === "schedule" && html`<${Schedule} ...${shared} />`}
    ${open === "rollback" && html`<${RollBack} ...${shared} />`}
    ${open === "delete" && html`<${Delete} ...${shared} />`}
  `;
}

/** The word on the button of a change: it proposes where the stream asks for approvals. */
export function verbFor(rule, verb, isFree = false) {
  return !isFree && proposes(rule.stream) ? "Propose" : verb;
}

/** What a dialog does: the change itself, or a proposal of it; `isFree` changes need no approval. */
export function orPropose(rule, change, make, isFree = false) {
  if (isFree) return make;
  return (comment) => makeOrPropose({ stream: rule.stream, change, comment, make: () => make(comment) });
}

function isPaused(rule) {
  return rule.state === "paused";
}

function rulePath(rule) {
  return path`/v1/processors/${rule.id}`;
}

function Pause({ rule, refresh, onClose }) {
  const act = async (comment) => {
    await send("POST", `${rulePath(rule)}/pause`, undefined, { query: { comment }, etag: etagOf(rule) });
    toast(apart`${rule.id} was paused. Jobs pick it up with their next batch.`);
    refresh();
  };
  return html`<${Confirm} title=${apart`Pause ${rule.id}?`} verb="Pause" act=${act} onClose=${onClose}>
    <p>Jobs stop it with their next batch. Partial matches are dropped; pending matches are still sent. The jobs of the rule count both, as dropped and released. Its versions are kept.</p>
  <//>`;
}

function Resume({ rule, refresh, onClose }) {
  const make = async (comment) => {
    await send("POST", `${rulePath(rule)}/resume`, undefined, { query: { comment }, etag: etagOf(rule) });
    toast(apart`${rule.id} was resumed. Jobs pick it up with their next batch.`);
    refresh();
  };
  const act = orPropose(rule, { kind: "resume", processor_id: rule.id }, make);
  return html`<${Confirm} title=${apart`Resume ${rule.id}?`} verb=${verbFor(rule, "Resume")} act=${act} onClose=${onClose}>
    <p>Version ${rule.version} is published again. It starts afresh, with events from now on.</p>
    <${ApprovalsNote} stream=${rule.stream} />
  <//>`;
}

function Delete({ rule, onClose }) {
  const make = async (comment) => {
    await send("DELETE", rulePath(rule), undefined, { query: { comment }, etag: etagOf(rule) });
    toast(apart`${rule.id} was deleted.`);
    navigate(path`/streams/${rule.stream}/rules`);
  };
  const act = orPropose(rule, { kind: "delete", processor_id: rule.id }, make);
  return html`<${Confirm} title=${apart`Delete ${rule.id}?`} verb=${verbFor(rule, "Delete")} danger act=${act} onClose=${onClose}>
    <p>
      Jobs stop it with their next batch. Its versions are kept, and this page stays: rolling back to one of them
      brings it back.
    </p>
    <${ApprovalsNote} stream=${rule.stream} />
  <//>`;
}

/** The versions whose content can be published again: one that was only tried is promoted, or not at all. */
export function targets(versions) {
  return versions.filter((each) => !each.was_only_tried);
}

/** Asks for a version to roll back to and shows what would change. */
export function RollBack({ rule, versions, refresh, onClose, chosen }) {
  const live = rule.state === "deleted" ? null : liveVersion(rule);
  const others = targets(versions).filter((each) => each.version !== rule.version || live === null);
  const before = others.find((each) => live === null || each.version < live) ?? others[0];
  const [version, setVersion] = useState(chosen ?? before?.version);
  const make = async (comment) => {
    const etag = rule.revision === undefined ? "*" : etagOf(rule);
    await send("POST", `${rulePath(rule)}/rollback`, { version: Number(version) }, { query: { comment }, etag });
    toast(apart`${rule.id} was rolled back to version ${version}.`);
    refresh();
  };
  const change = { kind: "rollback", processor_id: rule.id, version: Number(version) };
  const act = orPropose(rule, change, make, isPaused(rule));
  return html`<${Confirm} title=${apart`Roll ${rule.id} back?`} verb=${verbFor(rule, "Roll back", isPaused(rule))} act=${act} onClose=${onClose}>
    <p>The content of the old version becomes a new version, effective immediately.</p>
    ${!isPaused(rule) && html`<${ApprovalsNote} stream=${rule.stream} />`}
    <${Withdrawn} rule=${rule} />
    <${SelectField}
      label="Back to"
      options=${others.map((each) => [String(each.version), versionLabel(each)])}
      value=${String(version)}
      onChange=${setVersion}
    />
    ${live !== null && html`<${WhatChanges} rule=${rule} live=${live} version=${Number(version)} />`}
  <//>`;
}

function WhatChanges({ rule, live, version }) {
  if (live === version) return html`<p><strong>Version ${live} is already in effect:</strong> nothing changes in what runs.</p>`;
  return html`<div class="rollback-diff">
    <h3>What changes, compared with version ${live}, which is in effect</h3>
    <${VersionDiff} id=${rule.id} before=${live} after=${version} />
  </div>`;
}

/** The version in effect by the clock: the newest one may be scheduled for later. */
function liveVersion(rule) {
  const begun = rule.published.filter(({ effective_from: from }) => from === null || millis(from) <= now.value);
  return begun.at(-1)?.version ?? rule.version;
}

/** Names the scheduled versions that do not take over if a version is published at once. */
export function Withdrawn({ rule }) {
  const scheduled = (rule.published ?? []).filter((each) => each.effective_from);
  if (!scheduled.length) return null;
  const names = scheduled.map((each) => each.version).join(", ");
  return html`<p>
    <strong>Scheduled ${scheduled.length > 1 ? "versions" : "version"} ${names}</strong> will not take effect: the new
    version replaces ${scheduled.length > 1 ? "them" : "it"}.
  </p>`;
}

/** Asks from which event time on a version shall run. */
export function Schedule({ rule, versions, refresh, onClose, chosen }) {
  const [version, setVersion] = useState(String(chosen ?? rule.version));
  const [from, setFrom] = useState(localInput(Date.now() + 3_600_000));
  const act = async (comment) => {
    const at = instantOf(from);
    if (!at) throw new Error("Choose a date and time.");
    const found = await get(`${rulePath(rule)}/versions/${version}`);
    const { effective_until, ...content } = found.document;
    const labels = { description: rule.description, owner: rule.owner, tags: rule.tags };
    const document = { ...content, ...labels, id: rule.id, stream: rule.stream, effective_from: at };
    const make = async () => {
      await send("PUT", rulePath(rule), document, { query: { comment }, etag: etagOf(rule) });
      toast(apart`${rule.id} is scheduled for ${localTime(at)}.`);
      refresh();
    };
    await orPropose(rule, { document }, make, isPaused(rule))(comment);
  };
  return html`<${Confirm} title=${apart`Schedule ${rule.id}`} verb=${verbFor(rule, "Schedule", isPaused(rule))} act=${act} onClose=${onClose}>
    <p>
      A version takes over at an exact instant of event time: events before it are handled by the old version, all
      others by the new one. To change the content itself, edit the rule and choose “At a time” when you publish.
    </p>
    ${!isPaused(rule) && html`<${ApprovalsNote} stream=${rule.stream} />`}
    <${SelectField}
      label="Content of"
      options=${targets(versions).map((each) => [String(each.version), versionLabel(each)])}
      value=${version}
      onChange=${setVersion}
    />
    <${TimeField} stream=${rule.stream} label="From event time" value=${from} onInput=${setFrom} />
  <//>`;
}

/** Asks before a scheduled version is taken back. */
export function CancelVersion({ rule, version, refresh, onClose }) {
  const make = async (comment) => {
    const target = `${rulePath(rule)}/versions/${version}/cancel`;
    await send("POST", target, undefined, { query: { comment }, etag: etagOf(rule) });
    toast(`Version ${version} was cancelled.`);
    refresh();
  };
  const act = orPropose(rule, { kind: "cancel", processor_id: rule.id, version }, make, isPaused(rule));
  const verb = verbFor(rule, "Cancel the version", isPaused(rule));
  return html`<${Confirm} title=${`Cancel version ${version}?`} verb=${verb} danger act=${act} onClose=${onClose}>
    <p>It will not take effect. The current version stays in effect.</p>
    ${!isPaused(rule) && html`<${ApprovalsNote} stream=${rule.stream} />`}
  <//>`;
}

function versionLabel(version) {
  const said = version.comment ? ` – ${version.comment.slice(0, 60)}` : "";
  return `version ${version.version}, ${localTime(version.created_at)}, ${version.created_by}${said}`;
}

/** When something is effective, in words. @param {{from: string|null, until: string|null}} properties */
export function Effective({ from, until }) {
  if (!from && !until) return html`<span class="muted">immediately</span>`;
  return html`<span>
    ${from && html`from <${Time} at=${from} />`}${from && until && " "}${until && html`until <${Time} at=${until} />`}
  </span>`;
}
