// What is offered while a rule is typed: keys by their place, and inside conditions columns, steps, functions, parameters.
import { clauseRange } from "./clause_language.js";
import { FUNCTIONS, OPERATORS } from "./functions.js";
import { positionAt } from "./position.js";
import { keysAt, wordsAt } from "./rule_schema.js";
import { columnsOf } from "./vocabulary.js";

const CONDITIONS = new Set(["where", "until", "all_of", "any_of", "key_by", "select"]);
const NAMES_OF_STEPS = new Set(["step"]);

/**
 * @typedef {object} Offers What is known of the rule and its stream.
 * @property {object|undefined} schema @property {{name: string, schema: string}} stream
 * @property {string[]} steps @property {Record<string, {type: string}>} parameters
 * @property {object[]} clauseWords Those of MATCH_RECOGNIZE.
 */

/** Answers CodeMirror. @param {object} context @param {Offers} offers @param {"yaml"|"json"} format */
export function completed(context, offers, format) {
  const { doc } = context.state;
  const range = clauseRange(doc);
  if (range && context.pos > range.from && context.pos <= range.to) return inClause(context, offers);
  const position = positionAt(doc.toString(), context.pos, format);
  if (!position) return null;
  const named = position.path.filter((part) => part !== "*");
  const isInCondition = named.some((part) => CONDITIONS.has(part));
  const isItem = position.path.at(-1) === "*"; // which may be a value as well as an object
  if (isInCondition && (!position.isKey || isItem)) return inCondition(context, position, offers);
  const keys = position.isKey ? keyOptions(position, offers, format) : [];
  if (keys.length) return offered(context, keys, /[\w-]*/);
  if (position.isKey && !isItem) return null;
  return offered(context, valueOptions(position, named.at(-1), offers), /[\w.-]*/, !position.typed);
}

function keyOptions({ path, used, typed }, { schema }, format) {
  if (!schema) return [];
  const isQuoted = format === "json" || /^["']/.test(typed);
  return keysAt(schema, path)
    .filter(({ name }) => !used.has(name))
    .map(({ name, about, isRequired, holds }, index) => ({
      label: name,
      type: "property",
      detail: isRequired ? "required" : "",
      info: about || undefined,
      // The order of the schema is that in which rules are read; what must be there comes first.
      boost: (isRequired ? 50 : 0) - index / 10,
      apply: isQuoted ? name : `${name}:${holds === "value" ? " " : ""}`,
    }));
}

function valueOptions({ path }, key, { schema, stream, steps }) {
  if (NAMES_OF_STEPS.has(key)) return steps.map((label) => ({ label, type: "class", detail: "step" }));
  if (key === "stream" && path.length === 1) return [{ label: stream.name, type: "constant", detail: "this stream" }];
  if (!schema) return [];
  return wordsAt(schema, path).map(({ word, about }, index) => ({ label: word, type: "enum", info: about || undefined, boost: -index }));
}

function inCondition(context, { typed }, offers) {
  const parameter = context.matchBefore(/:\w*/);
  if (isInText(typed)) return null;
  if (parameter) {
    const options = Object.entries(offers.parameters).map(([name, { type }]) => ({
      label: `:${name}`,
      type: "constant",
      detail: `parameter, ${type}`,
    }));
    return { from: parameter.from, options, validFor: /^:\w*$/ };
  }
  const field = context.matchBefore(/\w+\.\w*/);
  if (field) {
    const from = field.from + field.text.indexOf(".") + 1;
    return { from, options: columnOptions(offers.stream), validFor: /^\w*$/ };
  }
  return offered(context, conditionOptions(offers), /\w*/);
}

function conditionOptions({ stream, steps, parameters }) {
  return [
    ...columnOptions(stream),
    ...steps.map((label) => ({ label, type: "class", detail: "step", boost: 1 })),
    ...Object.entries(parameters).map(([name, { type }]) => ({ label: `:${name}`, type: "constant", detail: `parameter, ${type}` })),
    ...FUNCTIONS.map(functionOption),
    ...OPERATORS.map((label) => ({ label, type: "keyword", boost: -99 })),
  ];
}

// Aggregates come first in the list, and before others of the same beginning.
function functionOption([label, takes, about], index) {
  return { label, type: "function", detail: `(${takes})`, info: about, apply: `${label}(`, boost: -index };
}

// Inside a text of SQL anything may be typed, and nothing is known.
function isInText(typed) {
  const quoted = /^['"]/.test(typed) ? typed.slice(1) : typed;
  const isDoubled = typed.startsWith("'");
  const quotes = quoted.split("'").length - 1;
  return isDoubled ? Math.floor(quotes / 2) % 2 === 1 : quotes % 2 === 1;
}

function inClause(context, { clauseWords }) {
  const field = context.matchBefore(/\w\.\w*/);
  const word = context.matchBefore(/\w+/);
  if (!field && !word && !context.explicit) return null;
  // Behind a variable and a dot only a column makes sense.
  const options = field ? clauseWords.filter(({ type }) => type === "variable") : clauseWords;
  return { from: field ? field.from + 2 : word ? word.from : context.pos, options, validFor: /^\w*$/ };
}

function columnOptions(stream) {
  return columnsOf(stream?.schema ?? "").map(({ name, type }) => ({ label: name, type: "variable", detail: type, boost: 2 }));
}

function offered(context, options, shape, isAtOnce = false) {
  const word = context.matchBefore(new RegExp(shape.source));
  const isTyped = word && word.from < word.to;
  if (!options.length || (!isTyped && !context.explicit && !isAtOnce)) return null;
  return { from: isTyped ? word.from : context.pos, options, validFor: new RegExp(`^${shape.source}$`) };
}
