r"""LIKE and RLIKE patterns, so written that RE2 and Rust's `regex` read them alike.

The parser validates with this module; the scalar evaluator asks RE2, the columnar one Rust's engine
through polars. Both are automata: the time they take grows with the length of the text and with the
size of the pattern, which is limited, and never with the ways in which a text could match.

RLIKE takes the regular expressions on which Java and the two agree: literals, `.`, classes, groups,
`|`, greedy and lazy quantifiers, `^` and `$` (the very ends of the text), `\d \w \s` and their
negations (ASCII, as in Java), `\b`, and the flags `i` and `s` in `(?i)` and `(?i:…)`. Without case
are the letters a to z alone, as in Java, so they are written out: engines would fold others, too.
Other flags, look-around, back references and possessive quantifiers are refused.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import polars as pl
import re2

MAX_REPETITIONS = 1000
MAX_SIZE = 2000
"""How many characters a pattern may have, its repetitions written out."""

_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_", "s": r"\t\n\x0b\f\r "}
_CONTROLS = {"n", "r", "t", "f", "v"}
_QUANTIFIER = re.compile(r"(?:[*+?]|\{0*(\d+)(?:,0*(\d*))?\})\??", re.ASCII)
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_CODE = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})")
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])")
_NO_CASE, _ANY_CHARACTER = "i", "s"
_REPEATING = frozenset("*+?{")


def _options(*, captures: bool) -> re2.Options:
    options = re2.Options()
    options.never_capture = not captures
    options.log_errors = False  # they are raised
    return options


_OPTIONS, _CAPTURING = _options(captures=False), _options(captures=True)


class TextPatternError(ValueError):
    """A pattern the engines would not read alike; `position` is an index into it."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


@dataclass(frozen=True, slots=True)
class Regex:
    """A regular expression as RE2 reads it; `size` is its length with repetitions written out."""

    text: str
    size: int

    @property
    def rust(self) -> str:
        r"""The same for Rust, whose `\b` is by default that of Unicode."""
        return self.text.replace(r"\b", r"(?-u:\b)")

    def compiled(self, *, captures: bool) -> Any:
        """Return the pattern as RE2 compiles it, with its groups or without."""
        return re2.compile(self.text, _CAPTURING if captures else _OPTIONS)

    def finder(self) -> Callable[[str], bool]:
        """Return a function: whether the pattern is found anywhere in a text."""
        search = self.compiled(captures=False).search
        # Half of a surrogate pair, which is no character, counts as a question mark.
        return lambda text: search(text.encode(errors="replace")) is not None

    def check(self) -> None:
        """Make sure that both engines take the pattern.

        Raises:
            TextPatternError: one of them does not.
        """
        try:
            re2.compile(self.text, _OPTIONS)
            pl.Series([""]).str.contains(self.rust)
        except re2.error as error:
            reason = error.args[0].decode(errors="replace")
            if "repetition size" in reason:
                message = f"at most {MAX_REPETITIONS} repetitions, nested ones multiplied"
                raise TextPatternError(message, 0) from None
            raise TextPatternError(f"malformed regular expression: {reason}", 0) from None
        except pl.exceptions.ComputeError:
            raise TextPatternError("malformed or too large a regular expression", 0) from None


@lru_cache(maxsize=256)
def regex(pattern: str) -> Regex:
    """Return the regular expression that both engines read as documented.

    Raises:
        TextPatternError: if it uses what only one of them has, is malformed or too large.
    """
    found = _Translation(pattern).regex()
    found.check()
    return found


