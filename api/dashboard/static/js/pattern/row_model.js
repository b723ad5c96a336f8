// What the service answers about a MATCH_RECOGNIZE clause → the elements that are drawn and told.

const FRAMES = {
  alternation: "one of these, in order of preference",
  permutation: "all of these, in any order",
  exclusion: "left out of the output",
};
const ANCHORS = { partition_start: "start of the partition", partition_end: "end of the partition" };
const NO_POINTER = "#"; // no pointer into a document begins so: a clause is one text

/**
 * @param {object} drawing The answer of POST /v1/drafts/drawing.
 * @returns {{elements: object[], within: string, withinType: string, label: string, sentences: string[]}}
 *   Elements are those of model.js; a frame has a `title`, and `isStack` where its parts are no sequence.
 */
export function readRowPattern(drawing) {
  const sentences = told(drawing);
  return {
    elements: sequence([drawing.pattern].flatMap(partsOf)),
    within: drawing.within,
    withinType: "first_and_last",
    sentences,
    label: `A row pattern: ${inWords(drawing.pattern)}. ${sentences.join(" ")}`,
  };
}

function partsOf(part) {
  return part.kind === "sequence" ? part.parts.flatMap(partsOf) : [part];
}

function sequence(parts) {
  return parts.map((part, index) => ({ ...elementOf(part), contiguity: index ? "next" : "" }));
}

function elementOf(part) {
  const times = part.kind === "repetition" ? part : { minimum: 1, maximum: 1 };
  const base = { ...blank(), minimum: times.minimum, maximum: times.maximum, isOptional: times.minimum === 0 };
  const inner = part.kind === "repetition" ? part.inner : part;
  const manner = mannerOf(part);
  if (inner.kind === "variable") return { ...base, kind: "step", name: inner.name, where: inner.condition, manner };
  if (inner.kind in ANCHORS) return { ...base, kind: "step", name: inner.kind === "partition_start" ? "^" : "$", where: ANCHORS[inner.kind], manner };
  const parts = inner.kind === "exclusion" || inner.kind === "repetition" ? [inner.inner] : inner.parts;
  const nested = inner.kind === "repetition" ? [elementOf(inner)] : null;
  if (parts.length === 0) return { ...base, kind: "step", name: "( )", where: "no row", manner };
  const isStack = inner.kind === "alternation" || inner.kind === "permutation";
  return {
    ...base,
    kind: "group",
    title: FRAMES[inner.kind] ?? "",
    isStack,
    isExcluded: inner.kind === "exclusion",
    manner,
    elements: nested ?? (isStack ? parts.map(branchOf) : sequence(parts.flatMap(partsOf))),
  };
}

// One of several branches: a sequence of its own needs a frame, a single part does not.
function branchOf(part) {
  const parts = partsOf(part);
  if (parts.length === 1) return elementOf(parts[0]);
  if (parts.length === 0) return elementOf({ kind: "sequence", parts: [] });
  return { ...blank(), kind: "group", title: "in this order", elements: sequence(parts) };
}

function blank() {
  return {
    pointer: NO_POINTER,
    name: "",
    contiguity: "",
    isNegative: false,
    where: "",
    subtype: "",
    minimum: 1,
    maximum: 1,
    isOptional: false,
    isGreedy: false,
    inner: "relaxed",
    until: "",
    gapWindow: "",
    wholeWindow: "",
    timesWithin: "",
    elements: [],
    manner: "",
  };
}

function mannerOf(part) {
  if (part.kind !== "repetition" || part.minimum === part.maximum) return "";
  return part.is_reluctant ? "as few as possible" : "as many as possible";
}

function inWords(part) {
  switch (part.kind) {
    case "variable":
      return part.condition ? `${part.name} where ${part.condition}` : `${part.name}, any row`;
    case "sequence":
      return part.parts.length ? part.parts.map(inWords).join(", then ") : "no row";
    case "alternation":
      return `(${part.parts.map(inWords).join("; or ")})`;
    case "permutation":
      return `in any order (${part.parts.map(inWords).join("; ")})`;
    case "exclusion":
      return `(${inWords(part.inner)}), left out of the output`;
    case "repetition": {
      const most = part.maximum === null ? "or more" : `to ${part.maximum}`;
      const count = part.minimum === part.maximum ? `${part.minimum}` : `${part.minimum} ${most}`;
      return [`${count} times (${inWords(part.inner)})`, mannerOf(part)].filter(Boolean).join(", ");
    }
    default:
      return ANCHORS[part.kind] ?? "";
  }
}

function told(drawing) {
  const { to, variable } = drawing.skip;
  const on = {
    "PAST LAST ROW": "after its last row",
    "TO NEXT ROW": "at the row after its first one",
    "TO FIRST": `at its first row of ${variable}`,
    "TO LAST": `at its last row of ${variable}`,
  };
  return [
    drawing.within && `A match takes less than ${drawing.within}, from its first row on.`,
    `After a match, the search continues ${on[to] ?? to}.`,
    ...drawing.subsets.map((subset) => `${subset.name} stands for ${subset.members.join(" and ")}.`),
  ].filter(Boolean);
}
