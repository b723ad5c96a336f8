"""Scalar meaning of the functions on texts; no argument is NULL.

Positions and lengths count characters (code points). Source: Spark SQL reference, "Built-in
functions".
"""

import base64
import binascii
import hashlib
import re
import zlib
from functools import lru_cache
from typing import Any
from urllib.parse import quote_plus, unquote_to_bytes

from cep.expression.functions.array import joined
from cep.expression.functions.text_pattern import regex
from cep.expression.values import MAX_COMPUTED_TEXT, Group, Mismatch, Value, group_of

MAX_COMPARED_TEXT = 1_000
"""How many characters a text may have that is compared by LEVENSHTEIN: the cost is their square."""


def _bounded(text: str) -> str | None:
    return text if len(text) <= MAX_COMPUTED_TEXT else None


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")


def readable(text: str) -> str:
    """Return the text with question marks for halves of surrogate pairs."""
    return text if text.isascii() else _encoded(text).decode()


def trim(text: str, characters: str = " ") -> str:
    """Return the text without these characters (blanks: U+0020 only, as in Spark) around it."""
    return text.strip(characters) if characters else text


def trim_left(text: str) -> str:
    """Return the text without blanks in front."""
    return text.lstrip(" ")


def trim_right(text: str) -> str:
    """Return the text without blanks behind."""
    return text.rstrip(" ")


def concat(*texts: str) -> str | None:
    """Return the texts as one, NULL beyond `MAX_COMPUTED_TEXT` characters."""
    return "".join(texts) if sum(map(len, texts)) <= MAX_COMPUTED_TEXT else None


def concat_ws(delimiter: Value, *parts: Value) -> str | None:
    """Return texts, and those of arrays, with a delimiter between them; NULL is left out."""
    if delimiter is None:
        return None
    each = (part if group_of(part) is Group.ARRAY else [part] for part in parts if part is not None)
    return joined(delimiter, [text for texts in each for text in texts if text is not None])


def substring(text: str, position: int, count: int | None = None) -> str:
    """Return `count` characters from `position`: 1 is the first one, -1 the last."""
    start = position - 1 if position > 0 else position + len(text) if position < 0 else 0
    end = len(text) if count is None else start + count
    return text[max(start, 0) : max(end, 0)]


def left(text: str, count: int) -> str:
    """Return the first characters."""
    return text[: max(count, 0)]


def right(text: str, count: int) -> str:
    """Return the last characters."""
    return text[-count:] if count > 0 else ""


def reverse(text: str) -> str:
    """Return the characters from the last to the first."""
    return text[::-1]


def repeat(text: str, count: int) -> str | None:
    """Return the text so many times, NULL beyond `MAX_COMPUTED_TEXT` characters."""
    return text * max(count, 0) if len(text) * count <= MAX_COMPUTED_TEXT else None


def pad_left(text: str, length: int, filling: str = " ") -> str | None:
    """Return a text of a length: cut at the end, or filled in front."""
    return _padding(text, length, filling, "", text)


def pad_right(text: str, length: int, filling: str = " ") -> str | None:
    """Return a text of a length: cut at the end, or filled there."""
    return _padding(text, length, filling, text, "")


