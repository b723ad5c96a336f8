// What can be done with a rule, each behind a question: pause, resume, schedule, roll back, delete.
import { html, useState } from "../../vendor/preact.js";
import { get, send } from "../api.js";
import { Time, localTime, utc } from "../format.js";
import { navigate, path } from "../router.js";
import { can } from "../session.js";
import { Button, ButtonLink } from "../ui/button.js";
import { Confirm } from "../ui/dialog.js";
import { Field, SelectField } from "../ui/field.js";
import { Menu } from "../ui/menu.js";
import { toast } from "../ui/toast.js";
import { VersionDiff } from "./diff.js";

/** The ETag of a rule as the service gives it: its revision. */
export function etagOf(rule) {
  return `"${rule.revision}"`;
}

/** The buttons of a rule's page. @param {{rule: object, versions: object[], refresh: () => void}} properties */
export function RuleActions({ rule, versions, refresh }) {
  const [open, setOpen] = useState(null);
  const close = () => setOpen(null);
  const isPaused = rule.state === "paused";
  const editPath = path`/streams/${rule.stream}/rules/${rule.id}/edit`;
  const shared = { rule, versions, refresh, onClose: close };
  return html`
    ${can("publisher") &&
    html`<${Button} icon=${isPaused ? "play" : "pause"} onClick=${() => setOpen(isPaused ? "resume" : "pause")}>
      ${isPaused ? "Resume" : "Pause"}
    <//>`}
    ${can("author") && html`<${ButtonLink} icon="edit" href=${editPath}>Edit<//>`}
    ${can("author") &&
    html`<${Menu} label="More actions">
      ${can("publisher") &&
      html`<button type="button" onClick=${() => setOpen("schedule")}>Schedule a version…</button>
        <button type="button" disabled=${versions.length < 2} onClick=${() => setOpen("rollback")}>Roll back…</button>`}
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
    ${open === "schedule" && html`<${Schedule} ...${shared} />`}
    ${open === "rollback" && html`<${RollBack} ...${shared} />`}
    ${open === "delete" && html`<${Delete} ...${shared} />`}
  `;
}

function rulePath(rule) {
  return path`/v1/processors/${rule.id}`;
}

function Pause({ rule, refresh, onClose }) {
  const act = async (comment) => {
    await send("POST", `${rulePath(rule)}/pause`, undefined, { query: { comment }, etag: etagOf(rule) });
    toast(`${rule.id} is paused. Jobs pick it up with their next batch.`);
    refresh();
  };
  return html`<${Confirm} title=${`Pause ${rule.id}?`} verb="Pause" act=${act} onClose=${onClose}>
    <p>Jobs stop it with their next batch. Partial matches are dropped; complete ones that were held back are output. Its versions stay.</p>
  <//>`;
}

function Resume({ rule, refresh, onClose }) {
  const act = async (comment) => {
    await send("POST", `${rulePath(rule)}/resume`, undefined, { query: { comment }, etag: etagOf(rule) });
    toast(`${rule.id} is published again. Jobs pick it up with their next batch.`);
    refresh();
  };
  return html`<${Confirm} title=${`Resume ${rule.id}?`} verb="Resume" act=${act} onClose=${onClose}>
    <p>It is published again, version ${rule.version}. It begins afresh, with events from now on.</p>
  <//>`;
}

function Delete({ rule, onClose }) {
  const act = async (comment) => {
    await send("DELETE", rulePath(rule), undefined, { query: { comment }, etag: etagOf(rule) });
    toast(`${rule.id} is deleted.`);
    navigate(path`/streams/${rule.stream}/rules`);
  };
  return html`<${Confirm} title=${`Delete ${rule.id}?`} verb="Delete" danger act=${act} onClose=${onClose}>
    <p>
      Jobs stop it with their next batch. Its versions are kept, and this page stays: rolling back to one of them
      brings it back.
    </p>
  <//>`;
}

/** Asks for a version to roll back to and shows what would change. */
export function RollBack({ rule, versions, refresh, onClose, chosen }) {
  const others = versions.filter((each) => each.version !== rule.version || rule.state === "deleted");
  const [version, setVersion] = useState(chosen ?? others[0]?.version);
  const act = async (comment) => {
    const etag = rule.revision === undefined ? "*" : etagOf(rule);
    await send("POST", `${rulePath(rule)}/rollback`, { version: Number(version) }, { query: { comment }, etag });
    toast(`${rule.id} is rolled back to version ${version}.`);
    refresh();
  };
  return html`<${Confirm} title=${`Roll ${rule.id} back?`} verb="Roll back" act=${act} onClose=${onClose}>
    <p>The content of the old version becomes a new one, effective at once.</p>
    <${Withdrawn} rule=${rule} />
    <${SelectField}
      label="Back to"
      options=${others.map((each) => [String(each.version), versionLabel(each)])}
      value=${String(version)}
      onChange=${setVersion}
    />
    ${rule.state !== "deleted" &&
    html`<div class="rollback-diff">
      <h3>What changes</h3>
      <${VersionDiff} id=${rule.id} before=${rule.version} after=${Number(version)} />
    </div>`}
  <//>`;
}

/** Names the scheduled versions that do not take over if a version is published at once. */
export function Withdrawn({ rule }) {
  const scheduled = (rule.published ?? []).filter((each) => each.effective_from);
  if (!scheduled.length) return null;
  const names = scheduled.map((each) => each.version).join(", ");
  return html`<p>
    <strong>Scheduled ${scheduled.length > 1 ? "versions" : "version"} ${names}</strong> will not take over: the new
    version takes ${scheduled.length > 1 ? "their" : "its"} place.
  </p>`;
}

/** Asks from which event time on a version shall run. */
export function Schedule({ rule, versions, refresh, onClose, chosen }) {
  const [version, setVersion] = useState(String(chosen ?? rule.version));
  const [from, setFrom] = useState(localInput(Date.now() + 3_600_000));
  const act = async (comment) => {
    const at = new Date(from);
    if (Number.isNaN(at.getTime())) throw new Error("Choose a date and time.");
    const found = await get(`${rulePath(rule)}/versions/${version}`);
    const { effective_until, ...content } = found.document;
    const labels = { description: rule.description, owner: rule.owner, tags: rule.tags };
    const document = { ...content, ...labels, id: rule.id, stream: rule.stream, effective_from: at.toISOString() };
    await send("PUT", rulePath(rule), document, { query: { comment }, etag: etagOf(rule) });
    toast(`${rule.id} will change at ${localTime(at.getTime())}.`);
    refresh();
  };
  return html`<${Confirm} title=${`Schedule ${rule.id}`} verb="Schedule" act=${act} onClose=${onClose}>
    <p>
      A version takes over at an exact instant of event time: events before it are judged by the old version, all
      others by the new one. To change the content itself, edit the rule and choose “at a time” when you publish.
    </p>
    <${SelectField}
      label="Content of"
      options=${versions.map((each) => [String(each.version), versionLabel(each)])}
      value=${version}
      onChange=${setVersion}
    />
    <${TimeField} label="From event time" value=${from} onInput=${setFrom} />
  <//>`;
}

/** Asks before a scheduled version is taken back. */
export function CancelVersion({ rule, version, refresh, onClose }) {
  const act = async (comment) => {
    const target = `${rulePath(rule)}/versions/${version}/cancel`;
    await send("POST", target, undefined, { query: { comment }, etag: etagOf(rule) });
    toast(`Version ${version} is cancelled.`);
    refresh();
  };
  return html`<${Confirm} title=${`Cancel version ${version}?`} verb="Cancel the version" danger act=${act} onClose=${onClose}>
    <p>It will not take over. What is published before it goes on.</p>
  <//>`;
}

/** A local day and time, with the same instant in UTC below. */
export function TimeField({ label, value, onInput, required = true }) {
  const at = new Date(value);
  return html`<${Field}
    label=${label}
    hint=${Number.isNaN(at.getTime()) ? "Your local time" : `Your local time; ${utc(at.getTime())}`}
    control=${(tied) => html`<input
      class="input"
      type="datetime-local"
      step="1"
      value=${value}
      required=${required}
      onInput=${(event) => onInput(event.currentTarget.value)}
      ...${tied}
    />`}
  />`;
}

/** An instant as `<input type="datetime-local">` takes it. @param {number} ms since 1970 */
export function localInput(ms) {
  const date = new Date(ms);
  const shifted = new Date(ms - date.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 19);
}

function versionLabel(version) {
  const said = version.comment ? ` – ${version.comment.slice(0, 60)}` : "";
  return `version ${version.version}, ${localTime(version.created_at)}, ${version.created_by}${said}`;
}

/** When something is effective, in words. @param {{from: string|null, until: string|null}} properties */
export function Effective({ from, until }) {
  if (!from && !until) return html`<span class="muted">at once</span>`;
  return html`<span>
    ${from && html`from <${Time} at=${from} />`}${from && until && " "}${until && html`until <${Time} at=${until} />`}
  </span>`;
}
