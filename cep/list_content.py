"""The content of a list of a stream, for `user IN LIST('vip')`: what it is made of, and its name.

    CSV, JSON ──list_content──► canonical JSON, named by its digest ──► service, checkpoint, workers

A snapshot names the contents that are in effect; they travel beside it, each once.
"""

import hashlib
import re
from collections.abc import Iterable
from datetime import date
from typing import Final, Literal, get_args

from pydantic_core import from_json, to_json

ListType = Literal["STRING", "BIGINT", "DATE"]
"""The types of values: those that are equal only if they are the same."""
LIST_TYPES: Final[tuple[str, ...]] = get_args(ListType)
ListValue = str | int | date

MOST_VALUES: Final = 1_000_000
"""Values of a list."""
LONGEST_VALUE: Final = 1_000
"""Characters of a value."""
MOST_BYTES: Final = 32_000_000
"""Size of the canonical content of a list."""
_INTEGERS: Final = range(-(2**63), 2**63)
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_WHOLE: Final = re.compile(r"-?[0-9]{1,19}")
# A whole number below zero is none. Source: OWASP, "CSV Injection".
_FORMULA: Final = re.compile(r"'*(?:[=+@\t\r\n\uff1d\uff0b\uff0d\uff20]|-(?![0-9]+\Z))")
_TO_QUOTE: Final = re.compile(r'[",;\t\r\n]')


def value_of(data_type: ListType, text: str) -> ListValue:
    """Return the value that a text stands for, such as a line of CSV.

    Raises:
        ValueError: it is none of the type; says what would be.
    """
    match data_type:
        case "STRING":
            return _text(text)
        case "BIGINT":
            return _integer(text)
        case "DATE":
            return _date(text)


def written_value(data_type: ListType, text: str) -> ListValue:
    """Return the value of a text in a file; else as `value_of`.

    Spaces around a number or a day are no part of it.
    """
    if "\x00" in text:
        raise ValueError("the value holds a NUL character")
    return value_of(data_type, text if data_type == "STRING" else text.strip())


def csv_cell(text: str) -> str:
    """Return a value as a cell of CSV: what a spreadsheet takes for a formula begins with `'`."""
    safe = f"'{text}" if _FORMULA.match(text) else text
    doubled = safe.replace('"', '""')
    return f'"{doubled}"' if _TO_QUOTE.search(safe) else safe


def value_in_cell(cell: str) -> str:
    """Return the text that `csv_cell` has written, from a cell without its quotes."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def list_content(values: Iterable[ListValue]) -> bytes:
    """Return the canonical content of a list: a JSON array, each value once, in order.

    All are of one type.

    Raises:
        ValueError: there are too many, or they are too long together.
    """
    distinct = sorted(set(values))
    if len(distinct) > MOST_VALUES:
        raise ValueError(f"{len(distinct):,} values; a list holds {MOST_VALUES:,}")
    content = to_json(distinct)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{len(content):,} bytes of values; a list holds {MOST_BYTES:,}")
    return content


def list_values(data_type: ListType, content: bytes) -> list[ListValue]:
    """Return the values of a content, in order."""
    values: list[ListValue] = from_json(content)
    return [date.fromisoformat(str(each)) for each in values] if data_type == "DATE" else values


def list_digest(content: bytes) -> str:
    """Return the name of a content: its SHA-256, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def _text(text: str) -> str:
    if len(text) > LONGEST_VALUE:
        raise ValueError(f"a value of {len(text):,} characters; the limit is {LONGEST_VALUE:,}")
    if not text:
        raise ValueError("an empty text is no value")
    text.encode()  # a lone surrogate is no text, and raises a ValueError
    return text


def _integer(text: str) -> int:
    number = int(text) if _WHOLE.fullmatch(text) else None
    if number is None or number not in _INTEGERS:
        raise ValueError(f"'{text[:100]}' is no BIGINT, a whole number of up to 64 bits")
    return number


def _date(text: str) -> date:
    try:
        found = date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        found = None
    if found is None:
        raise ValueError(f"'{text[:100]}' is no DATE such as 2024-01-31")
    return found
