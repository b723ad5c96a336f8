// The versions of a list, newest first: who made which when and why, from when on it is in effect; one is had again.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { usePolled, withQuery } from "../api.js";
import { Time, count, plural } from "../format.js";
import { Link, patchedQuery, route } from "../router.js";
import { Button } from "../ui/button.js";
import { Folded } from "../ui/folded.js";
import { Card, Loading } from "../ui/page.js";
import { Pager, usePages } from "../ui/pager.js";
import { ProblemBox } from "../ui/problem.js";
import { State } from "../ui/state.js";
import { CancelVersion, RollBack } from "./actions.js";
import { Effective } from "./changing.js";
import { inEffect, isLater, mayChange, sourceOf } from "./model.js";

const SHOWN = 50;

/** @param {{list: object, refresh: () => void}} properties */
export function Versions({ list, refresh }) {
  const [open, setOpen] = useState(null);
  const pages = usePages();
  const log = usePolled(`${sourceOf(list)}/versions`, { cursor: pages.cursor, limit: SHOWN }, 0);
  useEffect(() => {
    log.refresh();
  }, [list.revision]);
  const newest = pages.number === 1 ? log.data?.items[0]?.version : null;
  useEffect(() => {
    // A version of somebody else is told of above, too: at once, as that moves what is below.
    if (newest > list.version) refresh();
  }, [newest]);
  const shared = { list, refresh, onClose: () => setOpen(null) };
  return html`<${Card} padded=${false}>
    ${log.problem && html`<div class="body"><${ProblemBox} problem=${log.problem} /></div>`}
    ${!log.data && !log.problem && html`<${Loading} what="versions" />`}
    ${log.data &&
    html`<ol class="version-list" aria-label=${`Versions of ${list.name}`}>
      ${log.data.items.map(
        (version) => html`<li key=${version.version} class=${version.is_published ? "is-published" : ""}>
          <${VersionLine} list=${list} version=${version} open=${setOpen} />
        </li>`,
      )}
    </ol>`}
    <${Pager} pages=${pages} page=${log.data} />
    ${open?.what === "rollback" && html`<${RollBack} ...${shared} version=${open.version.version} />`}
    ${open?.what === "cancel" && html`<${CancelVersion} ...${shared} version=${open.version} />`}
  <//>`;
}

function VersionLine({ list, version, open }) {
  const current = inEffect(list).version;
  const isScheduled = version.is_published && isLater(version);
  const file = withQuery(`${sourceOf(list)}/values`, { version: version.version, format: "csv" });
  return html`
    <header>
      <strong>v${version.version}</strong>
      ${isScheduled && html`<${State} of="list" name="scheduled" />`}
      ${version.version === current && html`<${State} of="list" name="current" />`}
      ${version.restored_version && html`<span class="chip">as version ${version.restored_version}</span>`}
      <span class="secondary">by <bdi>${version.created_by}</bdi>, <${Time} at=${version.created_at} /></span>
    </header>
    ${version.comment && html`<${Folded} className="version-comment" text=${version.comment} />`}
    <p class="secondary">
      <span class="number">${plural(version.count, "value")}: +${count(version.added)} −${count(version.removed)}</span>, effective${" "}
      <${Effective} from=${version.effective_from} />
    </p>
    <div class="row version-buttons">
      ${version.has_values
        ? html`<${Link} class="button plain small" href=${route.value.path} query=${patchedQuery({ tab: null, version: version.version, text: null })}>
              Values<span class="visually-hidden"> of version ${version.version}</span>
            <//>
            <a class="button plain small" href=${file} download>Download<span class="visually-hidden"> version ${version.version}</span></a>`
        : html`<span class="muted version-gone">Values no longer stored.</span>`}
      ${mayChange() &&
      version.has_values &&
      !isScheduled &&
      version.version !== current &&
      html`<${Button} small kind="plain" onClick=${() => open({ what: "rollback", version })}>Roll back<span class="visually-hidden"> to version ${version.version}</span><//>`}
      ${mayChange() &&
      isScheduled &&
      html`<${Button} small kind="plain" onClick=${() => open({ what: "cancel", version })}>Cancel<span class="visually-hidden"> version ${version.version}</span><//>`}
    </div>
  `;
}
