// A text, two changes of it made apart, and both together: what each changed, side by side, and merged.
import { html, useMemo, useState } from "../../vendor/preact.js";
import { plural } from "../format.js";
import { TextDiff } from "../rule/diff.js";
import { shortLine } from "../ui/signed_code.js";
import { Segments } from "../ui/tabs.js";
import { conflictsIn, markedText, mergedParts } from "./merge.js";

/**
 * A hook: both changes together. @param {{before: string, mine: string, theirs: string}|null} texts
 * @returns {{parts: object[], text: string, conflicts: number}|null}
 */
export function useMerge(texts) {
  return useMemo(() => {
    if (!texts) return null;
    const parts = mergedParts(texts.before, texts.mine, texts.theirs);
    return { parts, text: markedText(parts), conflicts: conflictsIn(parts) };
  }, [texts?.before, texts?.mine, texts?.theirs]);
}

/**
 * @param {object} properties
 *   texts: {before, mine, theirs}. merge: as useMerge gives it. mine: whose the other change is, "Your" or "Proposed".
 */
export function ThreeWay({ texts, merge, mine = "Your" }) {
  const [view, setView] = useState("theirs");
  const views = [
    ["theirs", "Their changes"],
    ["mine", `${mine} changes`],
    ["three", "Side by side"],
    ["result", "Merged"],
  ];
  return html`<${Segments} label="Changes" options=${views} value=${view} onChange=${setView} />
    ${view === "theirs" && html`<${TextDiff} before=${texts.before} after=${texts.theirs} />`}
    ${view === "mine" && html`<${TextDiff} before=${texts.before} after=${texts.mine} />`}
    ${view === "three" && html`<${SideBySide} parts=${merge.parts} mine=${mine} />`}
    ${view === "result" &&
    html`<p class="secondary">Both together, compared with theirs. ${unmerged(merge.conflicts)}</p>
      <${TextDiff} before=${texts.theirs} after=${merge.text} />`}`;
}

/** What could not be merged, in words. @param {number} conflicts */
export function unmerged(conflicts) {
  if (!conflicts) return "Everything could be merged.";
  return `${plural(conflicts, "part")} could not be merged: both changed the same lines.`;
}

const WHO = {
  mine: (mine) => (mine === "Your" ? "You changed this" : "Changed by the proposal"),
  theirs: () => "Changed by them",
  both: () => "Both changed this alike",
  conflict: () => "Changed in two ways",
};

function SideBySide({ parts, mine }) {
  const changes = parts.filter(({ by }) => by !== "nobody");
  if (!changes.length) return html`<p class="secondary">Nothing has changed.</p>`;
  return html`<ol class="three-way" tabindex="0" aria-label="What both began with, theirs and ${mine === "Your" ? "yours" : "the proposal"}">
    ${changes.map(
      (part, index) => html`<li key=${index} class=${part.by}>
        <p><strong>${WHO[part.by](mine)}</strong></p>
        <div>
          <${Lines} title="Before" lines=${part.base} />
          <${Lines} title="Theirs" lines=${part.theirs} />
          <${Lines} title=${mine === "Your" ? "Yours" : "Proposed"} lines=${part.mine} />
        </div>
      </li>`,
    )}
  </ol>`;
}

function Lines({ title, lines }) {
  return html`<section>
    <p class="whose">${title}</p>
    ${lines.length ? html`<pre>${lines.map(shortLine).join("\n")}</pre>` : html`<p class="muted">no lines</p>`}
  </section>`;
}
