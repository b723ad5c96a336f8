// A field for an instant of event time, in the zone of this browser.
import { html } from "../../vendor/preact.js";
import { millis, utc } from "../format.js";
import { Field } from "./field.js";
import { ZoneNote } from "./zone.js";

/** How long a day and time without seconds is as text. */
export const TO_THE_MINUTE = "2027-01-31T12:00".length;

/** A local day and time, with the same instant in UTC and how far event time of the stream has come below. */
export function TimeField({ stream, label, value, onInput, required = true }) {
  const typed = new Date(value);
  const isInstant = !Number.isNaN(typed.getTime());
  return html`<${Field}
    label=${label}
    hint=${html`<${ZoneNote} stream=${stream} at=${isInstant ? typed : undefined} />${isInstant && ` The time above is ${utc(typed.getTime())}.`}`}
    control=${(tied) => html`<input
      class="input"
      type="datetime-local"
      step="1"
      value=${value}
      required=${required}
      onInput=${(event) => onInput(event.currentTarget.value)}
      ...${tied}
    />`}
  />`;
}

/** A local day and time; `value` is an instant in ISO 8601, or null. */
export function InstantField({ label, value, onChange, required = false }) {
  return html`<${Field}
    label=${label}
    control=${(tied) => html`<input
      class="input"
      type="datetime-local"
      required=${required}
      value=${localInput(value, TO_THE_MINUTE)}
      onChange=${(event) => onChange(instantOf(event.currentTarget.value))}
      ...${tied}
    />`}
  />`;
}

/**
 * An instant as `<input type="datetime-local">` takes it; "" for none.
 * @param {string|number|null|undefined} at in ISO 8601, or in ms since 1970 @param {number} length to the second, or shorter
 */
export function localInput(at, length = TO_THE_MINUTE + ":00".length) {
  const ms = millis(at ?? "");
  if (Number.isNaN(ms)) return "";
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, length);
}

/** The instant that stands in such a field, in ISO 8601; null if none does. */
export function instantOf(text) {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}
