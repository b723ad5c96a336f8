"""What a job must find, from the intervals of its rules and all its events, without the job.

    intervals, events in order ──one KeyedMatcher each──► matches and timeouts, to compare with rows

Each interval is matched by itself, over the whole stream at once: no batches, no state, no shards.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from cep.expression import Schema, row_reader
from cep.keyed.matcher import KeyedMatcher
from cep.keyed.predicate_index import PredicateIndex
from cep.keyed.shapes import Detection, EventKind
from cep.pattern import Pattern
from processor_runtime.schedule.interval import Interval
from tests.processor_runtime.written_rows import Row, Steps, ids_by_step

Found = tuple[str, str, str, tuple[Any, ...], int, Steps]
"""Kind, processor, version, key, when it was found, and ids of the events by step."""


def expected(
    found: Iterable[Interval], events: pl.DataFrame, schema: Schema, end_ms: int
) -> Counter[Found]:
    """Return what the rules of some intervals find."""
    return Counter(
        row for interval in found for row in _found_by_one(interval, events, schema, end_ms)
    )


def found_in(rows: Iterable[Row]) -> Counter[Found]:
    """Return what rows of a job say was found."""
    return Counter(
        (
            row["kind"],
            row["processor_id"],
            str(row["version"]),
            tuple(row["key"]),
            row["end_ms"],
            ids_by_step(row),
        )
        for row in rows
    )


def without_versions(found: Mapping[Found, int]) -> Counter[Found]:
    """Return what was found by whichever version."""
    counts: Counter[Found] = Counter()
    for (kind, processor_id, _, *rest), count in found.items():
        counts[kind, processor_id, "", *rest] += count  # type: ignore[index] # mypy: star of a tuple
    return counts


def _found_by_one(
    interval: Interval, events: pl.DataFrame, schema: Schema, end_ms: int
) -> Iterable[Found]:
    columns = [name for name, _ in schema.columns]
    pattern = Pattern.from_document(interval.definition["pattern"]).validate(schema)
    matcher = KeyedMatcher(
        {"rule": pattern}, field_reader=row_reader(columns), schema=schema, in_deadline_order=True
    )
    index = PredicateIndex(matcher.tests.nodes, schema)
    key_by = interval.definition.get("key_by") or []
    begin_ms, until_ms = interval.active_from_ms, interval.active_until_ms
    in_time = events.filter(pl.col("time_ms").is_between(begin_ms, until_ms, closed="left"))
    detections = _process(matcher, index, in_time, (columns, key_by), starts=True)
    if interval.drains:
        after = events.filter(pl.col("time_ms") >= until_ms)
        detections += _process(matcher, index, after, (columns, key_by), starts=False)
    detections += matcher.advance_to(end_ms if interval.drains else min(until_ms, end_ms))
    place = columns.index("event_id")
    for each in detections:
        yield (
            "timeout" if each.is_timeout else "match",
            interval.processor_id,
            str(interval.version),
            tuple(each.key) if isinstance(each.key, tuple) else (),
            each.time_ms,
            tuple(
                (step, tuple(event[place] for event in taken))
                for step, taken in each.steps.items()
                if taken
            ),
        )


def _process(
    matcher: KeyedMatcher,
    index: PredicateIndex,
    events: pl.DataFrame,
    columns_and_key: tuple[Sequence[str], Sequence[str]],
    *,
    starts: bool,
) -> list[Detection]:
    columns, key_by = columns_and_key
    starting = matcher.all_rules if starts else matcher.select([])
    kinds: dict[tuple[int, ...], EventKind] = {}

    def kind(true_tests: tuple[int, ...]) -> EventKind:
        if true_tests not in kinds:
            kinds[true_tests] = matcher.kind(true_tests, starting)
        return kinds[true_tests]

    rows, distinct, kind_numbers = index.classify(events, kind)
    relevant = events[rows]
    keys = relevant.select(key_by).rows() if key_by else [()] * len(relevant)
    detections: list[Detection] = []
    for time_ms, key, row_kind, event in zip(
        relevant["time_ms"].to_list(),
        keys,
        [distinct[number] for number in kind_numbers],
        relevant.select(columns).rows(),
        strict=True,
    ):
        detections += matcher.advance_to(time_ms)
        detections += matcher.process(key, row_kind, event, time_ms)
    return detections
