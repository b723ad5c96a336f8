// A pattern as a drawing (SVG) with its meaning as the drawing's label, in a frame that scrolls, zooms and folds.

import { html, useLayoutEffect, useMemo, useRef, useState } from "../../vendor/preact.js";
import { Button } from "../ui/button.js";
import { foldLabel, folded, foldsOf } from "./folding.js";
import { layout } from "./layout.js";
import { readPattern } from "./model.js";
import { draw } from "./parts.js";
import { readRowPattern } from "./row_model.js";
import { clauseOf, useDrawing } from "./use_drawing.js";
import { asText } from "./words.js";
import { ZoomButtons, useZoom } from "./zoom.js";

const MOST_HEIGHT = 640; // pixels; what is higher scrolls in its frame
const SMALLEST_TARGET = 24; // pixels of a button
const NONE = {};
const NOTHING = [];

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

function Drawing({ read, label, notes = NONE, wrong = NOTHING }) {
  const frame = useRef(null);
  const available = useWidth(frame);
  const [toggled, setToggled] = useState(() => new Set());
  const elements = useMemo(() => folded(read.elements, { toggled, wrong, notes }), [read, toggled, wrong.join("\n"), notes]);
  const drawing = useMemo(() => layout({ ...read, elements }, available, notes), [read, elements, available, notes]);
  const size = { width: drawing.width + 4, height: drawing.height + 4 };
  const folds = foldsOf(elements);
  const isLarge = size.height > MOST_HEIGHT || folds.some((each) => each.isRun);
  const zoom = useZoom(frame, size, available, isLarge);
  const toggle = (key) => setToggled((before) => new Set(before.has(key) ? [...before].filter((each) => each !== key) : [...before, key]));
  const foldAll = (isFolded) => setToggled(new Set(folds.filter((each) => each.isRun !== isFolded).map((each) => each.key)));
  return html`
    <div class=${`pattern-graph${isLarge ? " is-large" : ""}`}>
      ${isLarge &&
      html`<${ZoomButtons} zoom=${zoom}>
        ${folds.length > 0 &&
        html`<${Button} small aria-disabled=${folds.every((each) => !each.isFolded) ? "true" : "false"} onClick=${() => foldAll(false)}>Unfold all<//>
          <${Button} small aria-disabled=${folds.every((each) => each.isFolded) ? "true" : "false"} onClick=${() => foldAll(true)}>Fold all<//>`}
      <//>`}
      <div
        class="pattern-frame"
        ref=${frame}
        ...${isLarge ? { tabindex: 0, role: "region", "aria-label": "Drawing of the pattern", onKeyDown: zoom.onKeyDown } : {}}
      >
        ${read.elements.length === 0
          ? html`<p class="pattern-graph-empty">No steps yet.</p>`
          : html`<${Canvas} drawing=${drawing} size=${size} scale=${zoom.scale} label=${label} wrong=${wrong} onToggle=${toggle} />`}
      </div>
    </div>
  `;
}

function Canvas({ drawing, size, scale, label, wrong, onToggle }) {
  const { direction, parts } = drawing;
  const width = Math.round(size.width * scale);
  const height = Math.round(size.height * scale);
  return html`<div class=${`pattern-canvas is-${direction}`} style=${`width: ${width}px; height: ${height}px`}>
    <svg
      class=${`pattern-drawing is-${direction}`}
      role="img"
      aria-label=${label}
      width=${width}
      height=${height}
      viewBox=${`-2 -2 ${size.width} ${size.height}`}
    >
      ${["group", "edge", "card", "fold", "terminal", "bracket", "handle"].map((type) =>
        parts.filter((part) => part.type === type).map((part) => draw(part, wrong)),
      )}
    </svg>
    ${parts
      .filter((part) => part.type === "fold" || part.type === "handle")
      .map((part) => html`<${FoldButton} key=${part.fold.key} part=${part} scale=${scale} onToggle=${onToggle} />`)}
  </div>`;
}

// Over the drawing, not in it: a drawing with a label of its own has nothing inside that could take the focus.
function FoldButton({ part, scale, onToggle }) {
  const width = Math.max(part.width * scale, SMALLEST_TARGET);
  const height = Math.max(part.height * scale, SMALLEST_TARGET);
  const left = (part.x + 2 + part.width / 2) * scale - width / 2;
  const top = (part.y + 2 + part.height / 2) * scale - height / 2;
  const label = foldLabel(part.fold);
  return html`<button
    type="button"
    class="pattern-fold"
    style=${`left: ${left}px; top: ${top}px; width: ${width}px; height: ${height}px`}
    aria-expanded=${part.fold.isFolded ? "false" : "true"}
    aria-label=${label}
    title=${`${part.fold.isFolded ? "Unfold" : "Fold"}: ${label}`}
    onClick=${() => onToggle(part.fold.key)}
  ></button>`;
}

function useWidth(frame) {
  const [width, setWidth] = useState(800);
  useLayoutEffect(() => {
    const measure = () => {
      const { paddingLeft, paddingRight } = getComputedStyle(frame.current);
      setWidth(Math.floor(frame.current.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight)));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  return width;
}
