// What happened at points of a chart's time: thin lines over the plot, each with a flag that says what it was.
import { html } from "../../vendor/preact.js";
import { Icon } from "./icon.js";

const FLAG = 26; // pixels; what is nearer to each other has one flag

/**
 * @typedef {object} Mark
 * @property {number} at Milliseconds since 1970.
 * @property {string} kind In a word, such as "paused"; for the legend.
 * @property {string} [icon] For its flag, or
 * @property {string} [flag] a short text.
 * @property {string} text What happened, when and by whom.
 */

/** Where the plot stands in its chart, in pixels, and the seconds that it shows. @param {object} plot of uPlot */
export function areaOf(plot) {
  const { offsetLeft: left, offsetTop: top, offsetWidth: width, offsetHeight: height } = plot.over;
  const times = plot.data[0];
  const bucket = times.length > 1 ? times.at(-1) - times.at(-2) : 0;
  return { left, top, width, height, first: plot.scales.x.min, last: plot.scales.x.max, until: (times.at(-1) ?? 0) + bucket };
}

/** Whether two areas are the same. */
export function isSameArea(one, other) {
  return one !== null && Object.keys(other).every((name) => one[name] === other[name]);
}

/**
 * Marks within the shown time, those close to each other together, oldest first.
 * @param {Mark[]} marks @param {ReturnType<typeof areaOf> | null} area
 * @returns {{x: number, marks: Mark[]}[]} x in pixels from the left of the chart.
 */
export function placed(marks, area) {
  if (!area || !(area.last > area.first)) return [];
  const { left, width, first, last, until } = area;
  const shown = marks.filter(({ at }) => at >= first * 1000 && at < Math.max(until, last) * 1000);
  const flags = [];
  for (const mark of shown.toSorted((one, other) => one.at - other.at)) {
    const x = left + Math.min((mark.at / 1000 - first) / (last - first), 1) * width;
    if (flags.length && x - flags.at(-1).x < FLAG) flags.at(-1).marks.push(mark);
    else flags.push({ x, marks: [mark] });
  }
  return flags;
}

/** @param {{flags: ReturnType<typeof placed>}} properties */
export function MarkLegend({ flags }) {
  const kinds = [...new Set(flags.flatMap((flag) => flag.marks.map((mark) => mark.kind)))];
  return kinds.length > 0 && html`<span class="chart-mark-key"><span class="mark-line" aria-hidden="true"></span>${kinds.join(", ")}</span>`;
}

/** @param {{flags: ReturnType<typeof placed>, area: object, label: string, onTell: (text: string) => void}} properties */
export function Marks({ flags, area, label, onTell }) {
  return flags.length > 0 && html`<ul class="chart-marks" aria-label=${label}>
    ${flags.map(({ x, marks }) => {
      const text = marks.map((mark) => mark.text).join("\n");
      const flag = flagOf(marks);
      const tell = () => onTell(text);
      const hush = () => onTell("");
      return html`<li key=${marks[0].at} style=${`left: ${x}px; top: ${area.top}px; height: ${area.height}px`}>
        <button type="button" aria-label=${typeof flag === "string" ? `${flag}: ${text}` : text} title=${text} onFocus=${tell} onBlur=${hush} onMouseEnter=${tell} onMouseLeave=${hush}>
          ${flag}
        </button>
      </li>`;
    })}
  </ul>`;
}

function flagOf(marks) {
  if (marks.length > 1) return `${marks.length}×`;
  const [{ icon, flag }] = marks;
  return icon ? html`<${Icon} name=${icon} />` : flag;
}
