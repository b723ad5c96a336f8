// The field for whom a match is assigned to: any name, and those who have matches already are offered.
import { html, useId } from "../../vendor/preact.js";
import { session } from "../session.js";
import { useRead } from "../api.js";
import { Field } from "../ui/field.js";
import { readAssignees } from "./change.js";

/** A hook: who may be meant; the one signed in first. */
export function useAssignees(stream) {
  const { data: names = [] } = useRead(() => readAssignees(stream), [stream]);
  return [...new Set([session.value?.name, ...names])].filter(Boolean);
}

/** @param {{stream: string, label?: string, hint?: string, value: string, onInput: (name: string) => void}} properties */
export function AssigneeField({ stream, label = "Assigned to", hint, value, onInput, ...attributes }) {
  const names = useAssignees(stream);
  const listId = useId();
  return html`<${Field}
    label=${label}
    hint=${hint}
    control=${(tied) => html`<input
        class="input"
        list=${listId}
        maxlength="100"
        autocomplete="off"
        spellcheck="false"
        value=${value}
        onInput=${(event) => onInput(event.currentTarget.value)}
        ...${tied}
        ...${attributes}
      /><datalist id=${listId}>${names.map((name) => html`<option key=${name} value=${name} />`)}</datalist>`}
  />`;
}
