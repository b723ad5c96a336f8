// The rule has been changed by someone else while it is edited here: their change, yours, and both together.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { Time } from "../format.js";
import { textOf } from "../rule/as_written.js";
import { TextDiff } from "../rule/diff.js";
import { Button } from "../ui/button.js";
import { Segments } from "../ui/tabs.js";
import { toastProblem } from "../ui/toast.js";
import { merged } from "./merge.js";

const VIEWS = [
  ["theirs", "Their changes"],
  ["mine", "Your changes"],
];

/**
 * @param {object} properties
 *   base: the rule that the draft began with. theirs: the rule as it is now. draft: {text, format}.
 *   onTake: (text, theirText) => void: edit on with this text, on top of theirs.
 */
export function Conflict({ base, theirs, draft, onTake }) {
  const [texts, setTexts] = useState(null);
  const [view, setView] = useState("theirs");
  useEffect(() => {
    let gone = false;
    Promise.all([textOf(base.document, draft.format), textOf(theirs.document, draft.format)]).then(
      ([before, now]) => {
        if (gone) return;
        setTexts({ before, now });
        // A pause or a label makes no other text.
        if (before === now) onTake(draft.text, now);
      },
      toastProblem,
    );
    return () => {
      gone = true;
    };
  }, [base.revision, theirs.revision, draft.format]);
  if (!texts || texts.before === texts.now) return null;
  const both = merged(texts.before, draft.text, texts.now);
  const isUntouched = draft.text === texts.before;
  return html`<section class="alarm warn conflict" role="status" aria-label="A newer version">
    <p>
      <strong>${theirs.updated_by} published a newer version</strong> <${Time} at=${theirs.updated_at} ago />, while you
      were editing version ${base.version}. Nothing of yours is lost.
    </p>
    <${Segments} label="Changes" options=${VIEWS} value=${view} onChange=${setView} />
    <${TextDiff} before=${texts.before} after=${view === "theirs" ? texts.now : draft.text} />
    ${both === null &&
    html`<p class="secondary">You both changed the same lines, so they have to be put together by hand.</p>`}
    <div class="row">
      ${!isUntouched &&
      both !== null &&
      html`<${Button} kind="primary" small onClick=${() => onTake(both, texts.now)}>Apply my changes to theirs<//>`}
      ${!isUntouched && html`<${Button} small onClick=${() => onTake(draft.text, texts.now)}>Keep my text<//>`}
      <${Button} small kind=${isUntouched ? "primary" : "plain"} onClick=${() => onTake(texts.now, texts.now)}>Take theirs<//>
    </div>
  </section>`;
}
