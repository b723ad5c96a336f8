"""The state of a whole KeyedMatcher as bytes, and back into a matcher with the same or other rules.

Rules are matched by id and pattern: one that is unchanged goes on where it was; one that is gone or
whose pattern changed loses its partial matches; a new one starts empty.

Source: FLIP-200, "partial matches are kept for the same id and version".
"""

from collections.abc import Mapping
from typing import Any

from cep.keyed import KeyedMatcher, Shape
from cep.nfa.codec import decode, encode, pack, unpack
from cep.nfa.errors import StateEncodingError
from cep.nfa.runs import KeyRuns


def encode_matcher(matcher: KeyedMatcher) -> bytes:
    """Return the state of all keys and rules.

    Keys and events may be made of None, bool, int, float, str, bytes, Decimal, date, datetime,
    timedelta, and lists, tuples and mappings of these.

    Raises:
        StateEncodingError: a key or an event holds something else.
    """
    shapes = [
        [
            [(member.rule, member.digest) for member in shape.members],
            [(key, encode(runs, shape.machine.program)) for key, runs in shape.keys.items()],
        ]
        for shape in matcher.shapes
    ]
    return pack([matcher.time_ms, shapes])


def restore_matcher(matcher: KeyedMatcher, data: bytes) -> None:
    """Put encoded state into a matcher that has not processed anything yet.

    Raises:
        StateEncodingError: the bytes are corrupt or of a newer format.
    """
    places = {
        (member.rule, member.digest): (shape, 1 << position)
        for shape in matcher.shapes
        for position, member in enumerate(shape.members)
    }
    try:
        time_ms, shapes = unpack(data)
        matcher.time_ms = time_ms
        for members, keys in shapes:
            _restore_shape(matcher, places, [tuple(member) for member in members], keys)
    except (ValueError, TypeError) as error:
        raise StateEncodingError(f"the encoded state is not well formed: {error}") from error


def _restore_shape(
    matcher: KeyedMatcher,
    places: Mapping[tuple[str, str], tuple[Shape, int]],
    members: list[Any],
    keys: list[Any],
) -> None:
    known = {
        1 << position: places[member] for position, member in enumerate(members) if member in places
    }
    if not known:
        return
    # Equal patterns have equal programs, so all known members are in one shape.
    shape = next(iter(known.values()))[0]
    bits = {old: new for old, (_, new) in known.items()}
    for key, encoded in keys:
        machine = shape.machine
        runs = decode(encoded, machine.program, aggregate_count=machine.aggregate_count)
        _renumber(runs, bits)
        shape.keys[key] = runs
        matcher.settle(shape, key, runs)


def _renumber(runs: KeyRuns, bits: Mapping[int, int]) -> None:
    def renumbered(rules: int) -> int:
        result = 0
        while rules:
            bit = rules & -rules
            rules ^= bit
            result |= bits.get(bit, 0)
        return result

    runs.runs = [(run[0], rules, *run[2:]) for run in runs.runs if (rules := renumbered(run[1]))]
    runs.waiting = [(rules, queue) for old, queue in runs.waiting if (rules := renumbered(old))]
