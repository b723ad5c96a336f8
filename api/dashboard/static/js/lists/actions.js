// What can be done with a list besides its values, each behind a question: describe, roll back, cancel, delete.
import { html, useState } from "../../vendor/preact.js";
import { send } from "../api.js";
import { Time, plural } from "../format.js";
import { proposeChange } from "../proposals/propose.js";
import { Link, navigate, path } from "../router.js";
import { can } from "../session.js";
import { apart } from "../ui/apart.js";
import { Button } from "../ui/button.js";
import { Confirm, Dialog } from "../ui/dialog.js";
import { TextField } from "../ui/field.js";
import { ProblemBox } from "../ui/problem.js";
import { toast } from "../ui/toast.js";
import { ProposesNote } from "./approvals.js";
import { ANY_STATE, Told, WhenFields, inWords, proposedFor, sendChange, useDryRun, useWhen } from "./changing.js";
import { etagOf, proposesLists, scheduled, sourceOf, verbOf } from "./model.js";

/** @param {{list: object, refresh: () => void, onClose: () => void}} properties */
export function Describe({ list, refresh, onClose }) {
  const [text, setText] = useState(list.description);
  const act = async () => {
    await send("PATCH", sourceOf(list), { description: text.trim() }, { etag: etagOf(list) });
    refresh();
  };
  return html`<${Confirm} title=${apart`Description of ${list.name}`} verb="Save" comment=${false} act=${act} onClose=${onClose}>
    <${TextField} label="Description" multiline rows="4" maxlength="10000" value=${text} onInput=${setText} />
  <//>`;
}

/** Shows what the values of an old version would change, and takes them. */
export function RollBack({ list, version, refresh, onClose }) {
  const when = useWhen();
  const target = `${sourceOf(list)}/rollback`;
  const query = { effective_from: when.from };
  const isTried = can("publisher") && when.from !== undefined; // who proposes only is told on the page of the proposal
  const key = isTried ? JSON.stringify([version, when.from, list.revision]) : null;
  const tried = useDryRun(key, (signal) =>
    sendChange("POST", target, { version }, { etag: ANY_STATE, query: { ...query, dry_run: true }, signal }),
  );
  const { told } = tried;
  const act = async (comment) => {
    if (proposesLists(list.stream)) {
      await proposeChange(proposedFor(list, "list_rollback", { version, effective_from: when.from }), comment);
      return;
    }
    try {
      const done = await sendChange("POST", target, { version }, { etag: etagOf(told), query: { ...query, comment } });
      toast(inWords(done, when.from));
    } finally {
      refresh();
    }
  };
  const isWorthIt = told
    ? told.is_changed || (!when.isLater && scheduled(list).length > 0)
    : !can("publisher") && when.from !== undefined;
  return html`<${Confirm} title=${apart`Roll ${list.name} back to version ${version}?`} verb=${verbOf(list.stream, "Roll back")} ready=${Boolean(isWorthIt)} act=${act} onClose=${onClose}>
    <p>The list gets the values of version ${version} again, as a new version.</p>
    <${WhenFields} list=${list} when=${when} />
    <div class="list-preview" aria-live="polite">
      ${tried.busy && html`<p class="secondary">Comparing it with the list…</p>`}
      ${told && html`<${Told} told=${told} />`}
      ${tried.problem && html`<${ProblemBox} problem=${tried.problem} />`}
    </div>
    <${ProposesNote} stream=${list.stream} />
  <//>`;
}

/** Asks before a scheduled version is taken back. */
export function CancelVersion({ list, version, refresh, onClose }) {
  const act = async (comment) => {
    if (proposesLists(list.stream)) {
      await proposeChange(proposedFor(list, "list_cancel", { version: version.version }), comment);
      return;
    }
    const target = `${sourceOf(list)}/versions/${version.version}/cancel`;
    await sendChange("POST", target, undefined, { query: { comment }, etag: etagOf(list) });
    toast(`Version ${version.version} was cancelled.`);
    refresh();
  };
  return html`<${Confirm} title=${apart`Cancel version ${version.version} of ${list.name}?`} verb=${verbOf(list.stream, "Cancel the version")} danger act=${act} onClose=${onClose}>
    <p>Its ${plural(version.count, "value")} will not take effect at <${Time} at=${version.effective_from} />. The current version stays in effect.</p>
    <${ProposesNote} stream=${list.stream} />
  <//>`;
}

/** Asks before a list is deleted, or says which rules keep it. */
export function Delete({ list, onClose }) {
  if (list.rule_count > 0) return html`<${InUse} list=${list} onClose=${onClose} />`;
  const act = async (comment) => {
    if (proposesLists(list.stream)) {
      await proposeChange(proposedFor(list, "list_delete"), comment);
      return;
    }
    await sendChange("DELETE", sourceOf(list), undefined, { query: { comment }, etag: etagOf(list) });
    toast(apart`${list.name} was deleted.`);
    navigate(path`/streams/${list.stream}/lists`);
  };
  return html`<${Confirm} title=${apart`Delete ${list.name}?`} verb=${verbOf(list.stream, "Delete")} danger act=${act} onClose=${onClose}>
    <p>Its values are removed immediately; the log of its versions is kept. This cannot be undone: download the values first if you may need them.</p>
    <${ProposesNote} stream=${list.stream} />
  <//>`;
}

function InUse({ list, onClose }) {
  const more = list.rule_count - list.rules.length;
  return html`<${Dialog} title=${apart`${list.name} cannot be deleted yet`} onClose=${onClose}>
    <p>${plural(list.rule_count, "rule")} ${list.rule_count === 1 ? "uses" : "use"} it. Publish ${list.rule_count === 1 ? "it" : "them"} without it, or delete ${list.rule_count === 1 ? "it" : "them"} first; scheduled and paused versions, and those on trial, count as well.</p>
    <ul class="list-rules" aria-label="Rules that use it">
      ${list.rules.map(
        ({ processor_id: id }) => html`<li key=${id}><${Link} href=${path`/streams/${list.stream}/rules/${id}`}>${id}<//></li>`,
      )}
      ${more > 0 && html`<li class="muted">and ${plural(more, "other")}</li>`}
    </ul>
    <footer class="row"><${Button} kind="primary" onClick=${onClose}>Close<//></footer>
  <//>`;
}
