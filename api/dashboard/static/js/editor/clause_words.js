// The words of MATCH_RECOGNIZE, its variables and the columns of a stream: offered inside a clause.
import { columnsOf } from "./vocabulary.js";

const CLAUSE_PARTS = [
  "MATCH_RECOGNIZE", "PARTITION BY", "ORDER BY", "MEASURES", "ONE ROW PER MATCH", "ALL ROWS PER MATCH",
  "SHOW EMPTY MATCHES", "OMIT EMPTY MATCHES", "WITH UNMATCHED ROWS", "AFTER MATCH SKIP PAST LAST ROW",
  "AFTER MATCH SKIP TO NEXT ROW", "AFTER MATCH SKIP TO FIRST", "AFTER MATCH SKIP TO LAST", "PATTERN", "PERMUTE",
  "WITHIN INTERVAL", "SUBSET", "DEFINE", "RUNNING", "FINAL",
];
const OPERATORS = [
  "SELECT", "FROM", "AS", "AND", "OR", "NOT", "IN", "IS", "NULL", "TRUE", "FALSE", "BETWEEN", "LIKE", "RLIKE", "DISTINCT",
  "CASE", "WHEN", "THEN", "ELSE", "END", "CAST", "INTERVAL", "SECOND", "MINUTE", "HOUR", "DAY", "ASC", "DESC", "INITIAL",
  "SEEK", "TO", "BY",
];
const FUNCTION_NAMES = [
  "FIRST", "LAST", "PREV", "NEXT", "CLASSIFIER", "MATCH_NUMBER", "COUNT", "SUM", "AVG", "MIN", "MAX", "COALESCE", "ABS",
  "LOWER", "UPPER",
];

export const FUNCTIONS = new Set(FUNCTION_NAMES);
/** All single words that are no names. */
export const KEYWORDS = new Set([...CLAUSE_PARTS, ...OPERATORS].flatMap((part) => part.split(" ")));

/**
 * What may be typed in the clause of a rule.
 * @param {{schema: string}|undefined} stream
 * @param {object|null} drawing What the service answers about the clause; null = it cannot be read yet.
 */
export function clauseWords(stream, drawing) {
  const columns = columnsOf(stream?.schema ?? "").map(({ name, type }) => ({ label: name, type: "variable", detail: type, boost: 2 }));
  const unions = (drawing?.subsets ?? []).map(({ name }) => name);
  const names = new Set([...(drawing ? variablesOf(drawing.pattern) : []), ...unions]);
  return [
    ...columns,
    ...[...names].map((label) => ({ label, type: "class", detail: "variable", boost: 1 })),
    ...[...CLAUSE_PARTS, ...OPERATORS].map((label) => ({ label, type: "keyword" })),
    ...FUNCTION_NAMES.map((label) => ({ label, type: "function", apply: `${label}(` })),
  ];
}

function variablesOf(part) {
  if (part.kind === "variable") return [part.name];
  return [...(part.parts ?? []), ...(part.inner ? [part.inner] : [])].flatMap(variablesOf);
}
