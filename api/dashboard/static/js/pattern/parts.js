// The parts of a drawing as SVG: each where layout.js has put it.

import { html } from "../../vendor/preact.js";
import { isWrong } from "./folding.js";

const DRAWN_BY = {
  group: drawGroup,
  edge: drawEdge,
  card: drawCard,
  fold: drawFold,
  handle: drawHandle,
  terminal: drawTerminal,
  bracket: drawBracket,
};

/** @param {object} part Of a layout. @param {string[]} wrong Pointers of what is wrong. */
export function draw(part, wrong) {
  return DRAWN_BY[part.type](part, wrong);
}

function drawGroup({ x, y, width, height, title, fullTitle, pointer, isExcluded, isRun }, wrong) {
  const states = [isRun && "is-run", isExcluded && "is-excluded", isWrong(pointer, wrong) && "is-wrong"].filter(Boolean);
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

function drawFold({ x, y, width, height, title, lines, fold }) {
  let line = y + 24;
  const next = () => (line += 17);
  return html`<g class=${`pattern-step pattern-folded${fold.wrong ? " is-wrong" : ""}`}>
    <rect class="pattern-step-behind" x=${x + 4} y=${y + 4} width=${width} height=${height} rx="8" />
    <rect class="pattern-step-card" x=${x} y=${y} width=${width} height=${height} rx="8" />
    <text class="pattern-step-name" x=${x + 12} y=${y + 24}>${title}</text>
    <path class="pattern-chevron" d=${`M${x + width - 20},${y + 16} l4,4 l-4,4`} />
    ${lines.map(([kind, text]) => html`<text class=${`pattern-step-${kind}`} x=${x + 12} y=${next()}>${text}</text>`)}
  </g>`;
}

// Of what is unfolded: where it is folded again.
function drawHandle({ x, y, width, height }) {
  const middle = { x: x + width / 2, y: y + height / 2 };
  return html`<path class="pattern-chevron" d=${`M${middle.x - 4},${middle.y - 2} l4,4 l4,-4`} />`;
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
