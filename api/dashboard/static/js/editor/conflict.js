// The rule has been changed by someone else while it is edited here: their change, yours, and both together.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { Time } from "../format.js";
import { textOf } from "../rule/as_written.js";
import { Button } from "../ui/button.js";
import { toastProblem } from "../ui/toast.js";
import { ThreeWay, unmerged, useMerge } from "./three_way.js";

/**
 * @param {object} properties
 *   base: the rule that the draft began with. theirs: the rule as it is now. draft: {text, format}.
 *   onTake: (text, theirText) => void: edit on with this text, on top of theirs.
 */
export function Conflict({ base, theirs, draft, onTake }) {
  const [read, setTexts] = useState(null);
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
  const texts = read && read.before !== read.now ? { before: read.before, theirs: read.now, mine: draft.text } : null;
  const merge = useMerge(texts);
  if (!texts) return null;
  const isUntouched = texts.mine === texts.before;
  return html`<section class="alarm warn conflict" role="status" aria-label="A newer version">
    <p>
      <strong><bdi>${theirs.updated_by}</bdi> published a newer version</strong> <${Time} at=${theirs.updated_at} ago />, ${
        base.isProposed ? "after this was proposed for" : "while you were editing"
      } version ${base.version}. Nothing of yours is lost.
    </p>
    <${ThreeWay} texts=${texts} merge=${merge} />
    ${merge.conflicts > 0 &&
    html`<p class="secondary">${unmerged(merge.conflicts)} If you apply it, the text contains both versions of each of these parts, between conflict markers. Keep one of them.</p>`}
    <div class="row">
      ${!isUntouched &&
      html`<${Button} kind="primary" small onClick=${() => onTake(merge.text, texts.theirs)}>
        ${merge.conflicts ? "Apply mine and mark conflicts" : "Apply my changes to theirs"}
      <//>`}
      ${!isUntouched && html`<${Button} small onClick=${() => onTake(texts.mine, texts.theirs)}>Keep my text<//>`}
      <${Button} small kind=${isUntouched ? "primary" : "plain"} onClick=${() => onTake(texts.theirs, texts.theirs)}>Take theirs<//>
    </div>
  </section>`;
}
