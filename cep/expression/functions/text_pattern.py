r"""LIKE and RLIKE patterns, so translated that Python's `re` and Rust's `regex` read them alike.

The parser validates with this module; both evaluators compile with it.

RLIKE takes the regular expressions on which Java, Python and Rust agree: literals, `.`, classes,
groups, `|`, greedy and lazy quantifiers, `^` and `$` (the very ends of the text), `\d \w \s` and
their negations (ASCII, as in Java) and `\b`. Flags, look-around, back references and possessive
quantifiers are refused. A pattern that repeats a group is left to Rust's engine in both evaluators:
it takes linear time, where Python's could take for ever.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

MAX_REPETITIONS = 1000

_CLASSES = {
    "d": "0-9",
    "w": "A-Za-z0-9_",
    "s": r"\t\n\x0b\f\r ",
}
_CONTROLS = {"n", "r", "t", "f", "v"}
_QUANTIFIER = re.compile(r"(?:[*+?]|\{(\d+)(?:,(\d*))?\})\??", re.ASCII)
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")


class TextPatternError(ValueError):
    """A pattern the two engines would not read alike; `position` is an index into it."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


@dataclass(frozen=True, slots=True)
class Regex:
    """One regular expression in both dialects."""

    python: str
    rust: str
    repeats_group: bool

    def finder(self) -> Callable[[str], bool]:
        """Return a function that tells whether the pattern is found anywhere in a text."""
        if self.repeats_group:
            rust = self.rust
            return lambda text: bool(pl.Series([text]).str.contains(rust).item())
        search = re.compile(self.python).search
        return lambda text: search(text) is not None


def regex(pattern: str) -> Regex:
    """Return the pattern in both dialects.

    Raises:
        TextPatternError: if it uses what only one of them has, or is malformed.
    """
    python: list[str] = []
    rust: list[str] = []
    repeats_group = False
    position = 0
    while position < len(pattern):
        start = position
        character = pattern[position]
        if character == "[":
            in_python, in_rust, position = _class(pattern, position)
        elif character == "\\":
            in_python, in_rust, position = _escape(pattern, position)
        elif match := _QUANTIFIER.match(pattern, position):
            _check_quantifier(pattern, match)
            in_python = in_rust = match[0]
            position = match.end()
            repeats_group |= pattern[start - 1] == ")" and not match[0].startswith("?")
        else:
            in_python, in_rust = _plain(pattern, position)
            position += 1
        python.append(in_python)
        rust.append(in_rust)
    translated = Regex("".join(python), "".join(rust), repeats_group)
    try:
        re.compile(translated.python)
        pl.Series([""]).str.contains(translated.rust)
    except re.error as error:
        raise TextPatternError(f"malformed regular expression: {error.msg}", 0) from None
    except pl.exceptions.ComputeError:
        raise TextPatternError("malformed or too large a regular expression", 0) from None
    return translated


def _plain(pattern: str, position: int) -> tuple[str, str]:
    character = pattern[position]
    if character == "(" and re.match(r"\(\?(?!:)", pattern[position:]):
        raise TextPatternError("flags, look-around and named groups are not supported", position)
    if character in "{}":
        raise TextPatternError(f"write \\{character} for the character itself", position)
    return (r"\Z", r"\z") if character == "$" else (character, character)


def _check_quantifier(pattern: str, match: re.Match[str]) -> None:
    if any(int(bound) > MAX_REPETITIONS for bound in match.groups() if bound):
        raise TextPatternError(f"at most {MAX_REPETITIONS} repetitions", match.start())
    if pattern[match.end() : match.end() + 1] in {"*", "+", "?", "{"}:
        raise TextPatternError("a quantifier cannot follow a quantifier", match.end())


