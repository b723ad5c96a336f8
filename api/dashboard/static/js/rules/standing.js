// Where a rule stands in the job, in a word, a badge and a line below it.
import { html } from "../../vendor/preact.js";
import { Time, localTime, millis, roughly } from "../format.js";
import { State } from "../ui/state.js";
import { stateWord } from "../ui/states.js";

/** Standings in the order in which they are shown. */
export const STANDINGS = ["active", "pending", "shadow", "draining", "paused", "quarantined", "absent"];

/** The word for a standing. @param {string|undefined} jobName */
export function standingName(standing, jobName) {
  return standing === "absent" && jobName ? `not in ${jobName}` : stateWord("running", standing);
}

/** "in 12 min of event time": how far the watermark of a job is from an instant. */
export function eventTimeUntil(at, watermark) {
  if (!at) return "later in event time";
  if (!watermark) return `from ${localTime(at)}`;
  const distance = millis(at) - millis(watermark);
  return distance > 0 ? `in ${roughly(distance)} of event time` : "with the next batch";
}

/** Whether a job reports no more, so that what it said last may not be so any longer. */
export function isSilent(job) {
  return job?.state === "stale" || job?.state === "stopped";
}

/**
 * The state to be shown of a rule in a job: whether what it finds is held back, where it runs.
 * @param {{state: string, throttled_until: string|null}} running @param {string|null|undefined} snoozedUntil for all keys
 */
export function shownState({ state, throttled_until: throttled }, snoozedUntil) {
  if (state !== "active" && state !== "canary") return state;
  return throttled ? "throttled" : snoozedUntil ? "snoozed" : state;
}

/** The state of a version in a job, which was so once where the job reports no more. @param {{job: object, state: string}} properties */
export function HeldState({ job, state }) {
  return isSilent(job) ? html`<span class="secondary">was ${stateWord("running", state)}</span>` : html`<${State} of="running" name=${state} />`;
}

/** Beside the state of a rule: the version that is tried with a share of the keys. @param {{version: number|null|undefined}} properties */
export function CanaryState({ version }) {
  return version ? html`${" "}<${State} of="running" name="canary" title=${`Version ${version} runs for a share of the keys`}>v${version} ${stateWord("running", "canary")}<//>` : null;
}

/** The badge of a rule and what else is to be said of it. Nothing is active in a job that reports no more. */
export function Standing({ line }) {
  const { standing, running, state } = line;
  const shown = standing === "active" ? shownState(running, line.snoozed_until) : standing;
  const job = running?.job;
  if (isSilent(job) && standing !== "absent" && standing !== "quarantined") {
    return html`<div class="standing old">
      <${State} of="job" name=${job.state}>job ${stateWord("job", job.state)}<//>
      <span class="note">was ${stateWord("running", shown)} <${Time} at=${job.heartbeat_at} ago none="" /></span>
    </div>`;
  }
  return html`<div class="standing">
    ${standing === "absent" && !job
      ? html`<${State} of="rule" name=${state}>${stateWord("rule", state)}, ${stateWord("running", "absent")}<//>`
      : html`<${State} of="running" name=${shown}>${standingName(shown, job?.name)}<//>`}
    <${CanaryState} version=${running?.canary_version} />
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
    const shown = shownState(running, line.snoozed_until);
    if (shown === "throttled") return html`until <${Time} at=${running.throttled_until} />`;
    if (shown === "snoozed") return html`until <${Time} at=${line.snoozed_until} />`;
    return running.live_from ? html`since <${Time} at=${running.live_from} />` : "since the first event";
  }
  return null;
}

function awaited(standing, state) {
  if (state === "paused" && standing !== "paused") return "pause pending";
  if (state !== "paused" && standing === "paused") return "resume pending";
  return "newest change pending";
}
