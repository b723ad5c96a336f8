// Where a rule stands in the job, in a word, a badge and a line below it.
import { html } from "../../vendor/preact.js";
import { Time, localTime, millis, roughly } from "../format.js";
import { State } from "../ui/state.js";

/** Standings in the order in which they are shown. */
export const STANDINGS = ["active", "pending", "shadow", "draining", "paused", "quarantined", "absent"];

/** The word for a standing. @param {string|undefined} jobName */
export function standingName(standing, jobName) {
  return standing === "absent" ? (jobName ? `not in ${jobName}` : "in no job") : standing;
}

/** "in 12 min of event time": how far the watermark of a job is from an instant. */
export function eventTimeUntil(at, watermark) {
  if (!at) return "later in event time";
  if (!watermark) return `from ${localTime(at)}`;
  const distance = millis(at) - millis(watermark);
  return distance > 0 ? `in ${roughly(distance)} of event time` : "with the next batch";
}

/** The badge of a rule, dimmed where its job reports no more, and what else is to be said of it. */
export function Standing({ line }) {
  const { standing, running, state } = line;
  const job = running?.job;
  const isOld = job && job.state !== "running";
  return html`<div class=${`standing ${isOld ? "old" : ""}`}>
    ${standing === "absent" && !job
      ? html`<${State} name=${state}>${state}, in no job<//>`
      : html`<${State} name=${standing}>${standingName(standing, job?.name)}<//>`}
    <span class="note"><${Note} line=${line} /></span>
  </div>`;
}

function Note({ line }) {
  const { standing, running, state } = line;
  if (!running) return null;
  if (standing === "quarantined") {
    return html`<span class="error-text" title=${running.error}>${running.error || "It raised an error."}</span>`;
  }
  if (running.job.state === "starting") return null;
  if (!running.is_current) {
    return html`<span class="behind">${awaited(standing, state)}</span>`;
  }
  if (standing === "pending") return eventTimeUntil(running.next_from, running.job.watermark);
  if (standing === "active") {
    return running.live_from ? html`since <${Time} at=${running.live_from} />` : "since the first event";
  }
  return null;
}

function awaited(standing, state) {
  if (state === "paused" && standing !== "paused") return "pause pending";
  if (state !== "paused" && standing === "paused") return "resume pending";
  return "newest change pending";
}
