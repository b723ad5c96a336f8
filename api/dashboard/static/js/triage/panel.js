// Where one match stands: status, assignee, notes; changed from the state that is shown, never over another's decision.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { get } from "../api.js";
import { Time } from "../format.js";
import { path } from "../router.js";
import { can, session } from "../session.js";
import { Button } from "../ui/button.js";
import { ProblemBox } from "../ui/problem.js";
import { stateWord } from "../ui/states.js";
import { Segments } from "../ui/tabs.js";
import { AssigneeField } from "./assignee.js";
import { changeOne } from "./change.js";
import { Notes } from "./notes.js";
import { STATUSES, Status } from "./status.js";

/**
 * @param {{match: object, onChange?: (triage: object) => void}} properties
 *   match: as the list has it, with `triage`; `onChange` is told of what is there after a change.
 */
export function TriagePanel({ match, onChange }) {
  const [triage, setTriage] = useState(match.triage);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  useEffect(() => setTriage(match.triage), [match.triage.revision]);
  const show = (newest) => {
    setTriage(newest);
    onChange?.(newest);
  };
  const readAgain = async () => show(await get(path`/v1/streams/${match.stream}/matches/${match.match_id}/triage`));
  const change = async (wanted) => {
    setBusy(true);
    setProblem(null);
    try {
      show(await changeOne({ ...match, triage }, wanted));
    } catch (error) {
      setProblem(error);
      if (error.isOutdated) await readAgain().catch(setProblem);
    }
    setBusy(false);
  };
  return html`<div class="triage-panel">
    <div class="stack">
      ${can("author")
        ? html`<${Choices} stream=${match.stream} triage=${triage} busy=${busy} change=${change} />`
        : html`<p class="row"><${Status} triage=${triage} /></p>`}
      ${problem && (problem.isOutdated ? html`<${Outdated} triage=${triage} />` : html`<${ProblemBox} problem=${problem} />`)}
      <${LastChange} triage=${triage} />
    </div>
    <${Notes} match=${match} onAdded=${readAgain} />
  </div>`;
}

function Choices({ stream, triage, busy, change }) {
  const [name, setName] = useState(triage.assignee);
  useEffect(() => setName(triage.assignee), [triage.assignee]);
  const own = session.value?.name ?? "";
  const assign = (event) => {
    event.preventDefault();
    change({ assignee: name.trim() });
  };
  return html`<${Segments}
      label="Status"
      options=${STATUSES}
      value=${triage.status}
      onChange=${(status) => status !== triage.status && change({ status })}
    />
    <form class="assign row" onSubmit=${assign}>
      <${AssigneeField} stream=${stream} value=${name} onInput=${setName} placeholder="Unassigned" />
      ${name.trim() !== triage.assignee
        ? html`<${Button} small type="submit" busy=${busy}>Assign<//>`
        : triage.assignee !== own &&
          html`<${Button} small kind="plain" busy=${busy} onClick=${() => change({ assignee: own })}>Assign to me<//>`}
    </form>`;
}

function LastChange({ triage }) {
  if (!triage.decided_at) return null;
  return html`<p class="secondary">Last changed by <bdi>${triage.decided_by}</bdi>, <${Time} at=${triage.decided_at} ago /></p>`;
}

function Outdated({ triage }) {
  return html`<p class="outdated" role="alert">
    <strong><bdi>${triage.decided_by}</bdi></strong> changed it in the meantime: it is ${stateWord("triage", triage.status)}${triage.assignee &&
    html`, assigned to <bdi>${triage.assignee}</bdi>`}. Your change was not saved; repeat it if it still applies.
  </p>`;
}
