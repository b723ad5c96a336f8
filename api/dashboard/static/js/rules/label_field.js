// Chooses an owner or a tag among all that rules have: the service finds those that contain what is typed.
import { html, useId, useState } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { plural } from "../format.js";
import { path } from "../router.js";
import { Search } from "../ui/field.js";

const SECONDS = 60;
const NONE = [];

/**
 * @param {object} properties
 *   kind: "owners" or "tags". any: what stands there while nothing is typed. taken: those not to offer.
 *   onChoose: called with one that was picked, or typed and entered.
 */
export function LabelField({ stream, label, kind, any, taken = NONE, onChoose }) {
  const [text, setText] = useState("");
  const [turn, setTurn] = useState(0);
  const { data } = usePolled(path`/v1/streams/${stream}/rules/labels`, { text }, SECONDS);
  const listId = useId();
  const found = data?.[kind].filter(({ value }) => !taken.includes(value)) ?? NONE;
  const choose = (value) => {
    setText("");
    setTurn(turn + 1); // an empty field
    onChoose(value);
  };
  const onInput = ({ inputType, currentTarget: { value } }) => {
    // Picked, not typed: what is typed may be the beginning of another one.
    if (value && (inputType === "insertReplacementText" || !inputType)) choose(value);
  };
  const onKeyDown = ({ key, currentTarget: { value } }) => {
    const typed = value.trim();
    if (key === "Enter" && typed) choose(meant(found, typed));
  };
  return html`<${Search}
      key=${turn}
      label=${label}
      placeholder=${any}
      value=${text}
      onSearch=${setText}
      className="label-field"
      list=${listId}
      onInput=${onInput}
      onKeyDown=${onKeyDown}
    /><datalist id=${listId}>
      ${found.map(({ value, count }) => html`<option key=${value} value=${value} label=${plural(count, "rule")} />`)}
    </datalist>`;
}

// The one that is typed, else the most frequent one that it is a part of.
function meant(found, typed) {
  const parts = found.map(({ value }) => value).filter((value) => value.toLowerCase().includes(typed.toLowerCase()));
  return parts.find((value) => value === typed) ?? parts[0] ?? typed;
}
