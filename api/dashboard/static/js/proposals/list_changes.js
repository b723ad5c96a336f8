// What a proposal would do to the values of a list: every value that it adds and removes.
import { html, useState } from "../../vendor/preact.js";
import { Time, plural } from "../format.js";
import { Link } from "../router.js";
import { Button } from "../ui/button.js";
import { Card } from "../ui/page.js";
import { visibleValue } from "../ui/visible.js";
import { pageOf } from "./words.js";

const SHOWN = 200;

/** @param {{proposal: object}} properties a whole proposal about a list */
export function ListChangesCard({ proposal }) {
  const { values, effective_from: from } = proposal;
  return html`<${Card} title="What changes">
    <div class="stack list-told">
      <p class="in-text"><${InWords} proposal=${proposal} /></p>
      ${values.description && html`<p class="secondary in-text"><bdi>${values.description}</bdi></p>`}
      ${from !== null && html`<p>It takes effect from event time <${Time} at=${from} />.</p>`}
      ${values.withdrawn.length > 0 &&
      html`<p class="in-text">
        Scheduled ${values.withdrawn.length === 1 ? "version" : "versions"} ${values.withdrawn.join(", ")} will not take effect: this
        change replaces ${values.withdrawn.length === 1 ? "it" : "them"}.
      </p>`}
      <${Values} sign="+" name="Added" values=${values.added_values} total=${values.added} proposal=${proposal} />
      <${Values} sign="−" name="Removed" values=${values.removed_values} total=${values.removed} proposal=${proposal} />
    </div>
  <//>`;
}

function InWords({ proposal }) {
  const { kind, values, base_version: base } = proposal;
  if (kind === "list_cancel") return html`Version ${base} with its ${plural(values.count, "value")} will not take effect.`;
  if (kind === "list_delete") {
    return html`The list and its ${plural(values.removed, "value")} are removed; the log of its versions is kept.`;
  }
  const told = html`<strong>${plural(values.added, "value")} added, ${plural(values.removed, "value")} removed</strong>`;
  const after = html`The list ${proposal.state === "open" ? "will have" : "would have"} ${plural(values.count, "value")}.`;
  if (kind === "list_create") return html`A new list of type <code>${values.list_type}</code> with ${plural(values.count, "value")}.`;
  return html`${told}, compared with version ${base}. ${proposal.state === "published" ? "" : after}`;
}

function Values({ sign, name, values, total, proposal }) {
  const [isWhole, setWhole] = useState(false);
  if (!values.length) return null;
  const shown = isWhole ? values : values.slice(0, SHOWN);
  const left = total - values.length;
  return html`<div class="stack">
    <ul class=${`list-some ${name.toLowerCase()}`} aria-label=${name}>
      ${shown.map((value) => html`<li key=${value}><span aria-hidden="true">${sign}</span> <bdi class="list-text">${visibleValue(value)}</bdi></li>`)}
    </ul>
    ${shown.length < values.length &&
    html`<p><${Button} small onClick=${() => setWhole(true)}>Show all ${plural(values.length, "value")}<//></p>`}
    ${left > 0 &&
    html`<p class="secondary">
      ${plural(left, "other")} ${left === 1 ? "is" : "are"} not shown here; the <${Link} href=${`${pageOf(proposal)}?tab=versions`}>versions<//> of the
      list have them.
    </p>`}
  </div>`;
}
