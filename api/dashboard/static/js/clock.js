// The time as the dashboard shows it: one signal that ticks, so that "3 min ago" stays true.
import { signal } from "../vendor/preact.js";

/** Now, in milliseconds since 1970, by the clock of this browser; ticks every five seconds. */
export const now = signal(Date.now());

setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now();
}, 5000);
