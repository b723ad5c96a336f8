"""Chooses what of the running versions goes into the next heartbeat, so that each stays small.

    all running versions ──► VersionReport.next_part ──► heartbeat ──► answer ──► VersionReport.told

New versions and new states go first; of those whose counters alone have changed, the ones that were
told longest ago. Versions that run no more are told as superseded, and again only if something was
counted for them since. What was sent without an answer may have arrived or not, so it is sent again
as it is by then.
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
    """Remembers what the service was told by one instance of a job; belongs to one thread."""

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
        """Return what to tell next, given everything that runs now.

        Args:
            running: every version that runs, and those that have ended, as superseded. Of versions
                that it was told before and that are left out, it tells the last numbers it knows.
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

    def told(self, part: ReportPart, answer: HeartbeatAnswer) -> None:
        """Take note that a part has arrived; call it only with an answer in hand."""
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
        """Yield versions the service knows of that run no more, as far as there is news of them."""
        for key, known in (self._told | self._unanswered).items():
            last = given.get(key)
            if last is not None and last.state != "superseded":
                continue
            ended = known.model_copy(update={"state": "superseded", "partial_matches": 0})
            if last is not None:
                counted = {"counters": last.counters, "last_match_ms": last.last_match_ms}
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
