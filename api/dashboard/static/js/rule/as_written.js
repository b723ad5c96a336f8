// A rule as people write it; what the service adds for its own use is left out.
import { ask } from "../api.js";
import { clauseOf } from "../pattern/use_drawing.js";

/**
 * The document of a published rule without what its clause says already: PARTITION BY is the key.
 * @param {object} document
 * @returns {object}
 */
export function asWritten(document) {
  if (!clauseOf(document.pattern)) return document;
  const { key_by: _key, ...written } = document;
  return written;
}

/** The text of a published rule's document as people write it. @param {"yaml"|"json"} format */
export async function textOf(document, format = "yaml") {
  return (await ask("/v1/drafts/text", { document: asWritten(document), format })).text;
}

/**
 * The same to be read and compared: of Python code its source, and length and digest of what was pickled.
 * @param {"yaml"|"json"} format
 */
export async function readableTextOf(document, format = "yaml") {
  return (await ask("/v1/drafts/text", { document: asWritten(document), format, code: "readable" })).text;
}

/** Whether a document has Python code anywhere. */
export function holdsCode({ pattern, function: code }) {
  return Boolean(code) || hasPython(pattern);
}

function hasPython(value) {
  if (value === null || typeof value !== "object") return false;
  return Object.entries(value).some(([key, inner]) => key === "python" || hasPython(inner));
}
