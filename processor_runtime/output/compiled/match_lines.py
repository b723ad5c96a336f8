"""Compiled: the lines of JSON that tell of thousands of matches.

    pieces of texts, times, digests ──lines_of──► lines

A line is what `processor_runtime.spark.sinks.row_columns.row_json` makes of the same row, to the
byte.
"""

from typing import Final

import numpy as np

from cep.compiling import Ints, compiled, in_place
from cep.compiling.byte_copying import Bytes
from processor_runtime.output.compiled.pieces import (
    NO_PIECE,
    put,
    put_all,
    put_digits,
    put_number,
    size_of,
    text_bytes,
)

_DIGEST_BYTES: Final = 16
_MS_PER_SECOND: Final = 1_000
_SECONDS_PER_DAY: Final = 86_400
_MONTHS_FROM_MARCH: Final = 10
_DAYS_BEFORE_1970: Final = 719_468
"""From the first of March of the year 0, with which a year of 400 begins here."""


_START_TIME: Final = text_bytes('","start_time":"')
_END_TIME: Final = text_bytes('","end_time":"')
_START_MS: Final = text_bytes('","start_ms":')
_END_MS: Final = text_bytes(',"end_ms":')
_KEY: Final = text_bytes(',"key":')
_OUTPUT: Final = text_bytes(',"output":')
_EVENTS: Final = text_bytes(',"events":')
_LINE_END: Final = text_bytes("}\n")
_HEXADECIMAL: Final = text_bytes("0123456789abcdef")
_MOST_BESIDE_PIECES: Final = 256
"""More than a line takes for everything that is no piece."""


@compiled
def lines_of(data: Bytes, borders: Ints, pieces: Ints, times_ms: Ints, digests: Bytes) -> Bytes:
    """Return lines, one after the other.

    Args:
        data: texts, one after the other.
        borders: where each begins; one more at the end.
        pieces: of each match the text up to its id, its key, its output (`NO_PIECE` if it has
            none), and its events.
        times_ms: when it begins and ends, in the years 1 to 9999.
        digests: its id as bytes, one after the other.
    """
    most = len(pieces) * _MOST_BESIDE_PIECES
    for number in range(len(pieces)):
        most += size_of(borders, pieces, number)
    lines, place = np.empty(most, np.uint8), 0
    for number in range(len(pieces)):
        place = put(data, borders, pieces[number, 0], lines, place)
        for byte in range(number * _DIGEST_BYTES, (number + 1) * _DIGEST_BYTES):
            lines[place] = _HEXADECIMAL[digests[byte] >> 4]
            lines[place + 1] = _HEXADECIMAL[digests[byte] & 15]
            place += 2
        place = put_all(_START_TIME, lines, place)
        place = _put_time(times_ms[number, 0], lines, place)
        place = put_all(_END_TIME, lines, place)
        place = _put_time(times_ms[number, 1], lines, place)
        place = put_all(_START_MS, lines, place)
        place = put_number(times_ms[number, 0], lines, place)
        place = put_all(_END_MS, lines, place)
        place = put_number(times_ms[number, 1], lines, place)
        place = put_all(_KEY, lines, place)
        place = put(data, borders, pieces[number, 1], lines, place)
        if pieces[number, 2] != NO_PIECE:
            place = put_all(_OUTPUT, lines, place)
            place = put(data, borders, pieces[number, 2], lines, place)
        place = put_all(_EVENTS, lines, place)
        place = put(data, borders, pieces[number, 3], lines, place)
        place = put_all(_LINE_END, lines, place)
    return lines[:place]


@in_place
def _put_time(time_ms: int, text: Bytes, place: int) -> int:
    """Write a time: `2027-01-15T07:58:20.123Z`.

    Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
    """
    seconds = time_ms // _MS_PER_SECOND
    days = seconds // _SECONDS_PER_DAY + _DAYS_BEFORE_1970
    second = seconds % _SECONDS_PER_DAY
    era = days // 146_097
    day_of_era = days % 146_097
    year_of_era = (
        day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * day_of_year + 2) // 153  # from March on
    day = day_of_year - (153 * month + 2) // 5 + 1
    is_next_year = month >= _MONTHS_FROM_MARCH
    month += -9 if is_next_year else 3
    year = era * 400 + year_of_era + (1 if is_next_year else 0)
    place = put_digits(year, 4, text, place)
    text[place] = ord("-")
    place = put_digits(month, 2, text, place + 1)
    text[place] = ord("-")
    place = put_digits(day, 2, text, place + 1)
    text[place] = ord("T")
    place = put_digits(second // 3_600, 2, text, place + 1)
    text[place] = ord(":")
    place = put_digits(second // 60 % 60, 2, text, place + 1)
    text[place] = ord(":")
    place = put_digits(second % 60, 2, text, place + 1)
    text[place] = ord(".")
    place = put_digits(time_ms % _MS_PER_SECOND, 3, text, place + 1)
    text[place] = ord("Z")
    return place + 1
