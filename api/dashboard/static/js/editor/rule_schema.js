// What may stand at a place of a rule: its keys and its words, by the JSON Schema that the service has of rules.

const ADDRESS = new URL("../../generated/rule.schema.json", import.meta.url).href;

/** Reads the schema; null if it cannot be read, and then only columns, steps and functions are offered. */
export async function readRuleSchema() {
  try {
    const answer = await fetch(ADDRESS);
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

/**
 * The keys of the object at a path.
 * @param {object} schema @param {string[]} path as `positionAt` gives it
 * @returns {{name: string, about: string, isRequired: boolean, holds: "list"|"object"|"value"}[]}
 */
export function keysAt(schema, path) {
  const found = new Map();
  for (const node of nodesAt(schema, path)) {
    for (const [name, property] of Object.entries(node.properties ?? {})) {
      if (found.has(name)) continue;
      const about = firstSentence(aboutOf(schema, property));
      found.set(name, { name, about, isRequired: Boolean(node.required?.includes(name)), holds: kindOf(schema, property) });
    }
  }
  return [...found.values()];
}

/** The words that the value at a path may be: [{word, about}]; examples where it is free. */
export function wordsAt(schema, path) {
  const words = new Map();
  for (const node of nodesAt(schema, path)) {
    for (const word of node.enum ?? []) words.set(String(word), node.description ?? "");
    if (node.type === "boolean") ["true", "false"].forEach((word) => words.set(word, ""));
    for (const example of node.examples ?? []) {
      if (typeof example === "string" && node.enum === undefined) words.set(example, "an example");
    }
  }
  return [...words].map(([word, about]) => ({ word, about: firstSentence(about) }));
}

function nodesAt(schema, path) {
  let nodes = meant(schema, schema);
  for (const part of path) nodes = nodes.flatMap((node) => inside(node, part)).flatMap((node) => meant(schema, node));
  return nodes;
}

function inside(node, part) {
  if (part === "*") return node.items ? [node.items] : [];
  if (node.properties?.[part]) return [node.properties[part]];
  if (node.patternProperties) return Object.values(node.patternProperties);
  return typeof node.additionalProperties === "object" ? [node.additionalProperties] : [];
}

// A node as it is written, with what it refers to and each of what it may be.
function meant(schema, node) {
  const target = node.$ref ? schema.$defs[node.$ref.slice("#/$defs/".length)] : null;
  const choices = [...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(target ? [target] : [])];
  return [node, ...choices.flatMap((choice) => meant(schema, choice))];
}

function aboutOf(schema, node) {
  return meant(schema, node).find((each) => each.description)?.description ?? "";
}

function kindOf(schema, node) {
  const types = meant(schema, node).map((each) => each.type);
  if (types.includes("string") || types.includes("integer") || types.includes("boolean")) return "value";
  if (types.includes("array")) return "list";
  return types.includes("object") ? "object" : "value";
}

function firstSentence(text) {
  return text.split("\n", 1)[0];
}
