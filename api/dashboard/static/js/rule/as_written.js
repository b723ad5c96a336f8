// A rule as people write it; what the service adds for its own use is left out.
import { send } from "../api.js";
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
  return (await send("POST", "/v1/drafts/text", { document: asWritten(document), format })).text;
}
