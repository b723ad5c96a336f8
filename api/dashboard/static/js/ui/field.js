// Form controls with their labels, hints and mistakes tied to them.
import { html, useEffect, useId, useRef, useState } from "../../vendor/preact.js";

/** A label above a control. `control` is called with the attributes that tie both together. */
export function Field({ label, hint, mistake, control }) {
  const id = useId();
  const noteId = `${id}-note`;
  const described = hint || mistake ? { "aria-describedby": noteId } : {};
  const invalid = mistake ? { "aria-invalid": "true" } : {};
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${control({ id, ...described, ...invalid })}
    ${(hint || mistake) &&
    html`<span id=${noteId} class=${mistake ? "mistake" : "hint"}>${mistake || hint}</span>`}
  </div>`;
}

/** A text input with a label. @param {{label: string, value: string, onInput: (text: string) => void}} properties */
export function TextField({ label, hint, mistake, value, onInput, multiline, ...attributes }) {
  const changed = (event) => onInput(event.currentTarget.value);
  return html`<${Field}
    label=${label}
    hint=${hint}
    mistake=${mistake}
    control=${(tied) =>
      multiline
        ? html`<textarea class="input" value=${value} onInput=${changed} ...${tied} ...${attributes}></textarea>`
        : html`<input class="input" value=${value} onInput=${changed} ...${tied} ...${attributes} />`}
  />`;
}

/** A select with a label. @param {{options: [string, string][]}} properties value and text of each */
export function SelectField({ label, hint, ...select }) {
  return html`<${Field} label=${label} hint=${hint} control=${(tied) => html`<${Select} ...${select} ...${tied} />`} />`;
}

/** A select whose label only screen readers need, as in a row of filters, if `label` is given. */
export function Select({ label, options, value, onChange, ...attributes }) {
  return html`<select
    class="select"
    aria-label=${label}
    value=${value}
    onChange=${(event) => onChange(event.currentTarget.value)}
    ...${attributes}
  >
    ${options.map(([key, text]) => html`<option key=${key} value=${key} selected=${key === value}>${text}</option>`)}
  </select>`;
}

/** A search box that reports what was typed once typing rests; `onInput` hears of it at once. */
export function Search({ label, value, onSearch, placeholder, restMs = 250, className = "", onInput, ...attributes }) {
  const [text, setText] = useState(value);
  const timer = useRef(null);
  const reported = useRef(value);
  useEffect(() => {
    if (value !== reported.current) {
      reported.current = value;
      setText(value);
    }
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const report = (typed) => {
    reported.current = typed;
    onSearch(typed);
  };
  const changed = (event) => {
    const typed = event.currentTarget.value;
    setText(typed);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => report(typed.trim()), restMs);
    onInput?.(event);
  };
  return html`<input
    type="search"
    class=${`input search ${className}`}
    aria-label=${label}
    placeholder=${placeholder ?? label}
    value=${text}
    maxlength="200"
    autocomplete="off"
    spellcheck="false"
    onInput=${changed}
    ...${attributes}
  />`;
}

/** A check box with its label. */
export function Check({ label, checked, onChange, ...attributes }) {
  return html`<label class="check">
    <input
      type="checkbox"
      checked=${checked}
      onChange=${(event) => onChange(event.currentTarget.checked)}
      ...${attributes}
    />${label}
  </label>`;
}
