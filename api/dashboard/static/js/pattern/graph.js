// A pattern as a drawing (SVG) with its meaning as the drawing's label.

import { html, useLayoutEffect, useMemo, useRef, useState } from "../../vendor/preact.js";
import { layout } from "./layout.js";
import { readPattern } from "./model.js";
import { readRowPattern } from "./row_model.js";
import { clauseOf, useDrawing } from "./use_drawing.js";
import { asText } from "./words.js";

/**
 * @param {object} properties
 * @param {unknown} properties.pattern The pattern document.
 * @param {Record<string, string>} [properties.notes] A note per step.
 * @param {string[]} [properties.wrong] Pointers of what is wrong; the cards they lead into are marked.
 */
export function PatternGraph(properties) {
  const clause = clauseOf(properties.pattern);
  return clause ? html`<${RowPatternGraph} ...${properties} clause=${clause} />` : html`<${EventPatternGraph} ...${properties} />`;
}

function EventPatternGraph({ pattern, ...others }) {
  const read = useMemo(() => readPattern(pattern), [pattern]);
  return html`<${Drawing} read=${read} label=${asText(read)} ...${others} />`;
}

function RowPatternGraph({ clause, ...others }) {
  const answer = useDrawing(clause);
  const read = useMemo(() => (answer ? readRowPattern(answer) : { elements: [] }), [answer]);
  return html`<${Drawing} read=${read} label=${read.label} ...${others} />`;
}

function Drawing({ read, label, notes, wrong = [] }) {
  const frame = useRef(null);
  const available = useWidth(frame);
  const drawing = useMemo(() => layout(read, available, notes), [read, available, notes]);
  const { width, height, parts } = drawing;
  return html`
    <div class="pattern-graph" ref=${frame}>
      ${read.elements.length === 0
        ? html`<p class="pattern-graph-empty">No steps yet.</p>`
        : html`<svg
            class=${`pattern-drawing is-${drawing.direction}`}
            role="img"
            aria-label=${label}
            width=${Math.min(width + 4, available)}
            height=${Math.round((height + 4) * Math.min(1, available / (width + 4)))}
            viewBox=${`-2 -2 ${width + 4} ${height + 4}`}
          >
            ${parts.filter((part) => part.type === "group").map((part) => drawGroup(part, wrong))}
            ${parts.filter((part) => part.type === "edge").map((part) => drawEdge(part))}
            ${parts.filter((part) => part.type === "card").map((part) => drawCard(part, wrong))}
            ${parts.filter((part) => part.type === "terminal").map((part) => drawTerminal(part))}
            ${parts.filter((part) => part.type === "bracket").map((part) => drawBracket(part))}
          </svg>`}
    </div>
  `;
}

