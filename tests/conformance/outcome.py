"""What running a pattern over events gives, and how far two outcomes agree.

The middle of the conformance suite: `cases` reads expected outcomes, `target` makes actual ones.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum

StepIds = tuple[tuple[str, tuple[int, ...]], ...]
"""Event ids per step, sorted by step name: hashable, and blind to the order of the keys."""


@dataclass(frozen=True, slots=True)
class Match:
    """One match; `at_id` is the id of the event that emitted it, None for the final watermark."""

    steps: StepIds
    at_id: int | None


@dataclass(frozen=True, slots=True)
class TimedOut:
    """One partial match that ran out of time; `at_id` as in `Match`."""

    steps: StepIds
    timeout_ms: int
    at_id: int | None


class Failure(StrEnum):
    """How a case may end other than with an answer."""

    REFUSED = "refused"  # before the first event
    ABORTED = "aborted"  # by a rule of the language while running (throw_on_miss)
    LIMITED = "limited"  # by the engine's own bound on work or memory
    CRASHED = "crashed"  # by a defect of the engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Everything observable of one run, in emission order; a count is None where it is not known.

    After a failure, `matches` and `timed_out` hold what was emitted before it.
    """

    matches: tuple[Match, ...] = ()
    timed_out: tuple[TimedOut, ...] = ()
    failure: Failure | None = None
    open_partial_matches: int | None = None
    held_back_matches: int | None = None
    open_after_watermark: int | None = None


class Agreement(IntEnum):
    """How far two sequences of emissions agree, each level including the ones before it."""

    NONE = 0
    MULTISET = 1
    FIRST_EVENT_ORDER = 2  # the order users can rely on: when emitted, then by first event
    LIST = 3


def agreement(expected: Outcome, actual: Outcome) -> Agreement:
    """Return how far matches, timeouts and failure agree; counts are not looked at."""
    if expected.failure != actual.failure:
        return Agreement.NONE
    return min(
        _sequence_agreement(expected.matches, actual.matches),
        _sequence_agreement(expected.timed_out, actual.timed_out),
    )


def counts_agree(expected: Outcome, actual: Outcome) -> bool:
    """Return whether every count known on both sides is equal."""
    return not any(_count_differences(expected, actual))


def differences(expected: Outcome, actual: Outcome) -> list[str]:
    """Return one line per difference, order included; empty if the outcomes are equal."""
    lines = []
    if expected.failure != actual.failure:
        lines.append(f"failure: expected {expected.failure}, got {actual.failure}")
    lines += _sequence_differences("match", expected.matches, actual.matches)
    lines += _sequence_differences("timeout", expected.timed_out, actual.timed_out)
    lines += _count_differences(expected, actual)
    return lines


def _sequence_agreement(
    expected: Sequence[Match | TimedOut], actual: Sequence[Match | TimedOut]
) -> Agreement:
    if expected == actual:
        return Agreement.LIST
    if Counter(expected) != Counter(actual):
        return Agreement.NONE
    if [_order_key(item) for item in expected] == [_order_key(item) for item in actual]:
        return Agreement.FIRST_EVENT_ORDER
    return Agreement.MULTISET


def _order_key(item: Match | TimedOut) -> tuple[int | None, int]:
    return item.at_id, min(ids[0] for _, ids in item.steps)


def _sequence_differences(
    word: str, expected: Sequence[Match | TimedOut], actual: Sequence[Match | TimedOut]
) -> Iterator[str]:
    missing = Counter(expected) - Counter(actual)
    extra = Counter(actual) - Counter(expected)
    yield from (f"missing {word}: {_shown(item)}" for item in missing.elements())
    yield from (f"extra {word}: {_shown(item)}" for item in extra.elements())
    if not missing and not extra and expected != actual:
        place = next(i for i, (e, a) in enumerate(zip(expected, actual, strict=True)) if e != a)
        yield (
            f"{word} {place} out of order: "
            f"expected {_shown(expected[place])}, got {_shown(actual[place])}"
        )


def _count_differences(expected: Outcome, actual: Outcome) -> Iterator[str]:
    for name in ("open_partial_matches", "held_back_matches", "open_after_watermark"):
        wanted, given = getattr(expected, name), getattr(actual, name)
        if wanted is not None and given is not None and wanted != given:
            yield f"{name}: expected {wanted}, got {given}"


def _shown(item: Match | TimedOut) -> str:
    steps = " ".join(f"{name}={','.join(map(str, ids))}" for name, ids in item.steps)
    at = "final watermark" if item.at_id is None else f"event {item.at_id}"
    deadline = f", timeout_ms {item.timeout_ms}" if isinstance(item, TimedOut) else ""
    return f"{{{steps}}} at {at}{deadline}"