def _padding(text: str, length: int, filling: str, before: str, behind: str) -> str | None:
    if length > MAX_COMPUTED_TEXT:
        return None
    missing = length - len(text)
    if missing <= 0 or not filling:
        return text[: max(length, 0)]
    return before + (filling * (missing // len(filling) + 1))[:missing] + behind


def replace(text: str, search: str, instead: str = "") -> str | None:
    """Return the text with every occurrence of another replaced."""
    if not search:
        return text
    longer = text.count(search) * (len(instead) - len(search))
    return text.replace(search, instead) if len(text) + longer <= MAX_COMPUTED_TEXT else None


def translate(text: str, characters: str, instead: str) -> str:
    """Return the text with characters replaced by those at their place, or left out."""
    table: dict[int, str] = {}
    for place, character in enumerate(characters):
        table.setdefault(ord(character), instead[place : place + 1])
    return text.translate(table)


def locate(part: str, text: str, position: int = 1) -> int:
    """Return where a part is first found, from a position on; from 1, and 0 if it is not found."""
    return text.find(part, position - 1) + 1 if position > 0 else 0


def instr(text: str, part: str) -> int:
    """Return where a part is first found, from 1; 0 if it is not found."""
    return text.find(part) + 1


def split_part(text: str, delimiter: str, number: int) -> str | None:
    """Return one part, from 1 or from the end if negative; NULL for 0, "" if there is none."""
    parts = text.split(delimiter) if delimiter else [text]
    if not number:
        return None
    index = number - 1 if number > 0 else len(parts) + number
    return parts[index] if 0 <= index < len(parts) else ""


def substring_index(text: str, delimiter: str, count: int) -> str:
    """Return what stands before the n-th delimiter, or behind the n-th from the end."""
    if not delimiter or not count:
        return ""
    parts = text.split(delimiter) if count > 0 else text.rsplit(delimiter)
    return delimiter.join(parts[:count] if count > 0 else parts[count:])


def split(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Return the parts between what a regular expression matches, at most `limit` if positive."""
    if limit == 1:
        return [text]
    return list(delimiter(pattern).split(readable(text), max(limit - 1, 0)))


@lru_cache(maxsize=256)
def delimiter(pattern: str) -> Any:
    """Return the regular expression that parts of a text stand between.

    Raises:
        ValueError: it is no regular expression, or is found in an empty text.
    """
    found = regex(pattern)
    if found.finder()(""):
        raise ValueError(f"'{pattern[:50]}' is found between any two characters")
    return found.compiled(captures=False)


def regexp_extract(text: str, pattern: str, group: int = 1) -> str | None:
    """Return what a group of a regular expression matches, 0 the whole; "" if it is not found."""
    found = capturing(pattern).search(readable(text))
    if found is None:
        return ""
    return found[group] or "" if 0 <= group <= capturing(pattern).groups else None


def regexp_count(text: str, pattern: str) -> int:
    """Return how often a regular expression is found, without overlaps."""
    return sum(1 for _ in delimiter(pattern).finditer(readable(text)))


def regexp_replace(text: str, pattern: str, instead: str) -> str | None:
    """Return the text with what a regular expression finds replaced.

    `$1` stands for what its first group has found; NULL if there is no such group, or beyond
    `MAX_COMPUTED_TEXT` characters.
    """
    text, searched, others = readable(text), capturing(pattern), replacement(instead)
    if any(isinstance(other, int) and other > searched.groups for other in others):
        return None
    parts, length, end = list[str](), 0, 0
    for found in searched.finditer(text):
        parts.append(text[end : found.start()])
        parts += [other if isinstance(other, str) else found[other] or "" for other in others]
        length, end = length + sum(map(len, parts[-len(others) - 1 :])), found.end()
        if length > MAX_COMPUTED_TEXT:
            return None
    return _bounded("".join([*parts, text[end:]]))


@lru_cache(maxsize=256)
def replacement(text: str) -> tuple[str | int, ...]:
    """Return the texts and numbers of groups that a replacement consists of.

    Raises:
        ValueError: it has a `$` without a number, or a backslash.
    """
    parts = re.split(r"\$(\d)", text)
    if any(each in part for part in parts[::2] for each in "$\\"):
        raise ValueError(f"'{text[:50]}' is no replacement: $ stands before the number of a group")
    return tuple(int(part) if place % 2 else part for place, part in enumerate(parts))


@lru_cache(maxsize=256)
def capturing(pattern: str) -> Any:
    """Return the regular expression with its groups; raises `ValueError` if it is none."""
    return regex(pattern).compiled(captures=True)


def ascii_code(text: str) -> int:
    """Return the code point of the first character, 0 of an empty text."""
    return ord(text[0]) if text else 0


def character(code: int) -> str:
    """Return the character of a code from 0 to 255, of larger ones that of the last 8 bits."""
    return chr(code & 255) if code >= 0 else ""


def octet_length(text: str) -> int:
    """Return how many bytes it has in UTF-8."""
    return len(_encoded(text))


def levenshtein(one: str, other: str) -> int | None:
    """Return how many characters to insert, delete or replace; NULL beyond `MAX_COMPARED_TEXT`.

    A column of the table of distances is held in the bits of two integers, for its values differ by
    one at most. Source: Hyyrö, "A bit-vector algorithm for computing Levenshtein and Damerau edit
    distances" (2003).
    """
    if max(len(one), len(other)) > MAX_COMPARED_TEXT:
        return None
    if not one:
        return len(other)
    places: dict[str, int] = {}
    for place, each in enumerate(one):
        places[each] = places.get(each, 0) | 1 << place
    every, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    rises, falls, distance = every, 0, len(one)
    for each in other:
        equal = places.get(each, 0)
        level = equal | falls
        diagonal = (((equal & rises) + rises) ^ rises) | equal
        right_rises = falls | (~(diagonal | rises) & every)
        right_falls = rises & diagonal
        distance += bool(right_rises & last) - bool(right_falls & last)
        right_rises, right_falls = right_rises << 1 | 1, right_falls << 1
        rises = (right_falls | ~(level | right_rises)) & every
        falls = right_rises & level & every
    return distance


# Codes

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MOST = 2**64 - 1


def to_hex(value: Value) -> str:
    """Return the bytes of a text, or the 64 bits of an integer, in hexadecimal digits."""
    if isinstance(value, str):
        return _encoded(value).hex().upper()
    if not isinstance(value, int) or isinstance(value, bool):
        raise Mismatch
    return f"{value & _MOST:X}"


def conv(text: str, from_base: int, to_base: int) -> str | None:
    """Return a whole number of 64 bits without sign in another base, signed if that is negative.

    Reading ends at the first character that is no digit. Too large a number is the largest.
    """
    text = text.strip(" ")
    bases = range(2, 37)
    if from_base not in bases or abs(to_base) not in bases or not text:
        return None
    is_negative = text.startswith("-")
    number = 0
    for each in text[is_negative:]:
        digit = _DIGITS.find(each.upper())
        if not 0 <= digit < from_base:
            break
        number = min(number * from_base + digit, _MOST)
    if is_negative and to_base > 0:
        number = _MOST if number > _MOST >> 1 else -number & _MOST
    if to_base < 0 and number > _MOST >> 1:
        number, is_negative = -number & _MOST, True
    digits = ""
    while number or not digits:
        number, digit = divmod(number, abs(to_base))
        digits = _DIGITS[digit] + digits
    return f"-{digits}" if is_negative and to_base < 0 else digits


def to_base64(text: str) -> str | None:
    """Return the bytes of a text in UTF-8 as Base64."""
    return _bounded(base64.b64encode(_encoded(text)).decode())


def from_base64(text: str) -> str | None:
    """Return the text whose bytes in UTF-8 are written in Base64; NULL if there is none."""
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def url_encode(text: str) -> str | None:
    """Return the text as a part of the query of a URL."""
    return _bounded(quote_plus(text, safe="*", errors="replace").replace("~", "%7E"))


def url_decode(text: str) -> str | None:
    """Return what is written in the query of a URL; NULL if it cannot be read."""
    try:
        return unquote_to_bytes(text.replace("+", " ")).decode()
    except ValueError:
        return None


def md5(text: str) -> str:
    """Return the MD5 hash of the text in UTF-8, in hexadecimal digits."""
    return hashlib.md5(_encoded(text), usedforsecurity=False).hexdigest()


def sha1(text: str) -> str:
    """Return the SHA-1 hash of the text in UTF-8, in hexadecimal digits."""
    return hashlib.sha1(_encoded(text), usedforsecurity=False).hexdigest()


_SHA2 = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}


def sha2(text: str, bits: int) -> str | None:
    """Return the hash of the text in UTF-8 of 224, 256 (or 0), 384 or 512 bits; else NULL."""
    name = _SHA2.get(bits)
    return None if name is None else hashlib.new(name, _encoded(text)).hexdigest()


def crc32(text: str) -> int:
    """Return the CRC-32 of the text in UTF-8."""
    return zlib.crc32(_encoded(text))
