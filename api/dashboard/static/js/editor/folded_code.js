// Signed code in the editor: a few words in its place. The text has all of it, and is saved and copied so.
import { Decoration, EditorView, StateField, WidgetType } from "../../vendor/codemirror.js";
import { signedCodeIn } from "../ui/signed_code.js";

class FoldedCode extends WidgetType {
  constructor(words) {
    super();
    this.words = words;
  }

  eq(other) {
    return other.words === this.words;
  }

  toDOM() {
    const shown = document.createElement("span");
    shown.className = "folded-code";
    shown.title = "Saved and copied whole. To change the code, sign it again.";
    shown.textContent = this.words;
    return shown;
  }

  // A click beside it or on it puts the cursor there.
  ignoreEvent() {
    return false;
  }
}

/** An extension of the editor: it shows signed code folded. */
export const foldedCode = StateField.define({
  create: (state) => foldsIn(state.doc),
  update: (before, transaction) => (transaction.docChanged ? foldsIn(transaction.state.doc) : before),
  provide: (field) => [
    EditorView.decorations.from(field),
    // The cursor goes past it as past one character.
    EditorView.atomicRanges.of((view) => view.state.field(field)),
  ],
});

function foldsIn(doc) {
  const found = signedCodeIn(doc.toString());
  return Decoration.set(found.map(({ from, to, words }) => Decoration.replace({ widget: new FoldedCode(words) }).range(from, to)));
}