def _escape(pattern: str, position: int, *, in_class: bool = False) -> tuple[str, str, int]:
    """Return the escape that starts here in both dialects, and the position behind it."""
    name = pattern[position + 1 : position + 2]
    end = position + 2
    if members := _CLASSES.get(name.lower()):
        if not in_class:
            shown = f"[{'^' if name.isupper() else ''}{members}]"
            return shown, shown, end
        if name.islower():
            return members, members, end
        raise TextPatternError(f"\\{name} cannot stand in a class", position)
    if name in _CONTROLS:
        return f"\\{name}", f"\\{name}", end
    if name and _PUNCTUATION.fullmatch(name):
        code = f"\\x{ord(name):02x}"
        return code, code, end
    if name == "b" and not in_class:
        return r"(?a:\b)", r"(?-u:\b)", end
    if match := re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})").match(pattern, position + 1):
        code = f"\\u{int(match[1] or match[2], 16):04x}"
        return code, code, match.end()
    raise TextPatternError(f"the escape \\{name} is not supported", position)


def _class(pattern: str, position: int) -> tuple[str, str, int]:
    """Return the class that starts here in both dialects, and the position behind it."""
    start = position
    position += 1
    python, rust = ["["], ["["]
    if pattern.startswith("^", position):
        python.append("^")
        rust.append("^")
        position += 1
    first = position
    while position < len(pattern):
        character = pattern[position]
        if character == "]" and position > first:
            return "".join([*python, "]"]), "".join([*rust, "]"]), position + 1
        if character == "\\":
            in_python, in_rust, position = _escape(pattern, position, in_class=True)
        elif character in "[]" or pattern[position : position + 2] in {"&&", "--", "~~", "||"}:
            raise TextPatternError(f"write \\{character} for the character itself", position)
        else:
            in_python = in_rust = character
            position += 1
        python.append(in_python)
        rust.append(in_rust)
    raise TextPatternError("the class is never closed: ] is missing", start)


@dataclass(frozen=True, slots=True)
class LikePattern:
    """A LIKE pattern cut at its `%`; in each part `None` stands for `_`, any one character."""

    parts: tuple[tuple[str | None, ...], ...]

    @property
    def texts(self) -> tuple[str, ...] | None:
        """The parts as texts, `None` if one holds a `_`."""
        if any(None in part for part in self.parts):
            return None
        return tuple("".join(character or "" for character in part) for part in self.parts)

    def matcher(self) -> Callable[[str], bool]:
        """Return a function that tells whether a whole text fits the pattern."""
        match self.texts:
            case (text,):
                return lambda value: value == text
            case (prefix, ""):
                return lambda value: value.startswith(prefix)
            case ("", suffix):
                return lambda value: value.endswith(suffix)
            case ("", middle, ""):
                return lambda value: middle in value
            case _:
                fits = re.compile(self._python(), re.DOTALL).fullmatch
                return lambda value: fits(value) is not None

    def _python(self) -> str:
        """The first place of each middle part is the right one: atomic groups never try another."""
        parts = [self._escaped(part) for part in self.parts]
        if len(parts) == 1:
            return parts[0]
        return f"{parts[0]}{''.join(f'(?>.*?{part})' for part in parts[1:-1])}.*{parts[-1]}"

    def rust(self) -> str:
        """The pattern as a regular expression for Rust, anchored at both ends."""
        return rf"(?s)\A{'.*'.join(self._escaped(part) for part in self.parts)}\z"

    @staticmethod
    def _escaped(part: tuple[str | None, ...]) -> str:
        # Every character by its code: what needs escaping differs between the two.
        return "".join("." if c is None else rf"\U{ord(c):08x}" for c in part)


def like_pattern(pattern: str, escape: str) -> LikePattern:
    """Return the pattern cut at its wildcards.

    Raises:
        TextPatternError: if the escape character stands before anything but `%`, `_` or itself.
    """
    parts: list[list[str | None]] = [[]]
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if escape and character == escape:
            escaped = pattern[position + 1 : position + 2]
            if escaped not in {"%", "_", escape}:
                raise TextPatternError(f"{escape} must be followed by %, _ or {escape}", position)
            parts[-1].append(escaped)
            position += 2
            continue
        if character == "%":
            parts.append([])
        else:
            parts[-1].append(None if character == "_" else character)
        position += 1
    return LikePattern(tuple(tuple(part) for part in parts))
