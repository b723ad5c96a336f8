// The statuses of matches: as badges, as choices, and what a rule's counts of them say.
import { html } from "../../vendor/preact.js";
import { count, percent, plural } from "../format.js";
import { State } from "../ui/state.js";
import { stateChoices } from "../ui/states.js";

/** Statuses and their words, in the order in which a match goes through them. */
export const STATUSES = stateChoices("triage");

/** The status of a match as a badge, and to whom it is assigned. @param {{triage: object}} properties */
export function Status({ triage }) {
  return html`<${State} of="triage" name=${triage.status} />
    ${triage.assignee && html`<span class="assignee" title=${`Assigned to ${triage.assignee}`}><bdi>${triage.assignee}</bdi></span>`}`;
}

/** How many matches of a rule somebody has looked at. @param {object} counts those of the rule */
export function lookedAt({ acknowledged, false_positive: wrong, resolved }) {
  return acknowledged + wrong + resolved;
}

/** How many of the matches that were looked at are false, in words. @param {object} counts those of a rule */
export function rateInWords(counts) {
  const looked = lookedAt(counts);
  if (!looked) return "No match has been reviewed yet";
  return `${count(counts.false_positive)} of ${plural(looked, "match", "matches")} reviewed`;
}

/** The rate of false positives; "–" before anybody has looked. */
export function rateText({ false_positive_rate: rate }) {
  return rate === null ? "–" : percent(rate);
}
