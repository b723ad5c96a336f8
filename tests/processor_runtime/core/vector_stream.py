"""Conformance vectors as one stream: each vector has keys of its own, its pattern is a processor.

    vectors ──► processors (conditions narrowed to the vector) + events, moved in time ──► Pipeline

All vectors of a stream end at the same instant, to which the watermark then comes: so that each
sees time advance exactly as far as it says.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

from pydantic_core import from_json

from cep.expression import compile_predicate, mapping_reader
from cep.expression.evaluation.scalar import no_slots
from cep.nfa.errors import SkipTargetMissing
from contract.snapshot import SnapshotProcessor, StreamDefinition
from percept import KeyedMatcher, Pattern
from processor_runtime.rows.output_rows import OutputRow
from tests.conformance.cases import ANSWERED, Case, load
from tests.conformance.outcome import Failure
from tests.letters import processor, version
from tests.processor_runtime.core.pipeline import Event

END_MS = 1_000_000
COPIES = 2
AT_ONCE = 100
"""So many vectors share a stream."""

IN_DEADLINE_ORDER = frozenset(
    {
        "NotPatternITCase#testNotFollowedByWithinAtEndAfterMatch",
        "fuzz1-00399",
        "fuzz1-00645",
        "fuzz1-00704",
        "fuzz1-00773",
        "fuzz1-00807",
        "fuzz1-01687",
        "fuzz1-02106",
        "fuzz1-02186",
        "fuzz1-02208",
    }
)
"""Vectors that give something else where windows close in the order of their deadlines.

See docs/decisions/0003-when-windows-close.md.
"""

BACK_IN_TIME = frozenset(
    {
        "NotPatternITCase#testTimesWithNotFollowedByAfter",
        "NotPatternITCase#testIgnoreStateOfTimesWithNotFollowedBy",
    }
)
"""Vectors whose events are not in order of time, which a stream puts them in."""

Found = tuple[str, tuple[tuple[str, tuple[int, ...]], ...], int | None]
"""Kind, ids of the events by step, and when the window closed (for timeouts)."""


def stream(delay_ms: int) -> StreamDefinition:
    """Return the stream: the columns of the vectors, whose they are, and when they happen."""
    return StreamDefinition(
        name="vectors",
        version=1,
        schema="vector BIGINT, copy BIGINT, at BIGINT, id BIGINT, ts BIGINT, name STRING, "
        "price DOUBLE, volume DOUBLE, type STRING",
        event_time_column="at",
        allowed_delay_ms=delay_ms,
        order_by=[],
    )


def processors(cases: Sequence[Case]) -> list[SnapshotProcessor]:
    """Return one processor per vector, named by its place."""
    quirks = {"flink_quirks": True}
    patterns = [_narrowed(case.pattern, number) | quirks for number, case in enumerate(cases)]
    return [
        processor(f"v{number:03}", version(1, pattern, key_by=["vector", "copy"]))
        for number, pattern in enumerate(patterns)
    ]


def _narrowed(element: Mapping[str, Any], vector: int) -> dict[str, Any]:
    """Return a sequence, group or step whose conditions hold for one vector only."""
    narrowed = dict(element)
    if "steps" in element:
        narrowed["steps"] = [_narrowed(step, vector) for step in element["steps"]]
    elif "group" in element:
        narrowed["group"] = _narrowed(element["group"], vector)
    else:
        where = f" AND ({element['where']})" if "where" in element else ""
        narrowed["where"] = f"vector = {vector}{where}"
    return narrowed


def offset_ms(case: Case) -> int:
    """Return how far a vector is moved in time, to end at `END_MS`."""
    end_ms: int = max(event["ts"] for event in case.events)
    return END_MS - max(end_ms, case.final_watermark_ms or end_ms)


def arrivals(cases: Sequence[Case], delay_ms: int, random: Random) -> list[Event]:
    """Return the events of all vectors, out of order by up to the delay; ties stay as they are.

    A vector that ends with an abort comes once, others under several keys.
    """
    arriving: list[tuple[int, int, Event]] = []
    for number, case in enumerate(cases):
        for copy in range(COPIES if case.expected.failure is None else 1):
            moved_ms = offset_ms(case)
            lateness = {event["ts"]: random.randint(0, delay_ms) for event in case.events}
            for event in case.events:
                at_ms = event["ts"] + moved_ms
                whose = {"vector": number, "copy": copy, "at": at_ms}
                arriving.append((at_ms + lateness[event["ts"]], at_ms, {**whose, **event}))
    arriving.sort(key=lambda item: item[:2])
    return [event for _, _, event in arriving]


def batches(events: Sequence[Event], count: int, random: Random) -> Iterator[Sequence[Event]]:
    """Yield events cut at random places; some batches may be empty."""
    cuts = sorted(random.randint(0, len(events)) for _ in range(count - 1))
    for begin, end in zip([0, *cuts], [*cuts, len(events)], strict=True):
        yield events[begin:end]


def found_by_key(
    rows: Sequence[OutputRow], cases: Sequence[Case]
) -> dict[tuple[int, int], list[Found]]:
    """Return what rows say was found, by vector and copy, in order."""
    found: dict[tuple[int, int], list[Found]] = {}
    for row in rows:
        if row.kind in ("match", "timeout"):
            vector, copy = from_json(row.key or "")
            assert row.processor_id == f"v{vector:03}"
            assert row.end_ms is not None
            timeout_ms = row.end_ms - offset_ms(cases[vector]) if row.kind == "timeout" else None
            item = (row.kind, _ids(from_json(row.events or "")), timeout_ms)
            found.setdefault((vector, copy), []).append(item)
    return found


def found_by_flink(case: Case) -> list[Found]:
    """Return what a vector says: matches, then timeouts, each in Flink's order."""
    found: list[Found] = [("match", match.steps, None) for match in case.expected.matches]
    found += [("timeout", late.steps, late.timeout_ms) for late in case.expected.timed_out]
    return found


def found_in_deadline_order(case: Case) -> list[Found]:
    """Return what one matcher finds that closes windows in the order of their deadlines."""
    pattern = Pattern.from_document(case.pattern, flink_quirks=True)
    matcher = KeyedMatcher({"": pattern}, in_deadline_order=True)
    tests = [compile_predicate(node, mapping_reader, no_slots) for node in matcher.tests.nodes]
    detections = []
    try:
        for event in case.events:
            detections += matcher.advance_to(event["ts"])
            kind = matcher.kind([n for n, test in enumerate(tests) if test(event, ())])
            detections += matcher.process(None, kind, event, event["ts"])
        if case.final_watermark_ms is not None:
            detections += matcher.advance_to(case.final_watermark_ms)
    except SkipTargetMissing:
        assert case.expected.failure is Failure.ABORTED
    return [
        (
            "timeout" if found.is_timeout else "match",
            _ids(found.steps),
            found.time_ms if found.is_timeout else None,
        )
        for found in detections
    ]


@cache
def running_cases() -> list[Case]:
    """Return the vectors that are streams."""
    return [
        case
        for file in ANSWERED
        for case in load(file)
        if case.expected.failure is not Failure.REFUSED and case.id not in BACK_IN_TIME
    ]


@cache
def in_deadline_order(case_id: str) -> list[Found]:
    """Return what one matcher finds in the vector of that name."""
    (case,) = [case for case in running_cases() if case.id == case_id]
    return found_in_deadline_order(case)


def _ids(steps: Mapping[str, Sequence[Mapping[str, Any]]]) -> tuple[Any, ...]:
    return tuple(sorted((name, tuple(e["id"] for e in events)) for name, events in steps.items()))
