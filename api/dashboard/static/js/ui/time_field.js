// A field for an instant of event time, in the zone of this browser.
import { html } from "../../vendor/preact.js";
import { utc } from "../format.js";
import { Field } from "./field.js";
import { ZoneNote } from "./zone.js";

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

/** An instant as `<input type="datetime-local">` takes it. @param {number} ms since 1970 */
export function localInput(ms) {
  const date = new Date(ms);
  const shifted = new Date(ms - date.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 19);
}
