// The columns of a stream, and a first draft made of them.

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
  return `# The pattern is shown on the right as you type. Ctrl+Space completes keys, columns and functions.
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
