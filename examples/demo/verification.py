"""Compares the matches of the job with those of the pattern core, version by version.

rows of the job + events + story ──► VersionCheck per version
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cep.instants import instant_ms
from examples.demo.events import STREAM, Event
from examples.demo.job import Row
from examples.demo.story import Span
from percept import find_matches

_Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class VersionCheck:
    """The expected matches of a version, and how many of these and others it found."""

    rule_id: str
    version: int
    expected: int
    found: int
    is_same: bool
    """Exactly the same matches, by their events."""


def check_versions(
    rows: Sequence[Row], events: Sequence[Event], spans: Iterable[Span], watermark_ms: int
) -> list[VersionCheck]:
    """Compare what the job found with what the core finds in the same events without a job.

    Args:
        rows: what the job has written.
        events: all that were fed.
        spans: when each version should run.
        watermark_ms: the watermark of the job.
    """
    expected: dict[_Key, Counter[frozenset[int]]] = {}
    for span in spans:
        matches = expected.setdefault((span.rule.id, span.version), Counter())
        matches.update(_found_offline(span, events, watermark_ms))
    found: dict[_Key, Counter[frozenset[int]]] = {key: Counter() for key in expected}
    for row in rows:
        if row["kind"] == "match":
            key = (row["processor_id"], row["version"])
            found.setdefault(key, Counter())[_event_ids(row["events"])] += 1
    return [
        VersionCheck(
            *key,
            expected=expected.get(key, Counter()).total(),
            found=found[key].total(),
            is_same=found[key] == expected.get(key, Counter()),
        )
        for key in sorted(found)
    ]


def _found_offline(
    span: Span, events: Sequence[Event], watermark_ms: int
) -> Iterable[frozenset[int]]:
    from_ms = span.from_ms or 0
    until_ms = watermark_ms + 1 if span.until_ms is None else span.until_ms
    seen = [event for event in events if from_ms <= instant_ms(event["ts"]) < until_ms]
    result = find_matches(
        span.rule.alone,
        seen,
        key_by=span.rule.key_by,
        time_field=str(STREAM["event_time_column"]),
        final_watermark_ms=until_ms - 1,
        warn=False,  # in a short span no event may have a field
    )
    return (_event_ids(match.steps) for match in result.matches)


def _event_ids(steps: Mapping[str, Sequence[Event]]) -> frozenset[int]:
    return frozenset(event["event_id"] for taken in steps.values() for event in taken)
