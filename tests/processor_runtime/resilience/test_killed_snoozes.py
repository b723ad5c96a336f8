"""Kills change nothing of what snoozes hold back: for one key or for all, prolonged, ended early.

service ──HTTP──► job, killed ──► kinds `match` and `suppressed`, compared with plain Python

A service takes snoozes that end in the future only, so all events happen from tomorrow on.
"""

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import time
from typing import Any, Final

import pytest

from api.client import Client
from cep.instants import instant_ms
from contract.snapshot import read_snapshot
from tests.processor_runtime.resilience.job_process import numbers
from tests.processor_runtime.resilience.killed_job import KilledJob
from tests.processor_runtime.resilience.pinned_batches import content, record
from tests.processor_runtime.resilience.probes import (
    BY_ADDRESS,
    PROBES,
    ids,
    rule,
    suppressed_by_address,
)
from tests.processor_runtime.resilience.service_job import OwnService
from tests.processor_runtime.resilience.ssh_auth_stream import STREAM, Change, Document, Event
from tests.processor_runtime.written_rows import KINDS, written
from tests.properties import seed

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.nightly]

SEED = seed()
KILLS = int(os.environ.get("PERCEPT_KILLS") or 1)
FILES: Final = 30
DAY_MS: Final = 86_400_000
FIRST_DAY_MS: Final = instant_ms("2014-11-30T00:00:00Z")
RULES: Final = {"plain": rule("plain"), "quiet": rule("quiet", alert=BY_ADDRESS)}
ONE_ADDRESS: Final = "67.205.20.23"
"""Probes 269 names from 8:31 to 8:47 on the first of December."""
ANOTHER_ADDRESS: Final = "218.25.17.234"
"""Probes 219 names from 13:00 to 13:15 on the second."""
EVERY_ADDRESS: Final = None

Snoozes = dict[str | None, int]
"""Until which event time, by key; of one rule."""


def snooze(address: str | None, until: str | None) -> dict[str, Document]:
    """Return the documents that snooze both rules until a time of the logs; `None` wakes them."""
    return {f"{name} {address}": {"snooze": name, "key": address, "until": until} for name in RULES}


CHANGES: Final = (
    Change(2, snooze(ONE_ADDRESS, "2014-12-01T08:40:00Z")),
    Change(8, snooze(EVERY_ADDRESS, "2014-12-02T08:05:00Z")),
    Change(9, snooze(EVERY_ADDRESS, "2014-12-02T12:40:00Z")),
    Change(13, snooze(EVERY_ADDRESS, None)),
    Change(15, snooze(ANOTHER_ADDRESS, "2014-12-02T13:08:00Z")),
)
"""One key; all keys, prolonged, ended early; another key. Each begins within two files."""


@dataclass
class SnoozingService(OwnService):
    """The service of rules that are snoozed."""

    later_ms: int = 0

    @property
    def keys(self) -> Mapping[str, Any]:
        return {"discoverer": self.discoverer, "time": {"max_future_skew": None}}

    def change(self, documents: Mapping[str, Document | None]) -> int:
        """Register the stream, publish rules, and snooze and wake them; return the newest epoch."""
        with self.client() as client:
            for document in filter(None, documents.values()):
                if "id" in document:
                    client.create(document)
                elif "snooze" in document:
                    self._snooze(client, **document)
                else:
                    client.register_stream(document)
            return client.stream(str(STREAM["name"])).epoch

    def _snooze(self, client: Client, snooze: str, key: str | None, until: str | None) -> None:
        snoozes = client.snoozes(snooze)
        if until is not None:
            snoozes.begin(key=key, until=self.time_ms(until))
        else:
            (known,) = (each for each in snoozes.list() if each.key == key)
            snoozes.end(known.number)

    def time_ms(self, instant: str) -> int:
        return instant_ms(instant) + self.later_ms


