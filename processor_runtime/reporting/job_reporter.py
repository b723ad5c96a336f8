"""Registers one start of a job with the rule service and reports its status, from a thread.

    register ──► heartbeat ──► … ──► heartbeat ──► stop
       ▲             │ 404: the service does not know the job any more
       └─────────────┤
                     │ 409: another instance reports for the job ──► on_superseded
                     └ no answer: pause, growing up to 30 s; only the newest status is kept

docs/jobs.md explains what is reported and how often.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from math import inf
from types import TracebackType
from typing import Any, Final, TypeVar
from urllib.parse import quote

from pydantic import BaseModel

from contract.asked_keys import AskedKey, KeyAnswers, KeyAnswersReceipt
from contract.problem_text import first_line
from contract.report_parts import VersionReport
from contract.reports import HeartbeatAnswer, JobRegistration, JobStop, OutputReport, RegisteredJob
from discoverers.background_thread import BackgroundThread, FailuresInARow
from discoverers.clock import SYSTEM_CLOCK, Backoff, Clock
from discoverers.health import DiscovererHealth
from processor_runtime.driver.job_status import JobStatus
from processor_runtime.reporting.heartbeats import heartbeat, running_version
from processor_runtime.reporting.rule_service import RuleService, ServiceRefused

# Between the parts of a report that does not fit into one heartbeat, and after a change of epoch.
_SOON_SECONDS: Final = 0.2
# Somebody looks at a key and waits.
_ASKED_SECONDS: Final = 1.0
# After an outage everything is reported again, so that unanswered reports cannot pile up.
_FORGETTING_FAILURES: Final = 3

Answer = TypeVar("Answer", bound=BaseModel)

_log = logging.getLogger("percept.reporting")


@dataclass(frozen=True, slots=True)
class ReportingJob:
    """Identifies a job: its stream, its name there, this instance, and properties for operators."""

    stream: str
    name: str
    instance_id: str
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The path at which it registers."""
        return f"{self.siblings_path}/{quote(self.name, safe='')}"

    @property
    def siblings_path(self) -> str:
        """The path that lists the jobs of its stream."""
        return f"/v1/streams/{quote(self.stream, safe='')}/jobs"


class _Superseded(Exception):
    """Another instance reports for the job, or it was stopped; the message says which."""


class _ListedJob(BaseModel):
    name: str
    instance_id: str
    state: str


