// Some values more, or some fewer; all others stay.
import { html, useState } from "../../vendor/preact.js";
import { Problem } from "../api.js";
import { count, plural } from "../format.js";
import { apart } from "../ui/apart.js";
import { Confirm } from "../ui/dialog.js";
import { TextField } from "../ui/field.js";
import { Segments } from "../ui/tabs.js";
import { toast } from "../ui/toast.js";
import { visibleValue } from "../ui/visible.js";
import { proposeChange } from "../proposals/propose.js";
import { ProposesNote } from "./approvals.js";
import { WhenFields, inWords, proposedFor, sendChange, useWhen } from "./changing.js";
import { proposesLists, sourceOf, verbOf } from "./model.js";

const MOST = 10_000;
const KINDS = [
  ["add", "Add"],
  ["remove", "Remove"],
];

/** Asks for values, one per line. @param {{list: object, refresh: () => void, onClose: () => void}} properties */
export function EditValues({ list, refresh, onClose }) {
  const [kind, setKind] = useState("add");
  const [text, setText] = useState("");
  const when = useWhen();
  const lines = linesOf(text, list.type);
  const spaced = list.type === "STRING" ? lines.filter(({ value }) => value !== value.trim()).length : 0;
  const tooMany = lines.length > MOST ? `${count(lines.length)} values; at most ${count(MOST)} can be changed at once. Upload a file instead.` : "";
  const act = (comment) => change({ list, kind, lines, when, comment, refresh });
  return html`<${Confirm}
    title=${apart`Add or remove values of ${list.name}`}
    verb=${verbOf(list.stream, kind === "add" ? "Add" : "Remove")}
    danger=${kind === "remove"}
    ready=${lines.length > 0 && !tooMany && when.from !== undefined}
    act=${act}
    onClose=${onClose}
  >
    <div class="row"><${Segments} label="What" options=${KINDS} value=${kind} onChange=${setKind} /></div>
    <${TextField}
      label="Values, one per line"
      hint=${hintOf(lines.length, spaced)}
      mistake=${tooMany}
      multiline
      rows="6"
      spellcheck="false"
      autocapitalize="off"
      class="input mono"
      value=${text}
      onInput=${setText}
    />
    <${WhenFields} list=${list} when=${when} />
    <${ProposesNote} stream=${list.stream} />
  <//>`;
}

/** Asks before one value is taken away. @param {{list: object, value: string, refresh: () => void, onClose: () => void}} properties */
export function RemoveValue({ list, value, refresh, onClose }) {
  const when = useWhen();
  const act = (comment) => change({ list, kind: "remove", lines: [{ number: 1, value }], when, comment, refresh });
  return html`<${Confirm}
    title=${apart`Remove a value of ${list.name}?`}
    verb=${verbOf(list.stream, "Remove")}
    danger
    ready=${when.from !== undefined}
    act=${act}
    onClose=${onClose}
  >
    <p><bdi class="list-text">${visibleValue(value)}</bdi></p>
    <${WhenFields} list=${list} when=${when} />
    <${ProposesNote} stream=${list.stream} />
  <//>`;
}

async function change({ list, kind, lines, when, comment, refresh }) {
  const query = { comment, effective_from: when.from };
  const values = { [kind]: lines.map(({ value }) => value) };
  let done;
  try {
    if (proposesLists(list.stream)) {
      await proposeChange(proposedFor(list, "list_change", { ...values, effective_from: when.from }), comment);
      return;
    }
    done = await sendChange("POST", `${sourceOf(list)}/changes`, values, { query });
  } catch (problem) {
    throw problem instanceof Problem ? atLines(problem, lines) : problem;
  }
  toast(inWords(done, when.from));
  refresh();
}

// The service names values by their place in the request; who typed them counts lines.
function atLines(problem, lines) {
  const errors = problem.errors.map((flaw) => {
    const [, index] = /^\/(?:add|remove)\/(\d+)$/.exec(flaw.pointer ?? "") ?? [];
    return index === undefined ? flaw : { ...flaw, pointer: "", line: lines[index].number };
  });
  const { status, title, detail, requestId } = problem;
  return new Problem({ status, title, detail, errors, requestId });
}

function linesOf(text, type) {
  const lines = text.split("\n").map((line, index) => ({ number: index + 1, value: line.replace(/\r$/, "") }));
  const read = type === "STRING" ? lines : lines.map((line) => ({ ...line, value: line.value.trim() }));
  return read.filter(({ value }) => value !== "");
}

function hintOf(number, spaced) {
  const kept = spaced ? ` ${plural(spaced, "starts or ends", "start or end")} with a space, which belongs to the value.` : "";
  return `${plural(number, "value")}.${kept}`;
}