def test_snoozes_are_the_same_under_kills(tmp_path: Path) -> None:
    print(f"PERCEPT_SEED={SEED} PERCEPT_KILLS={KILLS}")  # noqa: T201 - shown if the test fails
    later_ms = (int(time() * 1_000) // DAY_MS + 1) * DAY_MS - FIRST_DAY_MS
    service = SnoozingService(tmp_path, later_ms=later_ms)
    with service.service():
        job = KilledJob(
            tmp_path,
            Random(SEED),  # noqa: S311 - no secret
            KILLS,
            {"stream": dict(STREAM), **RULES},
            CHANGES,
            [*KINDS, "suppressed"],
            service,
            FILES,
            later_ms,
        )
        job.run()
    rows = written(job.folder)
    assert {row["kind"] for row in rows} == {"match", "suppressed"}
    for name, suppressed in (("plain", snoozed_only), ("quiet", suppressed_by_address)):
        told = Told(job.checkpoint, name, later_ms)
        assert list(told.snoozes) == published(service)
        out, held = suppressed(told.is_snoozed)
        assert ids(rows, name, "match") == Counter(out)
        assert ids(rows, name, "suppressed") == Counter(held)
        check_that_all_changes_mattered(told)


def published(service: SnoozingService) -> list[Snoozes]:
    """Return the snoozes of a rule after each change."""
    now: Snoozes = {}
    found = [now]
    for change in CHANGES:
        for document in filter(None, change.rules.values()):
            now = {key: until for key, until in now.items() if key != document["key"]}
            if document["until"] is not None:
                now[document["key"]] = service.time_ms(document["until"])
        found.append(now)
    return found


class Told:
    """The snoozes of a rule as batches were told of them, and from which event time on."""

    def __init__(self, checkpoint: Path, name: str, later_ms: int) -> None:
        self.begins_ms: list[int] = []
        self.snoozes: list[Snoozes] = []
        self._later_ms = later_ms
        for number in numbers(checkpoint / "epochs"):
            pinned = record(checkpoint, number)
            snapshot = read_snapshot(content(checkpoint, pinned.snapshot))
            snoozes = {each.key: each.until_ms for each in snapshot.snoozes if each.id == name}
            if self.snoozes[-1:] != [snoozes]:
                # For the events that had not been read when the batch began.
                self.begins_ms.append(-1 if pinned.newest_ms is None else pinned.newest_ms + 1)
                self.snoozes.append(snoozes)

    def time_ms(self, probe: Event) -> int:
        return int(probe["time_ms"]) + self._later_ms

    def in_force(self, probe: Event) -> tuple[int, str | None] | None:
        """Return which of the changes snoozes a probe, and for which key."""
        time_ms = self.time_ms(probe)
        place = bisect_right(self.begins_ms, time_ms) - 1
        for key in (EVERY_ADDRESS, probe["src_ip"]):
            if time_ms < self.snoozes[place].get(key, 0):
                return place, key
        return None

    def is_snoozed(self, probe: Event) -> bool:
        return self.in_force(probe) is not None


def snoozed_only(is_snoozed: Callable[[Event], bool]) -> tuple[list[int], list[int]]:
    """Return the probes that go out, and those that are held back, of a rule without `alert`."""
    held = [each["event_id"] for each in PROBES.iter_rows(named=True) if is_snoozed(each)]
    return sorted(set(PROBES["event_id"]) - set(held)), held


def check_that_all_changes_mattered(told: Told) -> None:
    """Each snooze held something back, and something went out after its end."""
    probes = list(PROBES.iter_rows(named=True))
    held = set(map(told.in_force, probes))
    assert held >= {(1, ONE_ADDRESS), (3, EVERY_ADDRESS), (5, ANOTHER_ADDRESS)}
    went_out = [probe for probe in probes if not told.is_snoozed(probe)]
    assert {probe["src_ip"] for probe in went_out} >= {ONE_ADDRESS, ANOTHER_ADDRESS}
    begin_ms, end_ms = told.begins_ms[4], told.snoozes[3][EVERY_ADDRESS]
    assert any(begin_ms <= told.time_ms(probe) < end_ms for probe in went_out)
