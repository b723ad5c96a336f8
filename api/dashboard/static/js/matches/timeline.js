// A match as a timeline: a lane per step, each event at its time.
import { html } from "../../vendor/preact.js";
import { duration, localTime, plural, utc } from "../format.js";
import { isolated } from "../ui/visible.js";
import { inOrder, layOut, stepsOf, ticks } from "./event_times.js";

const LANE_HEIGHT = 26;
const MARGIN = 3; // percent left free at both ends, so that dots and words are not cut
const COLOURS = 6;

/**
 * @param {object} properties
 *   match: as the service shows it, with its events. column: the stream's event time column.
 *   marked: the key of the event to stress, and onMark(key or null), if the page has a list beside it.
 */
export function Timeline({ match, column, marked = null, onMark = () => {} }) {
  const ordered = inOrder(match.events, column);
  if (!ordered.length) return html`<p class="muted">The job sent no events with this match.</p>`;
  const layout = layOut(ordered, Date.parse(match.start), Date.parse(match.end));
  const placed = ordered.map((each, index) => ({ ...each, place: inside(layout.places[index]) }));
  const steps = stepsOf(ordered);
  const closes = layout.isTimed && Date.parse(match.end) > (ordered.at(-1).atMs ?? 0);
  return html`<figure class="match-chart" aria-label=${spoken(ordered, layout, match)}>
    <div class="lanes" aria-hidden="true">
      ${steps.map(
        (step, number) => html`<${Lane}
          key=${step}
          step=${step}
          colour=${(number % COLOURS) + 1}
          events=${placed.filter((each) => each.step === step)}
          endPlace=${closes ? inside(layout.endPlace) : null}
          marked=${marked}
          onMark=${onMark}
        />`,
      )}
      ${layout.isTimed && html`<${Axis} layout=${layout} />`}
    </div>
    ${!layout.isTimed &&
    html`<figcaption class="muted">
      The events have no readable time in ${column}; they are shown in order.
    </figcaption>`}
    ${closes && html`<figcaption class="muted">${closing(match)} at the dashed line, ${localTime(match.end)}.</figcaption>`}
  </figure>`;
}

function Lane({ step, colour, events, endPlace, marked, onMark }) {
  const y = LANE_HEIGHT / 2;
  const isRepeated = events.length > 1;
  return html`<span class="lane-name" title=${step}>
      ${step}${isRepeated && html`<span class="muted"> × ${events.length}</span>`}
    </span>
    <svg class=${`match-lane-${colour}`} height=${LANE_HEIGHT} width="100%">
      <line class="track" x1="0" x2="100%" y1=${y} y2=${y} />
      ${endPlace !== null &&
      html`<line class="closing" x1=${`${endPlace}%`} x2=${`${endPlace}%`} y1="0" y2=${LANE_HEIGHT} />`}
      ${isRepeated &&
      html`<line class="span" x1=${`${events[0].place}%`} x2=${`${events.at(-1).place}%`} y1=${y} y2=${y} />`}
      ${events.map(
        ({ key, place, atMs }) => html`<circle
          key=${key}
          class=${marked === key ? "marked" : ""}
          cx=${`${place}%`}
          cy=${y}
          r=${marked === key ? 7 : 5}
          onMouseEnter=${() => onMark(key)}
          onMouseLeave=${() => onMark(null)}
        >
          <title>${atMs === null ? step : `${isolated(step)} · ${localTime(atMs)} · ${utc(atMs)}`}</title>
        </circle>`,
      )}
    </svg>`;
}

function Axis({ layout }) {
  const { fromMs, untilMs } = layout;
  const length = untilMs - fromMs;
  const marks = ticks(length);
  return html`<span class="lane-name muted">${localTime(fromMs)}</span>
    <svg class="axis" height="22" width="100%">
      ${marks.map((ms, index) => {
        const place = inside(length ? (100 * ms) / length : 50);
        return html`<g key=${ms}>
          <line x1=${`${place}%`} x2=${`${place}%`} y1="0" y2="4" />
          <text class=${index % 2 ? "minor" : ""} x=${`${place}%`} y="17" text-anchor=${anchor(place)}>
            ${ms ? `+${duration(ms)}` : "0"}
          </text>
        </g>`;
      })}
    </svg>`;
}

function anchor(place) {
  if (place > 90) return "end";
  return place < 8 ? "start" : "middle";
}

function inside(percent) {
  return MARGIN + (percent * (100 - 2 * MARGIN)) / 100;
}

function closing({ kind }) {
  return kind === "timeout" ? "Its window closed" : "It was found when its window closed,";
}

function spoken(ordered, layout, match) {
  const steps = stepsOf(ordered).map((step) => {
    const number = ordered.filter((each) => each.step === step).length;
    return number > 1 ? `${step} ${number} times` : step;
  });
  const length = duration(layout.untilMs - layout.fromMs);
  return `${match.kind} of ${plural(ordered.length, "event")} in ${length}: ${steps.join(", ")}`;
}