class JobReporter(BackgroundThread):
    """Reports a job; a context manager that starts and ends the thread.

    `discovery`: gives the status of the source of processors, for each heartbeat.
    `failing_outputs`: gives the outputs that cannot be written, likewise. `on_superseded`: called
    once, from the reporting thread, when another instance of the job has taken over and this one
    should stop; receives the reason.
    """

    def __init__(  # noqa: PLR0913 - what tests put in has a default
        self,
        service: RuleService,
        job: ReportingJob,
        on_superseded: Callable[[str], None],
        *,
        discovery: Callable[[], DiscovererHealth] = DiscovererHealth,
        failing_outputs: Callable[[], Sequence[OutputReport]] = tuple,
        clock: Clock = SYSTEM_CLOCK,
        backoff: Backoff | None = None,
    ) -> None:
        super().__init__("percept-reporter")
        self._service = service
        self._job = job
        self._on_superseded = on_superseded
        self._discovery = discovery
        self._failing_outputs = failing_outputs
        self._clock = clock
        self._failures = FailuresInARow(
            _log, "the rule service takes no reports", backoff or Backoff()
        )
        self._status: JobStatus | None = None
        self._batch_began: float | None = None
        self._registered: RegisteredJob | None = None
        self._versions = VersionReport()
        self._sequence = 0
        self._asked: tuple[AskedKey, ...] = ()
        self._answered_batch: int | None = None
        self._wake = threading.Event()
        self._announces_stop = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # A job that fails reports its last status and no stop: that it is silent raises the alarm.
        self._announces_stop = not isinstance(error, Exception)
        self.close()

    def update(self, status: JobStatus) -> None:
        """Set the current status without blocking. Only the newest status is reported."""
        before = self._status
        self._status, self._batch_began = status, None
        if before is None or before.epoch != status.epoch or status.answers:
            self._wake.set()

    @property
    def asked(self) -> tuple[AskedKey, ...]:
        """The keys that somebody asked about when the service last answered."""
        return self._asked

    def batch_begins(self) -> None:
        """Note that a batch begins, which lasts until the next status; does not block."""
        self._batch_began = time.monotonic()

    def _batch_running_ms(self) -> int | None:
        began = self._batch_began
        return None if began is None else round((time.monotonic() - began) * 1_000)

    @property
    def consecutive_failures(self) -> int:
        """How many requests in a row have failed; 0 = the service knows the newest report."""
        return self._failures.count

    def request_end(self) -> None:
        """Send the last report now."""
        self._wake.set()

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                pause_seconds = self._report()
            except _Superseded as superseded:
                self._end_superseded(str(superseded))
                return
            except Exception as error:  # noqa: BLE001 - whatever happens here, the job runs on
                if not self._closing.is_set():  # else it is not tried again
                    self._clock.wait(self._closing, self._failed(error))
            else:
                self._failures.succeeded()
                self._clock.wait(self._wake, pause_seconds)
                self._wake.clear()
        self._report_end()

    def _report(self) -> float:
        """Send a report; return how many seconds to wait before the next one."""
        registered = self._registered
        if registered is None:
            registered = self._register()
        status = self._status
        if status is None:  # no batch has run yet; a heartbeat would say that the job runs
            return registered.heartbeat_seconds
        try:
            is_whole = self._send_heartbeat(registered, status)
        except ServiceRefused as refused:
            if refused.status == HTTPStatus.NOT_FOUND:
                self._registered = None  # unknown to the service: the next try registers again
            raise
        self._send_answers(registered, status)
        if not is_whole:
            return _SOON_SECONDS
        return min(registered.heartbeat_seconds, _ASKED_SECONDS if self._asked else inf)

    def _register(self) -> RegisteredJob:
        registration = JobRegistration(
            instance_id=self._job.instance_id, properties=dict(self._job.properties)
        )
        registered = self._ask("PUT", self._job.path, RegisteredJob, registration)
        self._versions = VersionReport(registered.versions_per_heartbeat)
        self._registered = registered
        return registered

    def _send_heartbeat(self, registered: RegisteredJob, status: JobStatus) -> bool:
        """Return whether the service now knows the state of every version."""
        part = self._versions.next_part(running_version(each) for each in status.versions)
        self._sequence += 1
        now = replace(
            status,
            batch_running_ms=self._batch_running_ms(),
            failing_outputs=tuple(self._failing_outputs()),
        )
        answer = self._ask(
            "POST",
            f"/v1/jobs/{registered.id}/heartbeats",
            HeartbeatAnswer,
            heartbeat(now, part, self._job.instance_id, self._sequence, self._discovery()),
        )
        self._versions.acknowledge(part, answer)
        self._asked = tuple(answer.asked_keys)
        return part.held_versions is not None

    def _send_answers(self, registered: RegisteredJob, status: JobStatus) -> None:
        """Tell of the keys that are asked about, once for each batch."""
        if not status.answers or status.batch_id == self._answered_batch:
            return
        answers = KeyAnswers(instance_id=self._job.instance_id, answers=list(status.answers))
        path = f"/v1/jobs/{registered.id}/key-answers"
        try:
            self._ask("POST", path, KeyAnswersReceipt, answers)
        except ServiceRefused as refused:
            if refused.status != HTTPStatus.UNPROCESSABLE_ENTITY:
                raise
            _log.warning("the rule service does not take what was asked of keys: %s", refused)
        self._answered_batch = status.batch_id

    def _ask(self, method: str, path: str, answer: type[Answer], body: BaseModel) -> Answer:
        try:
            return self._service.ask(method, path, answer, body)
        except ServiceRefused as refused:
            if refused.status == HTTPStatus.CONFLICT:
                self._check_not_superseded()
            raise

    def _check_not_superseded(self) -> None:
        """Check why there was a conflict; a limit of the service is no reason to stop.

        Raises:
            _Superseded: another instance reports for the job.
        """
        listed = self._service.ask("GET", self._job.siblings_path, list[_ListedJob])
        for each in listed:
            if each.name != self._job.name:
                continue
            if each.instance_id != self._job.instance_id:
                raise _Superseded(
                    f"the instance {each.instance_id} of job '{each.name}' has taken over"
                )
            if each.state == "stopped":
                raise _Superseded(f"the rule service has job '{each.name}' as stopped")

    def _end_superseded(self, reason: str) -> None:
        if self._closing.is_set():
            return
        _log.warning("%s; this instance stops", reason)
        try:
            self._on_superseded(reason)
        except Exception:  # noqa: BLE001 - it is the job's, and this is the end of the thread
            _log.exception("the job could not be informed that it is superseded")

    def _failed(self, error: Exception) -> float:
        """Note a failure; return how long to wait before the next report."""
        wait_seconds = self._failures.failed(error)
        if self._failures.count >= _FORGETTING_FAILURES and self._registered is not None:
            self._versions = VersionReport(self._registered.versions_per_heartbeat)
        return wait_seconds

    def _report_end(self) -> None:
        """Report the last status and the stop, each once; a service that is down is not awaited."""
        if self._registered is None:
            return
        try:
            if self._status is not None:
                self._send_heartbeat(self._registered, self._status)
            if self._announces_stop:
                self._service.ask(
                    "POST",
                    f"/v1/jobs/{self._registered.id}/stop",
                    dict[str, Any],
                    JobStop(instance_id=self._job.instance_id, reason="stopped"),
                )
        except Exception as error:  # noqa: BLE001 - the job has stopped, whoever knows of it
            _log.warning(
                "the end of the job could not be reported to the rule service: %s",
                first_line(error),
            )
