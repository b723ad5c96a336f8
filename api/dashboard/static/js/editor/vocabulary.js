// The words of the language and of a stream: offered while typing, and a first draft made of them.

const KEYS = [
  "id", "stream", "description", "owner", "severity", "tags", "key_by", "pattern", "match_recognize", "select",
  "on_update", "alert", "suppress", "by", "for", "at_most", "limits", "examples", "steps", "name", "contiguity", "where", "times", "optional", "greedy", "inner",
  "until", "within", "within_type", "within_previous", "group", "subtype", "after_match_skip", "strategy",
  "effective_from", "effective_until",
];
const VALUES = [
  "next", "followed_by", "followed_by_any", "not_next", "not_followed_by", "consecutive", "allow_combinations",
  "no_skip", "skip_to_next", "skip_past_last_event", "skip_to_first", "skip_to_last", "first_and_last",
  "previous_and_current", "info", "low", "medium", "high", "critical", "drop", "drain",
];
const FUNCTIONS = ["COUNT", "SUM", "AVG", "MIN", "MAX", "FIRST", "LAST", "BETWEEN", "LIKE", "RLIKE", "IS NOT NULL"];

/**
 * What may be typed in a rule of a stream.
 * @param {{schema: string}|undefined} stream
 * @param {string[]} steps The names of the steps so far.
 */
export function wordsFor(stream, steps) {
  return [
    ...columnsOf(stream?.schema ?? "").map(({ name, type }) => ({ label: name, type: "variable", detail: type, boost: 2 })),
    ...steps.map((label) => ({ label, type: "class", detail: "step", boost: 1 })),
    ...KEYS.map((label) => ({ label, type: "property" })),
    ...VALUES.map((label) => ({ label, type: "enum" })),
    ...FUNCTIONS.map((label) => ({ label, type: "function" })),
  ];
}

/**
 * The columns of a schema, such as "user STRING, point STRUCT<x: INT, y: INT>".
 * @param {string} ddl
 * @returns {{name: string, type: string}[]}
 */
export function columnsOf(ddl) {
  const columns = [];
  let depth = 0;
  let text = "";
  for (const character of `${ddl},`) {
    if ("<(".includes(character)) depth += 1;
    if (">)".includes(character)) depth -= 1;
    if (character === "," && depth === 0) {
      const [, name, type] = /^\s*`?([^`\s:]+)`?\s*:?\s*(.*)$/s.exec(text) ?? [];
      if (name) columns.push({ name, type: type.trim() });
      text = "";
    } else {
      text += character;
    }
  }
  return columns;
}

/** A rule to begin with: valid, and with the columns of its stream. */
export function firstDraft(stream) {
  const texts = columnsOf(stream.schema).filter(({ type }) => /^string\b/i.test(type)).map(({ name }) => name);
  const key = texts[0];
  const kind = texts[1] ?? texts[0];
  const where = kind ? `${kind} = 'change me'` : "TRUE";
  return `# What it finds is drawn beside this text as you type. Ctrl+Space offers words.
id: my-rule
stream: ${stream.name}
description: ""
severity: medium
tags: []
key_by: ${key ? `[${key}]` : "null"}
pattern:
  steps:
  - name: first
    where: ${where}
    times: 3
  - name: second
    contiguity: followed_by
    where: ${where}
  within: 10 minutes
  after_match_skip: {strategy: skip_past_last_event}
`;
}
