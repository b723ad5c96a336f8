"""Kills change neither what lists decide nor what suppression, groups and budgets hold back.

files of the source ──► job, killed ──► rows of every kind, compared with a few lines of Python
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

import pytest

from processor_runtime.schedule.listed import ListInterval
from processor_runtime.schedule.timeline_document import read_timeline
from tests.processor_runtime.resilience.job_process import numbers
from tests.processor_runtime.resilience.killed_job import KilledJob
from tests.processor_runtime.resilience.pinned_batches import content, record
from tests.processor_runtime.resilience.probes import (
    BY_ADDRESS,
    PROBES,
    ids,
    no_snooze,
    rule,
    suppressed_by_address,
)
from tests.processor_runtime.resilience.ssh_auth_stream import Change, Document
from tests.processor_runtime.written_rows import KINDS, Row, written
from tests.properties import seed

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.nightly]

SEED = seed()
KILLS: Final = 2
WINDOW_MS: Final = 3_600_000
BUDGET: Final = 5
ADDRESSES: Final = sorted(PROBES["src_ip"].unique())


def watched(*addresses: str) -> Document:
    return {"list": "watched", "stream": "ssh_auth", "values": list(addresses)}


AT_FIRST: Final = {
    "watched": watched(*ADDRESSES[::2]),
    "listed": rule("listed", " AND src_ip IN LIST('watched')"),
    "quiet": rule("quiet", alert=BY_ADDRESS),
    "throttled": rule("throttled", alert={"budget": {"at_most": BUDGET, "for": "1 hour"}}),
    "grouped": rule("grouped", key_by=["user"], alert={"group": {"by": ["ip"], "for": "1 hour"}}),
}
CHANGES: Final = (
    Change(15, {"watched": watched(*ADDRESSES[1::2])}),
    Change(35, {"watched": watched(*ADDRESSES[::3])}),
)


def test_lists_and_alerts_are_the_same_under_kills(tmp_path: Path) -> None:
    print(f"PERCEPT_SEED={SEED}")  # noqa: T201 - shown if the test fails
    kinds = [*KINDS, "suppressed", "grouped", "group"]
    random = Random(SEED)  # noqa: S311 - no secret
    job = KilledJob(tmp_path, random, KILLS, AT_FIRST, CHANGES, kinds)
    job.run()
    rows = written(job.folder)
    assert not {row["kind"] for row in rows} & {"late", "error"}

    versions = list_versions(job.checkpoint)
    assert len(versions) == 1 + len(CHANGES)
    assert ids(rows, "listed", "match") == Counter(expected_of_list(versions))
    assert ids(rows, "listed", "match").keys() != set(PROBES["event_id"])
    out, held = suppressed_by_address(no_snooze)
    assert ids(rows, "quiet", "match") == Counter(out)
    assert ids(rows, "quiet", "suppressed") == Counter(held)
    check_budget([row for row in rows if row["processor_id"] == "throttled"])
    check_groups([row for row in rows if row["processor_id"] == "grouped"])


def list_versions(checkpoint: Path) -> list[ListInterval]:
    """Return the versions of the list by when they began to count, as the job has pinned them."""
    found: dict[int, ListInterval] = {}
    for number in numbers(checkpoint / "epochs"):
        timeline, _ = read_timeline(content(checkpoint, record(checkpoint, number).timeline))
        found |= {interval.from_ms: interval for interval in timeline.lists}
    return [found[from_ms] for from_ms in sorted(found)]


def expected_of_list(versions: list[ListInterval]) -> Iterator[int]:
    """Yield the probes whose address was on the list at their time."""
    begins = [version.from_ms for version in versions]
    values = [AT_FIRST["watched"], *(change.rules["watched"] for change in CHANGES)]
    contents = [set(one["values"]) for one in values if one is not None]
    for event in PROBES.iter_rows(named=True):
        if event["src_ip"] in contents[bisect_right(begins, event["time_ms"]) - 1]:
            yield event["event_id"]


def check_budget(rows: list[Row]) -> None:
    """In each hour the first go out, of all keys; at one instant ids decide, as documented."""
    time_ms = {event["event_id"]: event["time_ms"] for event in PROBES.iter_rows(named=True)}
    assert Counter(row["output"]["event_id"] for row in rows) == Counter(time_ms.keys())
    windows: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
    for row in rows:
        at_ms = time_ms[row["output"]["event_id"]]
        windows[at_ms // WINDOW_MS].append((at_ms, row["match_id"], row["kind"]))
    kinds = [[kind for *_, kind in sorted(found)] for found in windows.values()]
    assert any(len(found) > BUDGET for found in kinds)
    for found in kinds:
        beyond = max(len(found) - BUDGET, 0)
        assert found == ["match"] * (len(found) - beyond) + ["suppressed"] * beyond


def check_groups(rows: list[Row]) -> None:
    """Each group has one match, the others grouped, and one row that says how many there were."""
    of = {event["event_id"]: event for event in PROBES.iter_rows(named=True)}
    sizes = Counter(
        (event["src_ip"], event["time_ms"] // WINDOW_MS * WINDOW_MS) for event in of.values()
    )

    def group_of(row: Row) -> tuple[str, int]:
        event = of[row["output"]["event_id"]]
        return event["src_ip"], event["time_ms"] // WINDOW_MS * WINDOW_MS

    by_kind = {
        kind: Counter(group_of(row) for row in rows if row["kind"] == kind)
        for kind in ("match", "grouped")
    }
    assert by_kind["match"] == Counter(sizes.keys())
    assert by_kind["grouped"] == sizes - Counter(sizes.keys())
    told = [row["output"] for row in rows if row["kind"] == "group"]
    assert Counter((one["group"]["ip"], one["from_ms"], one["matches"]) for one in told) == Counter(
        (ip, from_ms, size) for (ip, from_ms), size in sizes.items() if size > 1
    )
    seen = {row["output"]["event_id"] for row in rows if row["kind"] in by_kind}
    assert seen == of.keys()
