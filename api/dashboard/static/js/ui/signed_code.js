// Signed Python code in the text of a rule: what only machines read is told in words, never left out of the text.
import { bytes } from "../format.js";
import { visible } from "./visible.js";

// In YAML and in JSON; only under the keys that signed code has, so that nothing else is ever hidden.
const VALUE = /(?<![\w-])(payload|signature)["']?:[ \t]*["']?([A-Za-z0-9+/]{64,}={0,2})/g;
const SIGNATURE = /^[0-9a-f]{64}$/;
const SHORTEST = 120; // characters; a shorter payload is no function

/**
 * Where a text has signed code.
 * @param {string} text
 * @returns {{from: number, to: number, words: string, sum: string}[]} in order, none within another; `words` stand
 *   for the characters from `from` to before `to`, `sum` tells them from those of other code
 */
export function signedCodeIn(text) {
  const found = [];
  for (const { 0: whole, 1: key, 2: value, index } of text.matchAll(VALUE)) {
    const to = index + whole.length;
    const place = { from: to - value.length, to };
    if (key === "signature") {
      if (SIGNATURE.test(value)) found.push({ ...place, words: `${value.slice(0, 8)}…`, sum: "" });
    } else if (value.length >= SHORTEST) {
      found.push({ ...place, words: `signed code, ${bytes(lengthOf(value))}`, sum: checksum(value) });
    }
  }
  return found;
}

/** A line of a text as it is shown beside other versions of it: code by its length, and a number that other code does not have. */
export function shortLine(line) {
  let shown = "";
  let at = 0;
  for (const { from, to, words, sum } of signedCodeIn(line)) {
    shown += line.slice(at, from) + (sum ? `${words} (${sum})` : words);
    at = to;
  }
  return visible(shown + line.slice(at));
}

function lengthOf(base64) {
  return Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
}

// FNV-1a: it tells versions apart; digests that are to be trusted come from the service.
function checksum(text) {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return sum.toString(16).padStart(8, "0");
}
