"""Chooses the versions to report in the next heartbeat, so that each heartbeat is small.

    all running versions ──► VersionReport.next_part ──► heartbeat ──► answer ──► acknowledge

New versions and new states go first, then versions with changed counters, those reported longest
ago first. Versions that no longer run are reported as superseded, and again only if their counters
change. A part without an answer may have arrived or not, so its versions are sent again with their
state at that time.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from contract.reports import VERSIONS_PER_HEARTBEAT, HeartbeatAnswer, RunningVersion

BYTES_PER_HEARTBEAT: Final = 1_000_000

_Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class ReportPart:
    """Three fields of a heartbeat that belong together."""

    versions: list[RunningVersion]
    held_versions: int | None
    replaces_all: bool


class VersionReport:
    """Keeps what one instance of a job has reported to the service; used by one thread."""

    def __init__(
        self,
        versions_per_heartbeat: int = VERSIONS_PER_HEARTBEAT,
        bytes_per_heartbeat: int = BYTES_PER_HEARTBEAT,
    ) -> None:
        self._most_versions = versions_per_heartbeat
        self._most_bytes = bytes_per_heartbeat
        self._told: dict[_Key, RunningVersion] = {}
        self._told_in: dict[_Key, int] = {}
        self._unanswered: dict[_Key, RunningVersion] = {}
        self._part = 0
        self._replaces_all = True

    def next_part(self, running: Iterable[RunningVersion]) -> ReportPart:
        """Return what to report next, given all versions that run now.

        Args:
            running: every version that runs, and those that have ended, as superseded. Versions
                given before and left out now are reported with their last known numbers.
        """
        given = {_key(version): version for version in running}
        now = {key: version for key, version in given.items() if version.state != "superseded"}
        urgent = list(self._ended(given))
        urgent += [version for version in now.values() if self._is_urgent(version)]
        counted = [
            version
            for key, version in now.items()
            if not self._is_urgent(version) and self._told[key] != version
        ]
        counted.sort(key=lambda version: self._told_in[_key(version)])
        versions = list(self._fitting(urgent + counted))
        self._unanswered |= {_key(version): version for version in versions}
        is_whole = len(versions) >= len(urgent)
        return ReportPart(versions, len(now) if is_whole else None, self._replaces_all)

    def acknowledge(self, part: ReportPart, answer: HeartbeatAnswer) -> None:
        """Note that a part has arrived; call it only after an answer."""
        self._part += 1
        self._replaces_all = False
        for version in part.versions:
            key = _key(version)
            self._unanswered.pop(key, None)
            self._told[key] = version
            self._told_in[key] = self._part
        if answer.resend_all:
            self._told.clear()
            self._told_in.clear()
            self._replaces_all = True

    def _ended(self, given: Mapping[_Key, RunningVersion]) -> Iterator[RunningVersion]:
        """Yield versions known to the service that no longer run, if there is news of them."""
        for key, known in (self._told | self._unanswered).items():
            last = given.get(key)
            if last is not None and last.state != "superseded":
                continue
            ended = known.model_copy(update={"state": "superseded", "partial_matches": 0})
            if last is not None:
                counted = {
                    "counters": last.counters,
                    "last_match_ms": last.last_match_ms,
                    "steps": last.steps,
                }
                ended = ended.model_copy(update=counted)
            if key in self._unanswered or ended != self._told[key]:
                yield ended
            elif last is None:
                del self._told[key], self._told_in[key]

    def _is_urgent(self, version: RunningVersion) -> bool:
        key = _key(version)
        told = self._told.get(key)
        return told is None or told.state != version.state or key in self._unanswered

    def _fitting(self, versions: Iterable[RunningVersion]) -> Iterator[RunningVersion]:
        total_bytes = 0
        for number, version in enumerate(versions):
            total_bytes += len(version.model_dump_json())
            if number == self._most_versions or (number and total_bytes > self._most_bytes):
                return
            yield version


def _key(version: RunningVersion) -> _Key:
    return version.processor_id, version.version
