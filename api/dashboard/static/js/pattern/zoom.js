// How large a drawing is shown in its frame: steps of zoom by button, key and wheel, and the place that stays in sight.

import { html, useEffect, useLayoutEffect, useRef, useState } from "../../vendor/preact.js";
import { Button } from "../ui/button.js";

const SCALES = [0.1, 0.15, 0.2, 0.25, 0.33, 0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 3];

/**
 * The scale of a drawing in a frame that scrolls.
 * @param {object} frame A reference to the element that scrolls.
 * @param {{width: number, height: number}} size Of the drawing at scale 1, in pixels.
 * @param {number} available Width in pixels that is free in the frame.
 * @param {boolean} isEnabled Whether it can be zoomed; else it is as wide as there is room, at most its own size.
 * @returns {{scale: number, zoomIn: () => void, zoomOut: () => void, fit: () => void, onKeyDown: (event: KeyboardEvent) => void}}
 */
export function useZoom(frame, size, available, isEnabled) {
  const [chosen, setChosen] = useState(null); // null = as wide as there is room, at most 1
  const anchor = useRef(null);
  const natural = Math.min(1, available / size.width);
  const scale = isEnabled ? (chosen ?? natural) : natural;
  const shown = useRef(scale);

  const zoomTo = (next, point) => {
    const { clientWidth, clientHeight } = frame.current;
    anchor.current = point ?? { x: clientWidth / 2, y: clientHeight / 2 };
    setChosen(next);
  };
  const zoomIn = (point) => zoomTo(SCALES.find((each) => each > scale * 1.01) ?? scale, point);
  const zoomOut = (point) => zoomTo(SCALES.findLast((each) => each < scale * 0.99) ?? scale, point);
  const fit = () => {
    zoomTo(Math.min(natural, mostHeight(frame.current) / size.height));
  };

  useLayoutEffect(() => {
    const { x, y } = anchor.current ?? { x: 0, y: 0 };
    const growth = scale / shown.current;
    shown.current = scale;
    if (growth === 1 || !anchor.current) return;
    frame.current.scrollLeft = (frame.current.scrollLeft + x) * growth - x;
    frame.current.scrollTop = (frame.current.scrollTop + y) * growth - y;
  }, [scale]);

  useEffect(() => {
    if (!isEnabled) return undefined;
    const onWheel = (event) => {
      if (!event.ctrlKey || event.deltaY === 0) return;
      event.preventDefault(); // else the browser zooms the whole page
      const box = frame.current.getBoundingClientRect();
      const point = { x: event.clientX - box.left, y: event.clientY - box.top };
      if (event.deltaY < 0) zoomIn(point);
      else zoomOut(point);
    };
    const element = frame.current;
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  });

  const onKeyDown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") zoomIn();
    else if (event.key === "-") zoomOut();
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  };
  return { scale, zoomIn: () => zoomIn(), zoomOut: () => zoomOut(), fit, onKeyDown };
}

// A frame is as high as what it holds, up to a limit.
function mostHeight(frame) {
  const { maxHeight, paddingTop, paddingBottom } = getComputedStyle(frame);
  const border = frame.offsetHeight - frame.clientHeight;
  return Number.parseFloat(maxHeight) - border - Number.parseFloat(paddingTop) - Number.parseFloat(paddingBottom);
}

/** The buttons of a drawing. @param {{zoom: ReturnType<typeof useZoom>, children: any}} properties */
export function ZoomButtons({ zoom, children }) {
  return html`<div class="pattern-tools" role="group" aria-label="Drawing">
    ${children}
    <span class="grow"></span>
    <${Button} small icon="minus" label="Zoom out" aria-keyshortcuts="-" onClick=${zoom.zoomOut} />
    <output class="number" aria-label="Size of the drawing">${Math.round(zoom.scale * 100)}%</output>
    <${Button} small icon="plus" label="Zoom in" aria-keyshortcuts="+" onClick=${zoom.zoomIn} />
    <${Button} small aria-keyshortcuts="0" title="Show all of the drawing" onClick=${zoom.fit}>Fit<//>
  </div>`;
}
