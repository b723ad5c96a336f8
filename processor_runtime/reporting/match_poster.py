"""Posts recent matches and groups to the rule service from a thread: bounded, never blocking.

    offer ──► queue (rows and bytes bounded; the oldest are dropped) ──► posts of at most 500

A match is added once per id, and its content may be reported again, so that a post without an
answer is simply sent again. What the service does not take in time is lost: this is best effort.
"""

import logging
import threading
from collections import deque
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import quote

from contract.problem_text import first_line
from contract.reports import MATCHES_PER_POST, MatchReceipt, ReportedGroup, ReportedMatch
from discoverers.background_thread import BackgroundThread, FailuresInARow
from discoverers.clock import SYSTEM_CLOCK, Backoff, Clock
from processor_runtime.reporting.rule_service import RuleService, ServiceRefused

QUEUE_BYTES: Final = 64_000_000
BYTES_PER_POST: Final = 1_000_000

_REFUSED_FOR_GOOD: Final = frozenset(
    {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY}
)

_log = logging.getLogger("percept.reporting")


class _Waiting(NamedTuple):
    encoded: bytes
    is_group: bool


class MatchPoster(BackgroundThread):
    """Posts matches of one job; a context manager that starts and ends the thread.

    `queue_rows`: how many may be queued; beyond that the oldest are dropped.
    """

    def __init__(  # noqa: PLR0913 - what tests put in has a default
        self,
        service: RuleService,
        stream: str,
        job: str,
        *,
        queue_rows: int = 10_000,
        clock: Clock = SYSTEM_CLOCK,
        backoff: Backoff | None = None,
    ) -> None:
        super().__init__("percept-matches")
        self._service = service
        self._path = f"/v1/streams/{quote(stream, safe='')}/matches"
        self._job = job
        self._queue_rows = queue_rows
        self._clock = clock
        self._failures = FailuresInARow(
            _log, "the rule service takes no matches", backoff or Backoff()
        )
        self._queue: deque[_Waiting] = deque()
        self._queue_bytes = 0
        self._lock = threading.Lock()
        self._offered = threading.Event()
        self._dropped = 0

    @property
    def dropped(self) -> int:
        """How many matches were dropped: the queue was full, or the service refused them."""
        return self._dropped

    @property
    def waiting(self) -> int:
        """How many matches are queued."""
        return len(self._queue)

    def offer(self, rows: Iterable[ReportedMatch | ReportedGroup]) -> None:
        """Queue matches and groups, oldest first; never blocks. What does not fit is dropped."""
        added = [
            _Waiting(row.model_dump_json().encode(), isinstance(row, ReportedGroup)) for row in rows
        ]
        with self._lock:
            self._queue.extend(added)
            self._queue_bytes += sum(len(each.encoded) for each in added)
            overflowed = 0
            while len(self._queue) > self._queue_rows or self._queue_bytes > QUEUE_BYTES:
                self._queue_bytes -= len(self._queue.popleft().encoded)
                overflowed += 1
            self._note_dropped(overflowed, "too many wait for the rule service")
        self._offered.set()

    def count_dropped(self, matches: int, reason: str) -> None:
        """Count matches that were dropped before they were offered."""
        with self._lock:
            self._note_dropped(matches, reason)

    def request_end(self) -> None:
        """End posting; queued matches are sent if the service accepts them in time."""
        self._offered.set()

    def _run(self) -> None:
        part: list[_Waiting] = []
        while True:
            try:
                while part := self._next_part():
                    self._post(part)
                    self._failures.succeeded()
            except Exception as error:  # noqa: BLE001 - whatever happens here, the job runs on
                if self._closing.is_set():
                    return
                self._put_back(part)
                self._clock.wait(self._closing, self._failures.failed(error))
                continue
            if self._closing.is_set():
                return
            self._offered.wait()
            self._offered.clear()

    def _next_part(self) -> list[_Waiting]:
        part: list[_Waiting] = []
        part_bytes = 0
        with self._lock:
            while self._queue and len(part) < MATCHES_PER_POST:
                part_bytes += len(self._queue[0].encoded) + 1
                if part and part_bytes > BYTES_PER_POST:
                    break
                part.append(self._queue.popleft())
            self._queue_bytes -= sum(len(each.encoded) for each in part)
        return part

    def _post(self, part: list[_Waiting]) -> None:
        """Post matches and groups; those that the service rejects permanently are dropped.

        Raises:
            ServiceRefused: it accepts none at the moment.
        """
        matches = b",".join(each.encoded for each in part if not each.is_group)
        groups = b",".join(each.encoded for each in part if each.is_group)
        told = (self._job.encode(), matches, groups)
        body = b'{"job":"%b","matches":[%b],"groups":[%b]}' % told
        try:
            self._service.ask("POST", self._path, MatchReceipt, body)
        except ServiceRefused as refused:
            if refused.status not in _REFUSED_FOR_GOOD:
                raise
            if len(part) == 1:
                self.count_dropped(1, first_line(refused))
                return
            # One rejected match must not cause the others to be dropped.
            middle = len(part) // 2
            self._post(part[:middle])
            self._post(part[middle:])

    def _put_back(self, part: list[_Waiting]) -> None:
        """Queue matches again that were not posted."""
        with self._lock:
            # Matches queued meanwhile are newer: they are kept if there is not room for all.
            while part and (
                len(self._queue) < self._queue_rows
                and self._queue_bytes + len(part[-1].encoded) <= QUEUE_BYTES
            ):
                self._queue.appendleft(part.pop())
                self._queue_bytes += len(self._queue[0].encoded)
            self._note_dropped(len(part), "too many wait for the rule service")

    def _note_dropped(self, matches: int, reason: str) -> None:
        before = self._dropped
        self._dropped += matches
        # Logged for the first, and then whenever the number has grown tenfold.
        if matches and (not before or len(str(self._dropped)) > len(str(before))):
            _log.warning(
                "%d recent matches in all are not shown in the rule service: %s; outputs other "
                "than the service have them",
                self._dropped,
                reason,
            )
