"""Positions in topics: as Spark keeps them, how far a batch reads, and which task reads what.

    {"payments": {"0": 17, "1": 4}}  the next record to read of each partition

The same JSON as that of Spark's connector, keys in one order, so that equal positions are equal
texts. A partition that is new comes into the position with its first record, and is read from the
next batch on: so where it began is known for good.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

Place = tuple[str, int]
"""Topic and partition."""
Positions = Mapping[Place, int]
"""Of each partition the offset of the next record."""
NO_POSITION: Final = (
    'a position in Kafka has the form {"topic": {"0": 17}}; the checkpoint has none such, it is of '
    "another source. Use a new one"
)
OffsetDocument = dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True, order=True)
class RecordRange:
    """Records of one partition: those with `begin <= offset < end`, as far as they exist."""

    topic: str
    partition: int
    begin: int
    end: int

    @property
    def place(self) -> Place:
        """Its topic and partition."""
        return self.topic, self.partition

    @property
    def length(self) -> int:
        """How many offsets it has; there may be fewer records."""
        return self.end - self.begin

    def __str__(self) -> str:
        return f"topic {self.topic}, partition {self.partition}, offsets {self.begin} to {self.end}"


def document_of(positions: Positions) -> OffsetDocument:
    """Return positions as Spark keeps them."""
    document: OffsetDocument = {}
    for (topic, partition), offset in sorted(positions.items()):
        document.setdefault(topic, {})[str(partition)] = offset
    return document


def positions_of(document: Mapping[str, Mapping[str, int]]) -> dict[Place, int]:
    """Return positions from what Spark keeps.

    Raises:
        ValueError: it is not of that form; so it is if a checkpoint is of another source.
    """
    try:
        return {
            (topic, int(partition)): int(offset)
            for topic, partitions in document.items()
            for partition, offset in partitions.items()
        }
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(NO_POSITION) from error


def advanced(
    start: Positions, earliest: Positions, latest: Positions, limit: int | None
) -> dict[Place, int]:
    """Return where a batch ends: at the newest records, or after so many.

    Partitions get shares of the limit in proportion to what they hold unread, so that none falls
    behind for good.

    `limit`: how many offsets it may have; `None` = any number.
    """
    unread = {place: max(latest.get(place, begin) - begin, 0) for place, begin in start.items()}
    shares = unread if limit is None else _shares(unread, limit)
    new = {place: earliest[place] for place in latest.keys() - start.keys()}
    return new | {place: begin + shares[place] for place, begin in start.items()}


def _shares(unread: Mapping[Place, int], limit: int) -> dict[Place, int]:
    """Divide a limit in proportion; what is left by rounding goes to the largest remainders."""
    total = sum(unread.values())
    if total <= limit:
        return dict(unread)
    shares = {place: count * limit // total for place, count in unread.items()}
    by_remainder = sorted(unread, key=lambda place: (-(unread[place] * limit % total), place))
    for place in by_remainder[: limit - sum(shares.values())]:
        shares[place] += 1
    return shares


def ranges_between(start: Positions, end: Positions) -> list[RecordRange]:
    """Return what a batch reads, of each partition with something to read one range."""
    ranges = (
        RecordRange(*place, start.get(place, until), until) for place, until in sorted(end.items())
    )
    return [each for each in ranges if each.length > 0]


def divide_ranges(
    ranges: Iterable[RecordRange], tasks: int, min_pieces: int = 1
) -> list[tuple[RecordRange, ...]]:
    """Return what each task reads, about equally much.

    `tasks`: the most tasks, unless `min_pieces` is more: a task costs more than a few records.
    `min_pieces`: large ranges are cut until there are as many, if there are as many offsets.
    """
    pieces = _cut(list(ranges), min_pieces)
    loads: list[list[RecordRange]] = [[] for _ in range(min(len(pieces), max(tasks, min_pieces)))]
    sizes = [0] * len(loads)
    for piece in sorted(pieces, key=lambda each: (-each.length, each)):
        lightest = sizes.index(min(sizes))
        loads[lightest].append(piece)
        sizes[lightest] += piece.length
    return [tuple(sorted(load)) for load in loads]


def _cut(ranges: list[RecordRange], min_pieces: int) -> list[RecordRange]:
    total = sum(each.length for each in ranges)
    if len(ranges) >= min_pieces or not total:
        return ranges
    size = max(total // min_pieces, 1)
    return [
        RecordRange(each.topic, each.partition, begin, min(begin + size, each.end))
        for each in ranges
        for begin in range(each.begin, each.end, size)
    ]
