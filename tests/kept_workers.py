"""Workers that try rules, kept from test to test: to start one takes longer than most tests do.

    service or command ends ──its idle workers──► kept ──► the next one with the same limits

They are the same processes, and end when the process of the tests does. Tests of how they begin and
end go without (`own_workers`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

import pytest

from api.trials import processes
from api.trials.processes import TrialProcesses

_MOST: Final = 3
"""As many as a service of the tests uses at once, mostly."""
_kept: defaultdict[Any, list[Any]] = defaultdict(list)
_start, _close = TrialProcesses._started, TrialProcesses.close


def _kind(of: TrialProcesses) -> Any:
    """Return what all workers that may stand for each other have alike."""
    return of._seconds, of._megabytes, tuple(processes._search_path())


def _started(self: TrialProcesses) -> Any:
    kept = [] if self._is_closed else _kept[_kind(self)]
    while kept:
        worker = kept.pop()
        if worker.is_alive:
            self._workers.add(worker)
            return worker
        worker.end()
    return _start(self)


def _closed(self: TrialProcesses) -> None:
    kept = _kept[_kind(self)]
    with self._lock:
        while self._idle and len(kept) < _MOST:
            worker = self._idle.pop()
            self._workers.discard(worker)
            kept.append(worker)
    _close(self)


@contextmanager
def kept_workers() -> Iterator[None]:
    """Keep workers while this lasts; then end them."""
    with _beginning_and_ending(_started, _closed):
        yield
    while _kept:
        _, workers = _kept.popitem()
        for worker in workers:
            worker.end()


def own_workers() -> AbstractContextManager[None]:
    """Have workers begin and end as they do without tests, while this lasts."""
    return _beginning_and_ending(_start, _close)


@contextmanager
def _beginning_and_ending(
    start: Callable[[TrialProcesses], Any], close: Callable[[TrialProcesses], None]
) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrialProcesses, "_started", start)
        patch.setattr(TrialProcesses, "close", close)
        yield
