// What a list is at this moment: the version in effect by the clock, those to come, and whether it may be changed here.
import { now } from "../clock.js";
import { millis } from "../format.js";
import { path } from "../router.js";
import { approvalsAsked, listsAreFree } from "../proposals/propose.js";
import { can } from "../session.js";

/** The types that lists have, in words. */
export const TYPES = [
  ["STRING", "STRING: texts"],
  ["BIGINT", "BIGINT: whole numbers"],
  ["DATE", "DATE: days, as 2027-01-31"],
];

/** The path of the page of a list. @param {{stream: string, name: string}} list */
export function pageOf({ stream, name }) {
  return path`/streams/${stream}/lists/${name}`;
}

/** The path of a list in the service. @param {{stream: string, name: string}} list */
export function sourceOf({ stream, name }) {
  return path`/v1/streams/${stream}/lists/${name}`;
}

/** The ETag of a list as the service gives it: its revision. */
export function etagOf({ revision }) {
  return `"${revision}"`;
}

/** The version that is in effect by the clock. @param {object} list as the service gives it */
export function inEffect(list) {
  return list.published.findLast((version) => !isLater(version)) ?? list.published[0];
}

/** The versions that are to take effect later, first those that do so first. @param {object} list */
export function scheduled(list) {
  return list.published.filter(isLater).sort((one, other) => millis(one.effective_from) - millis(other.effective_from));
}

/** Whether a version is to take effect later. */
export function isLater({ effective_from: from }) {
  return from !== null && millis(from) > now.value;
}

/** Whether a stream asks for approvals of changes of lists, as far as is known. @param {string} stream */
export function asksApprovals(stream) {
  return approvalsAsked(stream) > 0 && !listsAreFree(stream);
}

/** Whether whoever is signed in changes the values of lists, or proposes to. */
export function mayChange() {
  return can("author");
}

/** Whether they propose changes of the lists of a stream, rather than make them. @param {string} stream */
export function proposesLists(stream) {
  return asksApprovals(stream) || !can("publisher");
}

/** The verb on the button of a dialog that makes a change, or proposes it. */
export function verbOf(stream, verb) {
  return proposesLists(stream) ? "Propose" : verb;
}
