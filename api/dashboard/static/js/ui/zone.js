// What a field for a time means: in which zone it is read, and how far event time has come.
import { html } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { Time } from "../format.js";
import { path } from "../router.js";

const SECONDS = 10;

/** @param {{stream: string, at: Date|undefined}} properties at: when the zone is meant, whose distance from UTC changes; now if left out */
export function ZoneNote({ stream, at }) {
  const { data } = usePolled(path`/v1/streams/${stream}/jobs`, {}, SECONDS);
  const jobs = (data?.items ?? data ?? []).filter((job) => job.watermark !== null && job.state === "running");
  return html`<span class="zone-note">
    Event time, in ${zoneName(at)}.${" "}
    ${jobs.length > 0 && html`Watermark${jobs.length > 1 && ` of ${jobs[0].name}`}: <${Time} at=${jobs[0].watermark} />.`}
  </span>`;
}

/** The zone of this browser: "Europe/Berlin (UTC+1)". */
export function zoneName(at = new Date()) {
  const minutes = -at.getTimezoneOffset();
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  if (!minutes) return timeZone === "UTC" ? "UTC" : `${timeZone} (UTC)`;
  const rest = Math.abs(minutes) % 60;
  const offset = `${minutes < 0 ? "−" : "+"}${Math.floor(Math.abs(minutes) / 60)}${rest ? `:${String(rest).padStart(2, "0")}` : ""}`;
  return `${timeZone} (UTC${offset})`;
}
