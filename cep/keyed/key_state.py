"""The state of one key after the other, for stores that keep keys apart.

    KeyedMatcher ──layout, encode_keys──► layout · bytes per key ──KeyRestorer──► KeyedMatcher

A layout says which rules the bits in the encoded keys stand for. It is written once for many keys;
a key that was written under an older one is translated when it is read. Rules are matched by id and
pattern, as in `cep.matching.matcher_state`.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, NamedTuple

from cep.keyed.machines import KeyState
from cep.keyed.matcher import KeyedMatcher
from cep.keyed.merged_keys import merged
from cep.keyed.shapes import Shape
from cep.nfa.codec import pack_values, unpack_values
from cep.nfa.errors import StateEncodingError
from cep.nfa.runs import KeyRuns

Layout = list[list[list[str]]]
"""Per shape, in order, the id and pattern digest of each of its rules."""


def layout(matcher: KeyedMatcher) -> Layout:
    """Return which rules the bits in encoded keys of a matcher stand for."""
    return [[[member.rule, member.digest] for member in shape.members] for shape in matcher.shapes]


class EncodedKey(NamedTuple):
    """The state of one key.

    `deadline_ms` is when its next window closes; `holds_back` whether there are finished matches
    that wait for a partial match.
    """

    data: bytes
    deadline_ms: int | None
    holds_back: bool


def encode_keys(
    matcher: KeyedMatcher, keys: AbstractSet[Hashable]
) -> Iterator[tuple[Hashable, EncodedKey]]:
    """Yield some keys with their states, but for those that hold nothing, in any order.

    Each shape is looked at for the keys it has, so that shapes with none of them cost nothing.

    Raises:
        StateEncodingError: an event holds a value that cannot be written.
    """
    holding: defaultdict[Hashable, list[tuple[int, Shape, KeyState]]] = defaultdict(list)
    for number, shape in enumerate(matcher.shapes):
        there = shape.keys
        # The smaller side is gone through.
        both = (key for key in keys if key in there) if len(keys) < len(there) else there
        for key in both:
            holding[key].append((number, shape, there[key]))
    for key in keys & holding.keys():
        yield key, _encoded(holding[key])


def _encoded(holding: Sequence[tuple[int, Shape, KeyState]]) -> EncodedKey:
    """Return the state of a key, given what each shape that has it holds, in order of shapes."""
    parts = []
    deadline_ms: int | None = None
    holds_back = False
    for number, shape, runs in holding:
        parts.append([number, shape.machine.payload(runs)])
        holds_back = holds_back or bool(runs.held_back_rules())
        closes_ms = shape.machine.next_deadline_ms(runs)
        if closes_ms is not None and (deadline_ms is None or closes_ms < deadline_ms):
            deadline_ms = closes_ms
    return EncodedKey(pack_values(parts), deadline_ms, holds_back)


class KeyRestorer:
    """Puts keys that were encoded under one layout into a matcher with the same or other rules.

    Args:
        matcher: where they go.
        written: the layout they were encoded under.
        translate: from an event as it was written to one as the matcher reads it.
    """

    def __init__(
        self,
        matcher: KeyedMatcher,
        written: Layout,
        translate: Callable[[Any], Any] | None = None,
    ) -> None:
        self._matcher = matcher
        self._translate = translate
        places: _Places = {}
        for shape in matcher.shapes:
            for bit, member in enumerate(shape.members):
                places[member.rule, member.digest] = (shape, 1 << bit)
        self._shapes = [_translations(members, places) for members in written]

    @property
    def numbering(self) -> Sequence[int] | None:
        """By number of a shape as it was written its number now, -1 if there is none any more.

        `None` if more than numbers differs, so that keys have to be restored.
        """
        if self._translate is not None:
            return None
        now = {id(shape): number for number, shape in enumerate(self._matcher.shapes)}
        numbers = []
        for translations in self._shapes:
            if any(each.bits is not None for each in translations):
                return None
            numbers.append(now[id(translations[0].shape)] if translations else -1)
        return numbers

    def restore(self, key: Hashable, data: bytes) -> None:
        """Put the state of a key into the matcher; what belongs to rules it has not is dropped.

        Raises:
            StateEncodingError: the bytes are corrupt.
        """
        try:
            for number, payload in unpack_values(data):
                for translation in self._shapes[number]:
                    self._restore(key, translation, payload)
        except (ValueError, TypeError, IndexError) as error:
            raise StateEncodingError(f"the encoded key is not well formed: {error}") from error

    def _restore(self, key: Hashable, translation: "_Translation", payload: list[Any]) -> None:
        shape = translation.shape
        runs = shape.machine.of_payload(payload, self._translate)
        if translation.bits is not None:
            runs.renumber(translation.bits)
        if runs.is_idle:
            return
        there = shape.keys.get(key)
        if isinstance(there, KeyRuns):
            # Rules of one shape that were written apart: their limits differed, or they were
            # in two of the machines that many rules of one shape are divided among.
            runs = merged(there, runs)
        self._matcher.put(shape, key, runs)


@dataclass(frozen=True, slots=True)
class _Translation:
    """Where rules of a written shape are now; `bits` is `None` where all are as they were."""

    shape: Shape
    bits: Mapping[int, int] | None


_Places = dict[tuple[str, str], tuple[Shape, int]]
"""By rule and digest: its shape and its bit."""


def _translations(members: Sequence[Sequence[str]], places: _Places) -> list[_Translation]:
    """Return where the rules of a written shape are now.

    Equal patterns have equal programs, but rules of different limits are kept apart, so the rules
    of one shape can be found in several.
    """
    bits: dict[int, dict[int, int]] = {}
    shapes: dict[int, Shape] = {}
    for bit, (rule, digest) in enumerate(members):
        place = places.get((rule, digest))
        if place is not None:
            shape, now = place
            shapes[id(shape)] = shape
            bits.setdefault(id(shape), {})[1 << bit] = now
    return [
        _Translation(shape, None if _is_identity(bits[number], len(members)) else bits[number])
        for number, shape in shapes.items()
    ]


def _is_identity(bits: Mapping[int, int], count: int) -> bool:
    return len(bits) == count and all(old == new for old, new in bits.items())
