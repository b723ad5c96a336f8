// A chart over time, drawn by uPlot: lines or bars, a legend that follows the cursor, words for screen readers.
import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { duration, localDay, localTime, minuteTime, shortCount } from "../format.js";
import { colour, theme } from "../theme.js";
import { MarkLegend, Marks, areaOf, isSameArea, placed } from "./chart_marks.js";

const HEIGHT = 150;
const NO_MARKS = [];
const SYNCHRONISED = "percept";
const POWERS = Array.from({ length: 16 }, (_, power) => 10 ** power);
const WHOLE_STEPS = POWERS.flatMap((power) => [power, 2 * power, 5 * power]);
const DAY_MS = 86_400_000;
const DURATION_STEPS = [
  ...WHOLE_STEPS.filter((ms) => ms <= 20_000),
  ...[0.5, 1, 2, 5, 10, 30, 60, 120, 360, 720].map((minutes) => minutes * 60_000),
  ...WHOLE_STEPS.map((days) => days * DAY_MS),
];

/**
 * @param {object} properties
 *   title: what it shows, also for screen readers.
 *   times: milliseconds since 1970, or instants as the API writes them.
 *   series: [{label, values: (number|null)[], isPast}], at most six. isPast: its last value is not that of now.
 *   format: a value as text, with its unit. bars: bars instead of lines.
 *   marks: what happened meanwhile (see chart_marks.js), and marksLabel: what that is, in words.
 */
export function Chart({ title, times, series, format = shortCount, bars = false, height = HEIGHT, marks = NO_MARKS, marksLabel = "" }) {
  const place = useRef(null);
  const plot = useRef(null);
  const [index, setIndex] = useState(null);
  const [area, setArea] = useState(null);
  const [markTold, setMarkTold] = useState("");
  const isDark = theme.value;
  const seconds = times.map((time) => (typeof time === "number" ? time : Date.parse(time)) / 1000);
  const names = series.map((each) => each.label).join("\n");

  useEffect(() => {
    let gone = false;
    let observer = null;
    import("../../vendor/uplot.js").then(({ default: Plot }) => {
      if (gone) return;
      const width = place.current.clientWidth || 300;
      plot.current = new Plot(
        options(Plot, { width, height, series, format, bars, setIndex, setArea }),
        [seconds, ...series.map((each) => each.values)],
        place.current,
      );
      observer = new ResizeObserver(([entry]) => {
        plot.current?.setSize({ width: Math.max(entry.contentRect.width, 120), height });
      });
      observer.observe(place.current);
    });
    return () => {
      gone = true;
      observer?.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [names, bars, height, isDark]);

  useEffect(() => {
    plot.current?.setData([seconds, ...series.map((each) => each.values)]);
  }, [times, series]);

  const isEmpty = !series.some((each) => each.values.some(isKnown));
  const at = index !== null && index < times.length ? index : null;
  const told = ({ values, isPast }) => {
    const value = at !== null ? values[at] : isPast ? null : values.findLast(isKnown);
    return isKnown(value) ? format(value) : "–";
  };
  const flags = placed(marks, area);
  return html`<figure class="chart" aria-label=${`${title}. ${spoken(series, format)}`}>
    <figcaption class="chart-legend number">
      ${series.map(
        (each, number) => html`<span key=${each.label}>
          <span class=${`swatch swatch-${number + 1}`}></span>${each.label}${" "}
          <strong>${told(each)}</strong>
        </span>`,
      )}
      <${MarkLegend} flags=${flags} />
      ${at !== null && html`<span class="muted">${localTime(times[at])}</span>`}
    </figcaption>
    <div class="chart-area">
      <div class="plot" ref=${place} aria-hidden="true"></div>
      <${Marks} flags=${flags} area=${area} label=${marksLabel} onTell=${setMarkTold} />
      ${markTold && html`<p class="chart-mark-told" aria-hidden="true">${markTold}</p>`}
    </div>
    ${isEmpty && html`<p class="chart-empty muted">Nothing reported yet</p>`}
  </figure>`;
}

function spoken(series, format) {
  const said = series.map(({ label, values }) => {
    const known = values.filter(isKnown);
    if (!known.length) return `${label}: nothing reported`;
    return `${label}: last ${format(known.at(-1))}, at most ${format(Math.max(...known))}`;
  });
  return said.join("; ");
}

function options(Plot, { width, height, series, format, bars, setIndex, setArea }) {
  const ink = colour("--ink-3");
  const line = colour("--line");
  const font = "11px Inter, system-ui, sans-serif";
  return {
    width,
    height,
    legend: { show: false },
    padding: [8, 30, 0, 0],
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false }, sync: { key: SYNCHRONISED } },
    scales: {
      x: { range: (plot, first, last) => [first, bars && last !== null ? last + bucket(plot) : last] },
      y: { range: (_plot, _least, greatest) => [0, greatest > 0 ? greatest * 1.08 : 1] },
    },
    axes: [
      {
        stroke: ink,
        font,
        size: 26,
        space: 60,
        grid: { show: false },
        ticks: { stroke: line, size: 4 },
        values: (_plot, values) => values.map(areDays(values) ? dayOf : minuteOf),
      },
      {
        stroke: ink,
        font,
        size: 54,
        space: 34,
        incrs: (plot) => steps(plot, format),
        grid: { stroke: line, width: 1 },
        ticks: { show: false },
        values: (plot, values) => values.map((value) => (known(plot).length ? format(value) : "")),
      },
    ],
    series: [
      {},
      ...series.map((each, number) => {
        const stroke = colour(`--series-${number + 1}`);
        return {
          label: each.label,
          stroke,
          width: 1.5,
          spanGaps: false,
          points: { show: true, size: 4, fill: stroke, filter: isolated },
          fill: bars ? stroke : series.length === 1 ? faded(stroke) : undefined,
          paths: bars ? Plot.paths.bars({ size: [0.72, 40], align: 1 }) : undefined,
        };
      }),
    ],
    hooks: {
      setCursor: [(plot) => setIndex(plot.cursor.idx ?? null)],
      draw: [(plot) => setArea((before) => (isSameArea(before, areaOf(plot)) ? before : areaOf(plot)))],
    },
  };
}

function areDays([first, second]) {
  return second - first >= DAY_MS / 1000;
}

function dayOf(seconds) {
  return localDay(seconds * 1000);
}

function minuteOf(seconds) {
  return minuteTime(seconds * 1000);
}

/** Seconds from one bar to the next: a bar begins at its time, so the last one needs room behind it. */
function bucket(plot) {
  const [before, last] = plot.data[0].slice(-2);
  return last === undefined ? 60 : last - before;
}

/** The distances that may lie between two marks of the axis: round ones, and no half events. */
function steps(plot, format) {
  if (format === duration) return DURATION_STEPS;
  return known(plot).every(Number.isInteger) ? WHOLE_STEPS : [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, ...WHOLE_STEPS];
}

/** Positions of values without neighbours, which no line could show. */
function isolated(plot, number) {
  const values = plot.data[number];
  const alone = (index) => isKnown(values[index]) && !isKnown(values[index - 1]) && !isKnown(values[index + 1]);
  return [...values.keys()].filter(alone);
}

function known(plot) {
  return plot.data.slice(1).flatMap((values) => values.filter(isKnown));
}

function isKnown(value) {
  return value !== null && value !== undefined;
}

function faded(stroke) {
  return `color-mix(in srgb, ${stroke} 12%, transparent)`;
}
