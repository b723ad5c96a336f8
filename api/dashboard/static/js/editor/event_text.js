// Events as people paste them: a JSON list, or one JSON object per line.

/**
 * @param {string} text
 * @returns {{events: object[], mistake: string}} `mistake` = "" if all could be read
 */
export function readEvents(text) {
  const trimmed = text.trim();
  if (!trimmed) return { events: [], mistake: "" };
  try {
    const events = trimmed.startsWith("[") ? JSON.parse(trimmed) : readLines(text);
    const odd = events.findIndex((event) => typeof event !== "object" || event === null || Array.isArray(event));
    if (odd >= 0) return { events: [], mistake: `Event ${odd + 1} is not an object such as {"ts": 1000}.` };
    return { events, mistake: "" };
  } catch (error) {
    return { events: [], mistake: error.message };
  }
}

/** Events as text, one a line. */
export function writeEvents(events) {
  return events.map((event) => JSON.stringify(event)).join("\n");
}

function readLines(text) {
  const events = [];
  text.split("\n").forEach((line, index) => {
    if (!line.trim()) return;
    try {
      events.push(JSON.parse(line));
    } catch (error) {
      throw new Error(`Line ${index + 1}: ${error.message}. Paste a JSON list, or one JSON object per line.`);
    }
  });
  return events;
}
