// The events of a match in order of time, with all their fields.
import { html } from "../../vendor/preact.js";
import { Time, duration } from "../format.js";
import { inOrder, stepsOf } from "./event_times.js";
import { valueText } from "./output.js";

const COLOURS = 6;
const SHORT_VALUE = 24; // characters that are not broken into lines

/** @param {{match: object, column: string, marked: string|null, onMark: (key: string|null) => void}} properties */
export function EventsTable({ match, column, marked, onMark }) {
  const ordered = inOrder(match.events, column);
  const steps = stepsOf(ordered);
  const isTimed = ordered.every(({ atMs }) => atMs !== null);
  const names = [...new Set(ordered.flatMap(({ event }) => Object.keys(event)))].filter(
    (name) => !(isTimed && name === column),
  );
  const isNull = (name) => ordered.every(({ event }) => event[name] === null);
  const fields = names.filter((name) => !isNull(name));
  const empty = names.filter(isNull);
  return html`<div class="table-scroll" tabindex="0" role="region" aria-label="Events of this match">
    <table class="table events-table">
      <thead>
        <tr>
          <th scope="col">Step</th>
          ${isTimed && html`<th scope="col">Time</th><th scope="col" class="right">After</th>`}
          ${fields.map((name) => html`<th scope="col" key=${name} class="event-field"><bdi>${name}</bdi></th>`)}
        </tr>
      </thead>
      <tbody>
        ${ordered.map(
          ({ step, event, atMs, key }, index) => html`<tr
            key=${key}
            aria-selected=${marked === key ? "true" : undefined}
            onMouseEnter=${() => onMark(key)}
            onMouseLeave=${() => onMark(null)}
          >
            <td class="nowrap">
              <span class=${`step-dot match-lane-${(steps.indexOf(step) % COLOURS) + 1}`}></span><bdi>${step}</bdi>
            </td>
            ${isTimed &&
            html`<td><${Time} at=${atMs} /></td>
              <td class="right muted nowrap">${index ? `+${duration(atMs - ordered[index - 1].atMs)}` : ""}</td>`}
            ${fields.map((name) => html`<${Field} key=${name} event=${event} name=${name} />`)}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>
  ${empty.length > 0 && html`<p class="pager"><span>Always null: <bdi>${empty.join(", ")}</bdi></span></p>`}`;
}

function Field({ event, name }) {
  if (!(name in event)) return html`<td class="event-field muted">–</td>`;
  const text = valueText(event[name]);
  return html`<td class=${`event-field ${text.length <= SHORT_VALUE ? "nowrap" : "long"}`}><bdi>${text}</bdi></td>`;
}
