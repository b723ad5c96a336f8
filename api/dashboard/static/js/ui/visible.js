// Text that people judge by its characters: what reorders or hides them is shown as what it is.

// Marks of direction, and characters of no width: code may be written so that it reads as other code.
const UNSEEN = /[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

// Spaces at the ends of a value, and all that look like the common one or end a line.
const SPACES = /^ | $|[^\S ]/g;

/** @param {string} text @returns {string} each such character as its number, such as ⟨U+202E⟩ */
export function visible(text) {
  return text.replace(UNSEEN, numberOf);
}

/** The same for a value that is equal to another one only with every character: its spaces can be told apart, too. */
export function visibleValue(text) {
  return visible(text).replace(SPACES, numberOf);
}

function numberOf(character) {
  return `⟨U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

// Scripts that run from right to left, and what sets a direction.
const REORDERING = /[\u0590-\u08ff\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const ISOLATES = /[\u2066-\u2069]/g;
const END_OF_ISOLATE = "\u2069";

/**
 * A text for places without elements, such as tooltips, options and names for screen readers: what stands beside it
 * stays in its order. One that reorders nothing stays as it is.
 */
export function isolated(text) {
  return REORDERING.test(text) ? `\u2068${closed(text)}${END_OF_ISOLATE}` : text;
}

/** A text that ends no isolation but those that it begins itself; what would is shown as its number. */
export function closed(text) {
  let begun = 0;
  return text.replace(ISOLATES, (character) => {
    begun += character === END_OF_ISOLATE ? -1 : 1;
    if (begun >= 0) return character;
    begun = 0;
    return numberOf(character);
  });
}
