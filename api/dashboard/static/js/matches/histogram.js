// How many matches ended when, as bars; what is dragged over becomes the filter of event time.
import { html, useRef, useState } from "../../vendor/preact.js";
import { count, localTime, millis, plural } from "../format.js";

const HEIGHT = 56;
const LEAST_BUCKETS = 12; // so that one bar is not as wide as the page

/**
 * @param {object} properties
 *   summary: that of the service. onBrush: told the begin and the end of what was chosen, in ms.
 */
export function Histogram({ summary, onBrush }) {
  const place = useRef(null);
  const [range, setRange] = useState(null);
  const [hovered, setHovered] = useState(null);
  const { counts, bucket_ms: length } = summary;
  const times = summary.times.map(millis);
  const shown = Math.max(counts.length, LEAST_BUCKETS);
  const highest = Math.max(...counts, 1);
  const at = (event) => {
    const box = place.current.getBoundingClientRect();
    const index = Math.floor(((event.clientX - box.left) / box.width) * shown);
    return Math.min(Math.max(index, 0), counts.length - 1);
  };
  const begin = (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    place.current.setPointerCapture(event.pointerId);
    setRange([at(event), at(event)]);
  };
  const move = (event) => {
    const index = at(event);
    setHovered(index);
    if (range) setRange([range[0], index]);
  };
  const end = () => {
    if (!range) return;
    const [first, last] = [Math.min(...range), Math.max(...range)];
    setRange(null);
    onBrush(times[first], times[last] + length);
  };
  const [from, to] = range ? [Math.min(...range), Math.max(...range)] : [0, -1];
  const told = hovered !== null && counts[hovered] !== undefined;
  return html`<figure class="histogram" aria-label=${spoken(summary)}>
    <svg
      ref=${place}
      viewBox=${`0 0 ${shown} ${HEIGHT}`}
      height=${HEIGHT}
      width="100%"
      preserveAspectRatio="none"
      aria-hidden="true"
      onPointerDown=${begin}
      onPointerMove=${move}
      onPointerUp=${end}
      onPointerCancel=${() => setRange(null)}
      onPointerLeave=${() => setHovered(null)}
    >
      ${range && html`<rect class="brushed" x=${from} y="0" width=${to - from + 1} height=${HEIGHT} />`}
      ${counts.map((number, index) => {
        const high = number ? Math.max((number / highest) * (HEIGHT - 2), 2) : 0;
        const isIn = index === hovered || (index >= from && index <= to);
        return html`<rect key=${index} class=${isIn ? "bar here" : "bar"} x=${index + 0.1} y=${HEIGHT - high} width="0.8" height=${high} />`;
      })}
      <line x1="0" x2=${shown} y1=${HEIGHT} y2=${HEIGHT} />
    </svg>
    <figcaption class="number muted">
      <span>${localTime(times[0])}</span>
      <span class=${told ? undefined : "hint"}>${told ? `${localTime(times[hovered])}: ${plural(counts[hovered], "match", "matches")}` : "Drag to select a range"}</span>
      <span>${localTime(times.at(-1) + length)}</span>
    </figcaption>
  </figure>`;
}

function spoken({ total, first, last, counts }) {
  return `${count(total)} over event time, from ${localTime(first)} to ${localTime(last)}, at most ${count(Math.max(...counts))} at once`;
}
