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

/** A text for places without elements, such as tooltips: what stands beside it stays in its order. */
export function isolated(text) {
  return `\u2068${text}\u2069`;
}