class _Translation:
    """The walk over one pattern: what it says to the engines, and how large it is."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.written: list[str] = []
        self.sizes = [0]  # of the groups that are open, outermost first
        self.flags: list[frozenset[str]] = [frozenset()]  # likewise
        self.latest = 0  # size of what a quantifier here would repeat

    def regex(self) -> Regex:
        """Return the whole translation."""
        position = 0
        while position < len(self.pattern):
            start = position
            match self.pattern[position]:
                case "[":
                    text, size, position = _class(
                        self.pattern, position, without_case=self._without_case
                    )
                    self._add(text, size)
                case "\\":
                    text, single, position = _escape(self.pattern, position)
                    self._add(_either_case(text, single) if self._without_case else text, 1)
                case "(":
                    position = self._open(position)
                case ")":
                    position += 1
                    self._close()
                case _ if quantifier := _QUANTIFIER.match(self.pattern, position):
                    position = quantifier.end()
                    self._repeat(quantifier)
                case character:
                    position += 1
                    self._add(self._plain(character, start), 1)
            if self.sizes[-1] > MAX_SIZE:
                message = f"at most {MAX_SIZE} characters, repetitions written out"
                raise TextPatternError(message, start)
        return Regex("".join(self.written), sum(self.sizes))

    def _add(self, text: str, size: int) -> None:
        self.written.append(text)
        self.latest = size
        self.sizes[-1] += size

    @property
    def _without_case(self) -> bool:
        return _NO_CASE in self.flags[-1]

    def _open(self, position: int) -> int:
        """Open a group, or change the flags for the rest of the one that is open."""
        prefix, flags, end = "(", self.flags[-1], position + 1
        if found := _FLAGS.match(self.pattern, position):
            prefix, end = "(?:", found.end()
            added, removed = set(found[1]), set(found[2] or "")
            if unknown := sorted((added | removed) - {_NO_CASE, _ANY_CHARACTER}):
                message = f"the flag {unknown[0]} is not supported, only i and s are"
                raise TextPatternError(message, position)
            flags = (flags | added) - removed
            if found[3] == ")":
                if self.pattern[end : end + 1] in _REPEATING:
                    raise TextPatternError("a quantifier cannot follow flags", end)
                self.flags[-1] = flags
                return end
        elif self.pattern.startswith("(?", position):
            raise TextPatternError("look-around and named groups are not supported", position)
        self.written.append(prefix)
        self.sizes.append(0)
        self.flags.append(flags)
        self.latest = 0
        return end

    def _plain(self, character: str, position: int) -> str:
        match character:
            case "{" | "}":
                raise TextPatternError(f"write \\{character} for the character itself", position)
            case "$":
                return r"\z"
            case "." if _ANY_CHARACTER in self.flags[-1]:
                return "(?s:.)"
            case _:
                return _either_case(character, character) if self._without_case else character

    def _close(self) -> None:
        # One that was never opened is left to the engines to refuse.
        size = 0
        if len(self.sizes) > 1:
            size = self.sizes.pop()
            self.flags.pop()
        self._add(")", size)

    def _repeat(self, quantifier: re.Match[str]) -> None:
        bounds = [int(bound[:5]) for bound in quantifier.groups() if bound]
        if any(bound > MAX_REPETITIONS for bound in bounds):
            raise TextPatternError(f"at most {MAX_REPETITIONS} repetitions", quantifier.start())
        if self.pattern[quantifier.end() : quantifier.end() + 1] in _REPEATING:
            raise TextPatternError("a quantifier cannot follow a quantifier", quantifier.end())
        self.written.append(quantifier[0])
        self.sizes[-1] += self.latest * (max(bounds, default=1) - 1)


def _either_case(text: str, single: str) -> str:
    """Return what a character is written as without case, `text` unless it is a letter a to z."""
    is_letter = single.isascii() and single.isalpha()
    return f"[{single.lower()}{single.upper()}]" if is_letter else text


def _escape(pattern: str, position: int, *, in_class: bool = False) -> tuple[str, str, int]:
    """Return the escape that starts here, the character if it is one, and the position after it."""
    name = pattern[position + 1 : position + 2]
    end = position + 2
    if members := _CLASSES.get(name.lower()):
        if not in_class:
            return f"[{'^' if name.isupper() else ''}{members}]", "", end
        if name.islower():
            return members, "", end
        raise TextPatternError(f"\\{name} cannot stand in a class", position)
    if name in _CONTROLS:
        return f"\\{name}", "", end
    if name and _PUNCTUATION.fullmatch(name):
        return f"\\x{ord(name):02x}", name, end
    if name == "b" and not in_class:
        return r"\b", "", end
    if match := _CODE.match(pattern, position + 1):
        code = match[1] or match[2]
        return f"\\x{{{code}}}", chr(int(code, 16)), match.end()
    raise TextPatternError(f"the escape \\{name} is not supported", position)


def _class(pattern: str, position: int, *, without_case: bool) -> tuple[str, int, int]:
    """Return the class that starts here, its size and the position after it."""
    start = position
    position += 1
    members: list[tuple[str, str]] = []  # as written, and the character if it is one
    negation = "^" if pattern.startswith("^", position) else ""
    position += len(negation)
    while position < len(pattern):
        character = pattern[position]
        if character == "]" and members:
            written = [text for text, _ in members] + (_other_case(members) if without_case else [])
            return f"[{negation}{''.join(written)}]", len(members), position + 1
        if character == "\\":
            text, single, position = _escape(pattern, position, in_class=True)
        elif character in "[]" or pattern[position : position + 2] in {"&&", "--", "~~", "||"}:
            raise TextPatternError(f"write \\{character} for the character itself", position)
        else:
            text = single = character
            position += 1
        members.append((text, single))
    raise TextPatternError("the class is never closed: ] is missing", start)


def _other_case(members: list[tuple[str, str]]) -> list[str]:
    """Return the letters a to z and A to Z of a class in the other case."""
    found: list[str] = []
    place = 0
    while place < len(members):
        first = last = members[place][1]
        if place + 2 < len(members) and members[place + 1][0] == "-" and members[place + 2][1]:
            last = members[place + 2][1]
            place += 2
        place += 1
        for least, most in (("a", "z"), ("A", "Z")):
            low, high = max(first, least), min(last, most)
            if first and low <= high:
                found.append(f"{low.swapcase()}-{high.swapcase()}")
    return found


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

    @property
    def size(self) -> int:
        """How many characters it has, wildcards included; 0 if it needs no regular expression."""
        match self.texts:
            case (_,) | (_, "") | ("", _) | ("", _, ""):
                return 0
            case _:
                return sum(map(len, self.parts)) + len(self.parts) - 1

    def matcher(self) -> Callable[[str], bool]:
        """Return a function: whether a whole text fits the pattern."""
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
                return self.regex().finder()

    def regex(self) -> Regex:
        """The pattern as a regular expression, anchored at both ends."""
        text = ".*".join(self._escaped(part) for part in self.parts)
        return Regex(rf"(?s)\A{text}\z", self.size)

    @staticmethod
    def _escaped(part: tuple[str | None, ...]) -> str:
        # Every character by its code: what needs escaping differs between the engines.
        return "".join("." if c is None else rf"\x{{{ord(c):x}}}" for c in part)


def like_pattern(pattern: str, escape: str) -> LikePattern:
    """Return the pattern cut at its wildcards.

    Raises:
        TextPatternError: if the escape character stands before anything but `%`, `_` or itself, or
            the pattern is too large.
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
    found = LikePattern(tuple(tuple(part) for part in parts))
    if found.size > MAX_SIZE:
        raise TextPatternError(f"at most {MAX_SIZE} characters with wildcards between them", 0)
    return found
