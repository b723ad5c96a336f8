// The versions of a rule: who made which when and why, where each runs, and how two of them differ.
import { html, useState } from "../../vendor/preact.js";
import { now } from "../clock.js";
import { Time, millis } from "../format.js";
import { route, setQuery } from "../router.js";
import { HeldState } from "../rules/standing.js";
import { can } from "../session.js";
import { Button } from "../ui/button.js";
import { Select } from "../ui/field.js";
import { Folded } from "../ui/folded.js";
import { Card } from "../ui/page.js";
import { State } from "../ui/state.js";
import { CancelVersion, Effective, RollBack, Schedule } from "./actions.js";
import { VersionDiff } from "./diff.js";

/** @param {{rule: object, versions: object[], running: object, refresh: () => void, more: any}} properties */
export function Versions({ rule, versions, running, refresh, more }) {
  const [open, setOpen] = useState(null);
  const newest = versions[0]?.version ?? rule.version;
  const after = Number(route.value.query.new) || newest;
  const before = Number(route.value.query.old) || Math.max(after - 1, 1);
  const numbers = versions.map((each) => [String(each.version), `version ${each.version}`]);
  const shared = { rule, versions, refresh, onClose: () => setOpen(null), chosen: open?.version };
  return html`<div class="rule-versions">
    <${Card} title="Versions" padded=${false}>
      <ol class="version-list">
        ${versions.map(
          (version) => html`<li key=${version.version} class=${version.is_published ? "is-published" : ""}>
            <${VersionLine} rule=${rule} version=${version} running=${running} newest=${newest} open=${setOpen} />
          </li>`,
        )}
      </ol>
      ${more}
    <//>
    <${Card}
      title="Compare"
      actions=${html`<${Select} label="Old version" options=${numbers} value=${String(before)} onChange=${(old) => setQuery({ old })} />
        <span aria-hidden="true">→</span>
        <${Select} label="New version" options=${numbers} value=${String(after)} onChange=${(chosen) => setQuery({ new: chosen })} />`}
    >
      ${versions.length < 2
        ? html`<p class="muted">There is only one version.</p>`
        : html`<${VersionDiff} id=${rule.id} before=${before} after=${after} />`}
    <//>
    ${open?.what === "rollback" && html`<${RollBack} ...${shared} />`}
    ${open?.what === "schedule" && html`<${Schedule} ...${shared} />`}
    ${open?.what === "cancel" && html`<${CancelVersion} ...${shared} version=${open.version} />`}
  </div>`;
}

function VersionLine({ rule, version, running, newest, open }) {
  const isScheduled = version.is_published && version.effective_from && rule.published.length > 1;
  const ask = (what) => () => open({ what, version: version.version });
  return html`
    <header>
      <strong>v${version.version}</strong>
      ${version.is_published && html`<${State} of="rule" name=${isLater(version) ? "scheduled" : "published"} />`}
      ${rule.rollout?.version === version.version &&
      html`<${State} of="rule" name=${rule.rollout.share_percent ? "canary" : "shadow"} />`}
      ${version.restored_version && html`<span class="chip">as version ${version.restored_version}</span>`}
      <span class="secondary">by <bdi>${version.created_by}</bdi>, <${Time} at=${version.created_at} /></span>
    </header>
    ${version.comment && html`<${Folded} className="version-comment" text=${version.comment} />`}
    <p class="secondary">effective <${Effective} from=${version.effective_from} until=${version.effective_until} /></p>
    <${Activations} version=${version.version} running=${running} />
    <div class="row version-buttons">
      ${version.version > 1 &&
      html`<${Button} small kind="plain" onClick=${() => setQuery({ old: version.version - 1, new: version.version })}>
        What changed
      <//>`}
      ${can("publisher") &&
      version.version !== newest &&
      !version.was_only_tried &&
      html`<${Button} small kind="plain" onClick=${ask("rollback")}>Roll back<span class="visually-hidden"> to version ${version.version}</span><//>`}
      ${can("publisher") &&
      isScheduled &&
      html`<${Button} small kind="plain" onClick=${ask("cancel")}>Cancel<span class="visually-hidden"> version ${version.version}</span><//>`}
    </div>
  `;
}

function isLater({ effective_from: from }) {
  return from !== null && millis(from) > now.value;
}

function Activations({ version, running }) {
  const held = running.jobs.flatMap((line) =>
    line.versions.filter((each) => each.version === version).map((each) => ({ ...each, job: line.job })),
  );
  if (!held.length) return null;
  return html`<ul class="activations">
    ${held.map(
      (each) => html`<li key=${each.job.id}>
        <span class="mono">${each.job.name}</span> <${HeldState} job=${each.job} state=${each.state} />
        <span class="secondary">
          ${each.active_from && html`from <${Time} at=${each.active_from} />`}
          ${each.active_until && html` until <${Time} at=${each.active_until} />`}
        </span>
      </li>`,
    )}
  </ul>`;
}
