"""Finds the version whose code makes the workers of a batch die, by what they tell, or by trial.

    worker died ──whose code was at work?──► the culprit
                └──nobody's──► trials of the batch with part of the code ──► the culprit · nobody

A worker that is killed from outside dies with somebody's code at work as well. So a version is to
blame if the worker was ended because of it, or has died twice with it at work. Where nothing is
told, as when code has damaged a worker that dies later, or an executor is lost with it, the batch
is tried with half of the versions with code, then with a quarter, and so on. One that began late
lets the batch be run again, a few times.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from processor_runtime.schedule.timeline import VersionKey
from processor_runtime.watch.note import Death

_DEATHS: Final = 2
_LATE_TRIES: Final = 5


class NobodyToBlame(Exception):
    """Workers die without any rule's doing, as far as can be found out."""


@dataclass(frozen=True, slots=True)
class Culprit:
    """A version to blame, and why."""

    version: VersionKey
    reason: str


@dataclass(slots=True)
class CulpritSearch:
    """What is known of the batch that fails now; about one batch at a time."""

    _batch_id: int | None = None
    _deaths: Counter[VersionKey] = field(default_factory=Counter)
    _unexplained: int = 0
    _late: int = 0
    _all: tuple[VersionKey, ...] = ()
    _suspects: tuple[VersionKey, ...] = ()
    _running: tuple[VersionKey, ...] | None = None

    @property
    def left_out(self) -> frozenset[VersionKey] | None:
        """What the next try is to run without; `None` if it is no trial, but the batch itself."""
        return None if self._running is None else frozenset(self._all) - set(self._running)

    def died(self, batch_id: int, death: Death, with_code: Sequence[VersionKey]) -> Culprit | None:
        """Take the death of a worker; return the culprit, `None` if another try is to tell.

        `with_code`: the versions that the batch runs with and that hold Python code.

        Raises:
            NobodyToBlame: no version is to blame.
        """
        if batch_id != self._batch_id:
            self._begin(batch_id)
        code = death.code
        if code is not None and code.version_key in with_code:
            self._deaths[code.version_key] += 1
            if death.reason is not None or self._deaths[code.version_key] >= _DEATHS:
                self._begin(batch_id)
                what = death.reason or "the Python worker died with it at work"
                return Culprit(code.version_key, f"{code.what}: {what}")
            if self._running is None:
                return None
        if self._running is not None:
            return self._died_in_trial(self._running)
        self._unexplained += 1
        if self._unexplained >= _DEATHS:
            if not with_code:
                raise NobodyToBlame
            self._all = self._suspects = tuple(with_code)
            self._running = ()
        return None

    def began_late(self, batch_id: int) -> None:
        """Take that a worker did not begin in time, which is no rule's doing.

        Raises:
            NobodyToBlame: it is so again and again.
        """
        if batch_id != self._batch_id:
            self._begin(batch_id)
        self._late += 1
        if self._late >= _LATE_TRIES:
            raise NobodyToBlame

    def passed(self) -> None:
        """Take that a trial went well.

        Raises:
            NobodyToBlame: all versions have had their turn.
        """
        running = self._running or ()
        self._suspects = tuple(each for each in self._suspects if each not in running)
        if not self._suspects:
            raise NobodyToBlame
        self._try_half()

    def _died_in_trial(self, running: tuple[VersionKey, ...]) -> Culprit | None:
        if not running:
            raise NobodyToBlame
        if len(running) == 1:
            self._begin(self._batch_id)
            return Culprit(running[0], "Python workers die where its code runs, and only there")
        self._suspects = running
        self._try_half()
        return None

    def _try_half(self) -> None:
        self._running = self._suspects[: max(1, len(self._suspects) // 2)]

    def _begin(self, batch_id: int | None) -> None:
        self._batch_id = batch_id
        self._deaths.clear()
        self._unexplained = self._late = 0
        self._all = self._suspects = ()
        self._running = None
