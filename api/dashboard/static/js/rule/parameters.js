// The parameters of a rule: their values, what they may be, and a form that publishes other values.
import { html, useState } from "../../vendor/preact.js";
import { send } from "../api.js";
import { ApprovalsNote } from "../proposals/propose.js";
import { path } from "../router.js";
import { can } from "../session.js";
import { apart } from "../ui/apart.js";
import { Button } from "../ui/button.js";
import { Confirm } from "../ui/dialog.js";
import { SelectField, TextField } from "../ui/field.js";
import { Card } from "../ui/page.js";
import { Table } from "../ui/table.js";
import { toast } from "../ui/toast.js";
import { isolated } from "../ui/visible.js";
import { etagOf, orPropose, verbFor } from "./actions.js";

const ANY = "any value";
const MOST_SHOWN = 20;
const NUMBERS = /^(TINYINT|SMALLINT|INT|BIGINT|FLOAT|DOUBLE)$/;

/** Nothing for a rule without parameters. @param {{rule: object, refresh: () => void}} properties */
export function ParametersCard({ rule, refresh }) {
  const [open, setOpen] = useState(false);
  const parameters = parametersOf(rule);
  if (!parameters.length) return null;
  const mayChange = can("publisher") || (can("author") && rule.state === "paused");
  const columns = [
    { key: "name", label: "Parameter", className: "name", cell: ({ name }) => html`<code>:${name}</code>` },
    { key: "value", label: "Value", cell: ({ value }) => html`<bdi class="parameter-value">${shown(value)}</bdi>` },
    { key: "type", label: "Type", cell: ({ type }) => html`<code>${type}</code>` },
    { key: "range", label: "Allowed values", cell: (each) => html`<bdi class="parameter-value">${rangeOf(each)}</bdi>` },
    { key: "about", label: "Description", cell: (each) => html`<bdi class="parameter-value">${each.description || "–"}</bdi>` },
  ];
  return html`<${Card}
    title="Parameters"
    padded=${false}
    actions=${mayChange && html`<${Button} small onClick=${() => setOpen(true)}>Change values…<//>`}
  >
    <${Table}
      caption=${`Parameters of version ${rule.version}`}
      columns=${columns}
      rows=${parameters}
      rowKey=${({ name }) => name}
    />
    ${open &&
    html`<${ChangeValues} rule=${rule} parameters=${parameters} refresh=${refresh} onClose=${() => setOpen(false)} />`}
  <//>`;
}

function ChangeValues({ rule, parameters, refresh, onClose }) {
  const [texts, setTexts] = useState(Object.fromEntries(parameters.map(({ name, value }) => [name, textOf(value)])));
  const changed = parameters.filter(({ name, value }) => texts[name] !== textOf(value));
  const isFree = rule.state === "paused";
  const act = async (comment) => {
    if (!changed.length) return;
    const values = Object.fromEntries(changed.map((each) => [each.name, read(each, texts[each.name])]));
    const make = async () => {
      const after = await send("PATCH", path`/v1/processors/${rule.id}/parameters`, values, {
        query: { comment },
        etag: etagOf(rule),
      });
      toast(`Version ${after.version} has the new values.`);
      refresh();
    };
    await orPropose(rule, { document: withValues(rule.document, values) }, make, isFree)(comment);
  };
  return html`<${Confirm} title=${apart`Values of ${rule.id}`} verb=${verbFor(rule, "Publish", isFree)} act=${act} onClose=${onClose}>
    <p>Changed values make a new version; everything else stays the same.</p>
    ${!isFree && html`<${ApprovalsNote} stream=${rule.stream} />`}
    ${parameters.map(
      (each) => html`<${Value}
        key=${each.name}
        parameter=${each}
        text=${texts[each.name]}
        onInput=${(text) => setTexts({ ...texts, [each.name]: text })}
      />`,
    )}
  <//>`;
}

// All else stays as it is, a schedule included.
function withValues(document, values) {
  const parameters = Object.entries(document.pattern.parameters).map(([name, parameter]) => [
    name,
    name in values ? { ...parameter, value: values[name] } : parameter,
  ]);
  return { ...document, pattern: { ...document.pattern, parameters: Object.fromEntries(parameters) } };
}

function Value({ parameter, text, onInput }) {
  const { name, type, values } = parameter;
  const hint = [type, values ? "" : rangeOf(parameter), parameter.description].filter((part) => part && part !== ANY).map(isolated).join(" · ");
  if (isList(parameter)) {
    return html`<${TextField}
      label=${name}
      hint=${`One value per line. ${hint}${values ? ` · of ${isolated(values.join(", "))}` : ""}`}
      value=${text}
      onInput=${onInput}
      multiline
      rows="5"
      spellcheck="false"
    />`;
  }
  const allowed = type === "BOOLEAN" ? [true, false] : values;
  if (allowed) {
    const options = allowed.map((value) => [String(value), String(value)]);
    return html`<${SelectField} label=${name} hint=${hint} options=${options} value=${text} onChange=${onInput} />`;
  }
  const numeric = NUMBERS.test(type) ? { inputmode: "decimal" } : {};
  return html`<${TextField}
    label=${name}
    hint=${hint}
    value=${text}
    onInput=${onInput}
    autocomplete="off"
    spellcheck="false"
    required=${type !== "STRING"}
    ...${numeric}
  />`;
}

function parametersOf(rule) {
  const declared = rule.document.pattern.parameters ?? {};
  return Object.entries(declared).map(([name, parameter]) => ({ name, ...parameter }));
}

function rangeOf({ min, max, values }) {
  if (values) return values.length > 20 ? `one of ${values.length} values` : values.join(", ");
  if (min !== undefined && max !== undefined) return `${min} to ${max}`;
  if (min !== undefined) return `${min} or more`;
  return max === undefined ? ANY : `${max} or less`;
}

function isList({ type }) {
  return type.startsWith("ARRAY");
}

function textOf(value) {
  return Array.isArray(value) ? value.join("\n") : String(value);
}

function shown(value) {
  if (!Array.isArray(value)) return String(value);
  if (!value.length) return "none";
  const more = value.length > MOST_SHOWN ? ` … ${value.length} values` : "";
  return value.slice(0, MOST_SHOWN).join(", ") + more;
}

/** What was typed, as JSON has it; what is no number stays text, and the service says what is wrong. */
function read(parameter, text) {
  if (!isList(parameter)) return readOne(parameter.type, text);
  const type = parameter.type.slice("ARRAY<".length, -1);
  return text.split("\n").filter((line) => line.trim() !== "").map((line) => readOne(type, line.replace(/\r$/, "")));
}

function readOne(type, text) {
  if (type === "BOOLEAN") return text === "true";
  if (!NUMBERS.test(type) || text.trim() === "") return text;
  const number = Number(text);
  const isExact = Number.isInteger(number) ? Number.isSafeInteger(number) : Number.isFinite(number);
  return isExact ? number : text;
}
