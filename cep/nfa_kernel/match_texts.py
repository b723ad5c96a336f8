"""Compiled: what thousands of matches are called, and the lines of JSON that tell of them.

    pieces of texts, times ──digests_of──► digests ──lines_of──► lines

A line is what `processor_runtime.spark.sinks.row_columns.row_json` makes of the same row, to the
byte, and a digest what `processor_runtime.rows.output_rows.MatchIds` does.
"""

from typing import Final

import numpy as np

from cep.compiling import Ints, compiled, in_place
from cep.nfa_kernel.blake2b import BLOCK_BYTES, BLOCK_WORDS, LAST, NOT_LAST, begin, compress
from cep.nfa_kernel.packed_values import Bytes, copied

NO_PIECE: Final = -1

_DIGEST_BYTES: Final = 16
_MOST_DIGITS: Final = 20
"""Of an integer, with its sign."""
_MS_PER_SECOND: Final = 1_000
_SECONDS_PER_DAY: Final = 86_400
_MONTHS_FROM_MARCH: Final = 10
_DAYS_BEFORE_1970: Final = 719_468
"""From the first of March of the year 0, with which a year of 400 begins here."""


def _text(text: str) -> Bytes:
    return np.frombuffer(text.encode(), np.uint8)


_COMMA: Final = _text(", ")
_CLOSED: Final = _text(")")
_START_TIME: Final = _text('","start_time":"')
_END_TIME: Final = _text('","end_time":"')
_START_MS: Final = _text('","start_ms":')
_END_MS: Final = _text(',"end_ms":')
_KEY: Final = _text(',"key":')
_OUTPUT: Final = _text(',"output":')
_EVENTS: Final = _text(',"events":')
_LINE_END: Final = _text("}\n")
_HEXADECIMAL: Final = _text("0123456789abcdef")
_MOST_BESIDE_PIECES: Final = 256
"""More than a line takes for everything that is no piece."""


@compiled
def digests_of(data: Bytes, borders: Ints, pieces: Ints, times_ms: Ints) -> Bytes:
    """Return the digest of each match, one after the other.

    Args:
        data: texts, one after the other.
        borders: where each begins; one more at the end.
        pieces: of each match the text with which its identity begins, its key, and its events.
        times_ms: when it begins and ends.
    """
    digests = np.empty(len(pieces) * _DIGEST_BYTES, np.uint8)
    most = 0
    for number in range(len(pieces)):
        most = max(most, _size_of(borders, pieces, number))
    most += 2 * (_MOST_DIGITS + len(_COMMA)) + len(_CLOSED)
    text = np.zeros((most // BLOCK_BYTES + 1) * BLOCK_BYTES, np.uint8)
    words = text.view(np.uint64)
    state = np.zeros(8, np.uint64)
    digest = state.view(np.uint8)
    for number in range(len(pieces)):
        size = _put(data, borders, pieces[number, 0], text, 0)
        size = _put(data, borders, pieces[number, 1], text, size)
        for part in range(2):
            size = _put_all(_COMMA, text, size)
            size = _put_number(times_ms[number, part], text, size)
        size = _put_all(_CLOSED, text, size)
        size = _put(data, borders, pieces[number, 2], text, size)
        begin(state, 0, _DIGEST_BYTES)
        first, done = 0, BLOCK_BYTES
        while done < size:
            compress(state, words, first, done, NOT_LAST)
            first += BLOCK_WORDS
            done += BLOCK_BYTES
        for place in range(size, done):
            text[place] = 0
        compress(state, words, first, size, LAST)
        copied(digest, 0, _DIGEST_BYTES, digests, number * _DIGEST_BYTES)
    return digests


@compiled
def lines_of(data: Bytes, borders: Ints, pieces: Ints, times_ms: Ints, digests: Bytes) -> Bytes:
    """Return lines, one after the other.

    Args:
        data: texts, one after the other.
        borders: where each begins; one more at the end.
        pieces: of each match the text up to its id, its key, its output (`NO_PIECE` if it has
            none), and its events.
        times_ms: when it begins and ends, in the years 1 to 9999.
        digests: see `digests_of`.
    """
    most = len(pieces) * _MOST_BESIDE_PIECES
    for number in range(len(pieces)):
        most += _size_of(borders, pieces, number)
    lines, place = np.empty(most, np.uint8), 0
    for number in range(len(pieces)):
        place = _put(data, borders, pieces[number, 0], lines, place)
        for byte in range(number * _DIGEST_BYTES, (number + 1) * _DIGEST_BYTES):
            lines[place] = _HEXADECIMAL[digests[byte] >> 4]
            lines[place + 1] = _HEXADECIMAL[digests[byte] & 15]
            place += 2
        place = _put_all(_START_TIME, lines, place)
        place = _put_time(times_ms[number, 0], lines, place)
        place = _put_all(_END_TIME, lines, place)
        place = _put_time(times_ms[number, 1], lines, place)
        place = _put_all(_START_MS, lines, place)
        place = _put_number(times_ms[number, 0], lines, place)
        place = _put_all(_END_MS, lines, place)
        place = _put_number(times_ms[number, 1], lines, place)
        place = _put_all(_KEY, lines, place)
        place = _put(data, borders, pieces[number, 1], lines, place)
        if pieces[number, 2] != NO_PIECE:
            place = _put_all(_OUTPUT, lines, place)
            place = _put(data, borders, pieces[number, 2], lines, place)
        place = _put_all(_EVENTS, lines, place)
        place = _put(data, borders, pieces[number, 3], lines, place)
        place = _put_all(_LINE_END, lines, place)
    return lines[:place]


@in_place
def _size_of(borders: Ints, pieces: Ints, number: int) -> int:
    """Return how many bytes the pieces of a match have together."""
    size = 0
    for part in range(pieces.shape[1]):
        piece = pieces[number, part]
        if piece != NO_PIECE:
            size += borders[piece + 1] - borders[piece]
    return size


@in_place
def _put(data: Bytes, borders: Ints, piece: int, text: Bytes, place: int) -> int:
    return copied(data, borders[piece], borders[piece + 1], text, place)


@in_place
def _put_all(source: Bytes, text: Bytes, place: int) -> int:
    return copied(source, 0, len(source), text, place)


@in_place
def _put_number(number: int, text: Bytes, place: int) -> int:
    """Write an integer that has a positive of the same size."""
    if number < 0:
        text[place] = ord("-")
        place += 1
        number = -number
    digits, rest = 1, number // 10
    while rest > 0:
        digits += 1
        rest //= 10
    return _put_digits(number, digits, text, place)


@in_place
def _put_digits(number: int, digits: int, text: Bytes, place: int) -> int:
    for digit in range(digits):
        text[place + digits - 1 - digit] = ord("0") + number % 10
        number //= 10
    return place + digits


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
    place = _put_digits(year, 4, text, place)
    text[place] = ord("-")
    place = _put_digits(month, 2, text, place + 1)
    text[place] = ord("-")
    place = _put_digits(day, 2, text, place + 1)
    text[place] = ord("T")
    place = _put_digits(second // 3_600, 2, text, place + 1)
    text[place] = ord(":")
    place = _put_digits(second // 60 % 60, 2, text, place + 1)
    text[place] = ord(":")
    place = _put_digits(second % 60, 2, text, place + 1)
    text[place] = ord(".")
    place = _put_digits(time_ms % _MS_PER_SECOND, 3, text, place + 1)
    text[place] = ord("Z")
    return place + 1
