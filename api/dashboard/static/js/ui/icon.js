// Small line icons, drawn with the colour of the text.
import { html } from "../../vendor/preact.js";

const PATHS = {
  check: "M3 8.5l3.2 3.2L13 5",
  cross: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3.2v9.6L12.8 8z",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  copy: "M5.5 5.5V3h7.5v7.5h-2.5M3 5.5h7.5V13H3z",
  search: "M7 11.5a4.5 4.5 0 100-9 4.5 4.5 0 000 9zM10.5 10.5L14 14",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  left: "M10 4L6 8l4 4",
  warning: "M8 2.5L14.5 13.5h-13zM8 6.5v3.2M8 11.6h.01",
  clock: "M8 14A6 6 0 108 2a6 6 0 000 12zM8 4.8V8l2.2 1.6",
  user: "M8 8a2.7 2.7 0 100-5.4A2.7 2.7 0 008 8zM2.8 13.8a5.3 5.3 0 0110.4 0",
  sun: "M8 10.8a2.8 2.8 0 100-5.6 2.8 2.8 0 000 5.6zM8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9",
  moon: "M13.4 9.6A5.8 5.8 0 016.4 2.6a5.8 5.8 0 107 7z",
  edit: "M3 13l.6-2.8L10.8 3l2.2 2.2-7.2 7.2zM9.3 4.5l2.2 2.2",
  undo: "M6 3L2.8 6.2 6 9.4M3 6.2h6a3.6 3.6 0 010 7.2H6",
  refresh: "M13 8a5 5 0 11-1.6-3.7M13 2.5v2.8h-2.8",
  trash: "M3 4.5h10M6.2 4.5V3h3.6v1.5M4.4 4.5l.6 8.5h6l.6-8.5",
  download: "M8 2.5v7.5M4.8 7L8 10.2 11.2 7M3 13h10",
  columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
  views: "M4.5 2.5h7v11L8 10.6l-3.5 2.9z",
  link: "M6.8 9.2l2.4-2.4M7.5 4.6l1.2-1.2a2.8 2.8 0 014 4L11.4 8.5M8.5 11.4l-1.2 1.2a2.8 2.8 0 01-4-4l1.2-1.2",
};

/** An icon; it is decoration unless `label` says what it means. */
export function Icon({ name, label }) {
  const spoken = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  return html`<svg
    viewBox="0 0 16 16"
    width="16"
    height="16"
    fill="none"
    stroke="currentColor"
    stroke-width="1.5"
    stroke-linecap="round"
    stroke-linejoin="round"
    ...${spoken}
  >
    <path d=${PATHS[name]} />
  </svg>`;
}
