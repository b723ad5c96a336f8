// Numbers, sizes, durations and times as people read them.
import { html } from "../vendor/preact.js";
import { now } from "./clock.js";

const WHOLE = new Intl.NumberFormat();
const SHORT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const MINUTE = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const DAY_AND_YEAR = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const RECENT_MS = 30 * 86_400_000;
const UNITS = [
  ["y", 31_557_600_000],
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
];

/** 1234567 → "1,234,567"; nothing → "–". */
export function count(value) {
  return value === null || value === undefined ? "–" : WHOLE.format(value);
}

/** 1234567 → "1.2M"; small numbers as they are. */
export function shortCount(value) {
  if (value === null || value === undefined) return "–";
  return Math.abs(value) < 10_000 ? WHOLE.format(Math.round(value * 10) / 10) : SHORT.format(value);
}

/** 2048 → "2 kB". */
export function bytes(value) {
  if (value === null || value === undefined) return "–";
  const names = ["B", "kB", "MB", "GB", "TB"];
  let size = value;
  let index = 0;
  while (size >= 1000 && index < names.length - 1) {
    size /= 1000;
    index += 1;
  }
  return `${index && size < 100 ? size.toFixed(1) : Math.round(size)} ${names[index]}`;
}

/** 0.123 → "12%"; below one in a hundred with one digit more, never rounded to none or all. */
export function percent(share) {
  if (share > 0 && share < 0.001) return "<0.1%";
  if (share < 1 && share > 0.999) return ">99.9%";
  const value = share * 100;
  return `${value < 1 || value > 99 ? Math.round(value * 10) / 10 : Math.round(value)}%`;
}

/** 754000 → "12 min 34 s": the two largest units; below a second "420 ms". */
export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  const sign = ms < 0 ? "−" : "";
  let rest = Math.abs(Math.round(ms));
  if (rest === 0) return "0 s";
  if (rest < 1_000) return `${sign}${rest} ms`;
  if (rest < 10_000) return `${sign}${(rest / 1000).toFixed(1)} s`;
  const parts = [];
  for (const [unit, size] of UNITS) {
    const amount = Math.floor(rest / size);
    rest -= amount * size;
    if (amount) parts.push(`${amount} ${unit}`);
    if (parts.length === 2 || (parts.length && !amount)) break;
  }
  return sign + parts.join(" ");
}

/** A rough duration in one unit: "12 min". */
export function roughly(ms) {
  const size = Math.abs(ms);
  if (size < 1_000) return "0 s";
  const [unit, unitMs] = UNITS.find(([, each]) => size >= each);
  return `${Math.floor(size / unitMs)} ${unit}`;
}

/** "3 min ago", "in 12 min", "just now"; a day more than a month away as it is. @param {number} ms since 1970 */
export function relative(ms) {
  const distance = ms - now.value;
  if (Math.abs(distance) > RECENT_MS) return localDay(new Date(ms));
  if (Math.abs(distance) < 5_000) return "just now";
  return distance > 0 ? `in ${roughly(distance)}` : `${roughly(distance)} ago`;
}

/** Milliseconds of an instant as the API writes it; NaN of nothing. */
export function millis(at) {
  return typeof at === "number" ? at : Date.parse(at);
}

/** A time in the local zone: today without its day, another year with it. */
export function localTime(at) {
  const date = new Date(millis(at));
  const today = new Date(now.value);
  const time = TIME.format(date);
  if (date.toDateString() === today.toDateString()) return time;
  return `${localDay(date)}, ${time}`;
}

/** "21 Nov": a day in the local zone, another year with it. */
export function localDay(at) {
  const date = new Date(at);
  const isThisYear = date.getFullYear() === new Date(now.value).getFullYear();
  return (isThisYear ? DAY : DAY_AND_YEAR).format(date);
}

/** A time of day without seconds, for axes. */
export function minuteTime(at) {
  return MINUTE.format(new Date(millis(at)));
}

/** "2026-11-21 15:04:05.120 UTC". */
export function utc(at) {
  const date = new Date(millis(at));
  if (Number.isNaN(date.getTime())) return "";
  return `${date.toISOString().replace("T", " ").replace(/(\.000)?Z$/, "")} UTC`;
}

/**
 * A time: local (or, with `ago`, relative), with both and UTC on hover.
 * @param {{at: string|number|null, ago?: boolean, none?: string}} properties
 */
export function Time({ at, ago = false, none = "–" }) {
  if (at === null || at === undefined || Number.isNaN(millis(at))) {
    return html`<span class="muted">${none}</span>`;
  }
  const shown = ago ? relative(millis(at)) : localTime(at);
  const other = ago ? localTime(at) : relative(millis(at));
  const machine = new Date(millis(at)).toISOString();
  return html`<time class="number nowrap" datetime=${machine} title=${`${other} · ${utc(at)}`}>${shown}</time>`;
}

/** 1, "rule" → "1 rule"; 2, "rule" → "2 rules". */
export function plural(number, word, many = `${word}s`) {
  return `${count(number)} ${number === 1 ? word : many}`;
}