function useWidth(frame) {
  const [width, setWidth] = useState(800);
  useLayoutEffect(() => {
    const measure = () => setWidth(Math.floor(frame.current.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

function isWrong(pointer, wrong) {
  return wrong.some((each) => each === pointer || each.startsWith(`${pointer}/`));
}

function drawGroup({ x, y, width, height, title, fullTitle, pointer, isExcluded }, wrong) {
  const states = [isExcluded && "is-excluded", isWrong(pointer, wrong) && "is-wrong"].filter(Boolean);
  return html`<g class=${["pattern-group", ...states].join(" ")}>
    <title>${fullTitle}</title>
    <rect x=${x} y=${y} width=${width} height=${height} rx="10" />
    <text x=${x + 12} y=${y + 17}>${title}</text>
  </g>`;
}

function drawCard(card, wrong) {
  const { x, y, width, height } = card;
  const states = [
    card.isNegative && "is-negative",
    card.isOptional && "is-optional",
    isWrong(card.pointer, wrong) && "is-wrong",
  ].filter(Boolean);
  let line = y + 24;
  const next = () => (line += 17);
  const badgeWidth = card.badge.length * 7 + 14;
  return html`<g class=${`pattern-step ${states.join(" ")}`}>
    <title>${card.title}</title>
    ${card.isLooping && html`<rect class="pattern-step-behind" x=${x + 4} y=${y + 4} width=${width} height=${height} rx="8" />`}
    <rect class="pattern-step-card" x=${x} y=${y} width=${width} height=${height} rx="8" />
    ${card.isNegative &&
    html`<text class="pattern-step-not" x=${x + 12} y=${y + 24}>NOT</text>`}
    <text class="pattern-step-name" x=${x + (card.isNegative ? 48 : 12)} y=${y + 24}>${card.name}</text>
    ${card.badge &&
    html`<g class="pattern-step-badge">
      <rect x=${x + width - badgeWidth - 8} y=${y + 9} width=${badgeWidth} height="20" rx="10" />
      <text x=${x + width - badgeWidth / 2 - 8} y=${y + 23} text-anchor="middle">${card.badge}</text>
    </g>`}
    ${card.lines.map(
      (text) => html`<text class=${`pattern-step-condition${card.isAny ? " is-any" : ""}`} x=${x + 12} y=${next()}>${text}</text>`,
    )}
    ${card.fineLines.map((text) => html`<text class="pattern-step-remark" x=${x + 12} y=${next()}>${text}</text>`)}
    ${card.noteLines.map((text) => html`<text class="pattern-step-note" x=${x + 12} y=${next()}>${text}</text>`)}
  </g>`;
}

function drawEdge({ from, to, contiguity, label, gap }) {
  const isRow = from.y === to.y;
  const middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
  const tip = isRow
    ? `M${to.x - 8},${to.y - 4.5} L${to.x - 1},${to.y} L${to.x - 8},${to.y + 4.5}`
    : `M${to.x - 4.5},${to.y - 8} L${to.x},${to.y - 1} L${to.x + 4.5},${to.y - 8}`;
  return html`<g class=${`pattern-edge is-${contiguity.replaceAll("_", "-") || "end"}`}>
    <line x1=${from.x} y1=${from.y} x2=${to.x - (isRow ? 2 : 0)} y2=${to.y - (isRow ? 0 : 2)} />
    <path d=${tip} />
    ${label &&
    html`<text
      x=${isRow ? middle.x : middle.x + 12}
      y=${isRow ? middle.y - 8 : middle.y + 4}
      text-anchor=${isRow ? "middle" : "start"}
    >${isRow || !gap ? label : `${label} · ${gap}`}</text>`}
    ${gap && isRow && html`<text class="pattern-edge-gap" x=${middle.x} y=${middle.y + 18} text-anchor="middle">${gap}</text>`}
  </g>`;
}

function drawTerminal({ x, y }) {
  return html`<g class="pattern-terminal">
    <title>A match</title>
    <circle cx=${x} cy=${y} r="12" />
    <path d=${`M${x - 5},${y} l3.5,4 l6.5,-8`} />
  </g>`;
}

function drawBracket({ x, y, length, isRow, label }) {
  if (!isRow) {
    return html`<g class="pattern-window">
      <path d=${`M${x + 6},${y} h-6 v${length} h6`} />
      <text class="is-upright" transform=${`translate(${x - 5},${y + length / 2}) rotate(-90)`} text-anchor="middle">${label}</text>
    </g>`;
  }
  const middle = x + length / 2;
  const half = label.length * 3.4 + 8;
  const fits = length > 2 * half + 20;
  const gap = fits ? [middle - half, middle + half] : [middle, middle];
  return html`<g class="pattern-window">
    <path d=${`M${x},${y - 6} v6 H${gap[0]} M${gap[1]},${y} H${x + length} v-6`} />
    <text x=${fits ? middle : x} y=${fits ? y + 4 : y + 16} text-anchor=${fits ? "middle" : "start"}>${label}</text>
  </g>`;
}
