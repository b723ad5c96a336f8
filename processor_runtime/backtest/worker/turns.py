"""The worker: takes one backtest after the other, tells how far it is, and what was found.

RuleService ──claim──► task ──assignment──► process ──Progress──► progress ─┐
      ▲─────────────── outcome ◄──Reported, Failed, or a limit ◄────────┘
"""

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final
from urllib.parse import quote

from pydantic import BaseModel, RootModel
from pydantic_core import to_json

from cep.definition.given_lists import GivenList
from cep.list_content import list_digest
from cep.printable import counted
from cep.signing.keys import SigningKeys
from cep.trials.reports import SpanReport
from contract.backtests import (
    ERROR_LENGTH,
    BacktestClaim,
    BacktestGoesOn,
    BacktestOutcome,
    BacktestProgress,
    BacktestRelease,
    BacktestTask,
    BacktestTurn,
    KnownList,
)
from discoverers.clock import Backoff
from processor_runtime.backtest.given_lists import known_lists
from processor_runtime.backtest.worker.archives import Archive
from processor_runtime.backtest.worker.assignment import (
    Assignment,
    Failed,
    Progress,
    Reported,
    begin,
)
from processor_runtime.reporting.rule_service import Answer, RuleService, ServiceRefused

_log = logging.getLogger("percept.work")

_TELL_SECONDS: Final = 2.0
_BACKOFF: Final = Backoff(first_seconds=1.0)
_GIVE_UP_SECONDS: Final = 600.0
_CONFLICT: Final = 409
_NOT_OF_THE_OUTCOME: Final = frozenset({401, 403})


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """What one backtest may take."""

    seconds: float = 900.0
    most_events: int = 5_000_000
    memory_mb: int | None = None


class ListValues(RootModel[list[str] | list[int]]):
    """The content of a list; dates are texts."""


class _Stopped(Exception):
    """The worker is to stop."""


@dataclass(slots=True)
class Worker:
    """Runs the backtests of the streams whose archives it has.

    `archives`: by stream. `signing_keys`: that Python code in rules is signed with; without any it
    does not run. `stop`: set when it is to stop; the backtest under way is then given to another
    one.
    """

    service: RuleService
    name: str
    archives: Mapping[str, Archive]
    limits: WorkLimits
    signing_keys: SigningKeys | None
    stop: threading.Event

    def run(self, *, until_idle: bool, pause_seconds: float = 2.0) -> int:
        """Run backtests until stopped, or until none waits; return how many there were.

        Raises:
            ServiceRefused: the token or the names are not accepted.
        """
        count = 0
        try:
            while not self.stop.is_set():
                if (task := self._claim()) is not None:
                    self._turn(task)
                    count += 1
                elif until_idle:
                    break
                else:
                    self.stop.wait(pause_seconds)
        except _Stopped:
            pass
        return count

    def _claim(self) -> BacktestTask | None:
        asked = BacktestClaim(worker=self.name, streams=sorted(self.archives))
        return self._asked("/v1/backtests/workers/claim", BacktestTurn, asked).task

    def _turn(self, task: BacktestTask) -> None:
        rule = task.document.get("id")
        _log.info("backtest %d of %s: begun", task.number, rule)
        try:
            self._run(task)
        except _Stopped:
            self._release(task)
            raise

    def _release(self, task: BacktestTask) -> None:
        """Give a backtest back, so that another worker need not wait until this turn runs out."""
        given_back = BacktestRelease(worker=self.name, attempt=task.attempt)
        try:
            self.service.ask("POST", f"{_path(task)}/release", dict[str, Any], given_back)
        except ServiceRefused as refused:
            _log.warning("backtest %d: not given back: %s", task.number, refused)
        else:
            _log.info("backtest %d: given back", task.number)

    def _run(self, task: BacktestTask) -> None:
        began = time.monotonic()
        outcome = self._outcome(task)
        if outcome is None:
            _log.info("backtest %d: cancelled, or given to another worker", task.number)
            return
        seconds = time.monotonic() - began
        _log.info("backtest %d: %s, after %.1f s", task.number, _said(outcome), seconds)
        refused = self._refusal(task, outcome)
        if refused is not None and outcome.report is not None and refused.status != _CONFLICT:
            failed = Failed(f"The service does not take what it has found: {refused}")
            self._refusal(task, self._ended(task, failed))

    def _refusal(self, task: BacktestTask, outcome: BacktestOutcome) -> ServiceRefused | None:
        """Send how a backtest has ended; return why the service does not take it, if it does not.

        Raises:
            ServiceRefused: it takes nothing of this worker, or was away for ten minutes.
            _Stopped: the worker is to stop.
        """
        try:
            self._asked(f"{_path(task)}/outcome", dict[str, Any], outcome)
        except ServiceRefused as refused:
            if refused.status in _NOT_OF_THE_OUTCOME or _is_away(refused):
                raise
            _log.warning("backtest %d: %s", task.number, refused)
            return refused
        return None

    def _outcome(self, task: BacktestTask) -> BacktestOutcome | None:
        """Run a backtest; return how it ended, `None` if it is not to go on."""
        limits = self.limits
        try:
            given = self._lists(task)
        except ServiceRefused as refused:
            return self._ended(task, Failed(f"A list that it names cannot be read: {refused}"))
        if given is None:
            return None
        assignment = Assignment(
            task,
            self.archives[task.stream.name],
            limits.most_events,
            limits.memory_mb,
            self.signing_keys,
            known_lists(given),
        )
        process, told = begin(assignment)
        try:
            ended = self._followed(task, told)
            if ended is None:
                return None
        except EOFError:
            ended = _death(process)
        finally:
            process.kill()
            process.join()
            told.close()
        return self._ended(task, ended)

    def _ended(self, task: BacktestTask, ended: Reported | Failed) -> BacktestOutcome:
        return BacktestOutcome(
            worker=self.name,
            attempt=task.attempt,
            report=None if isinstance(ended, Failed) else ended.report,
            error=ended.error[:ERROR_LENGTH] if isinstance(ended, Failed) else "",
        )

    def _lists(self, task: BacktestTask) -> list[GivenList] | None:
        """Return the lists that a task names, `None` if it is not to go on.

        Each may have a million values, so that the turn is told of before each of them.

        Raises:
            ServiceRefused: one of them cannot be read.
            _Stopped: the worker is to stop.
        """
        given = []
        for each in task.lists:
            if self.stop.is_set():
                raise _Stopped
            if not self._goes_on(task, Progress(0, 0)):
                return None
            given.append(GivenList(each.name, each.data_type, self._content(task, each)))
        return given

    def _content(self, task: BacktestTask, named: KnownList) -> bytes:
        stream = quote(task.stream.name, safe="")
        path = f"/v1/streams/{stream}/lists/contents/{named.digest}"
        content = to_json(self._asked(path, ListValues, None, method="GET").root)
        if list_digest(content) != named.digest:
            raise ServiceRefused(f"{path} answered with something else than that content")
        return content

    def _followed(self, task: BacktestTask, told: Connection) -> Reported | Failed | None:
        """Tell the service how far a backtest is, until it has ended.

        Raises:
            EOFError: its process died.
            _Stopped: the worker is to stop.
        """
        ends_at = time.monotonic() + self.limits.seconds
        tell_at, how_far = 0.0, Progress(0, 0)
        while (now := time.monotonic()) < ends_at:
            if self.stop.is_set():
                raise _Stopped
            if now >= tell_at:
                tell_at = now + _TELL_SECONDS
                if not self._goes_on(task, how_far):
                    return None
            if told.poll(min(_TELL_SECONDS / 4, ends_at - now)):
                said = told.recv()
                if not isinstance(said, Progress):
                    return said  # type: ignore[no-any-return] # what `assignment` sends
                how_far = said
        limit = f"{self.limits.seconds:g} seconds"
        return Failed(f"It takes longer than {limit}: shorten the time, or narrow the rule.")

    def _goes_on(self, task: BacktestTask, how_far: Progress) -> bool:
        progress = BacktestProgress(
            worker=self.name,
            attempt=task.attempt,
            events_done=how_far.done,
            events_total=how_far.total,
        )
        try:
            answer = self.service.ask("POST", f"{_path(task)}/progress", BacktestGoesOn, progress)
        except ServiceRefused as refused:
            _log.warning("%s", refused)
            return True  # its turn goes on for a minute silently
        return answer.goes_on

    def _asked(
        self, path: str, answer: type[Answer], body: BaseModel | None, *, method: str = "POST"
    ) -> Answer:
        """Return an answer, asking again while the service is away.

        Raises:
            ServiceRefused: it refuses, or was away for ten minutes.
            _Stopped: the worker is to stop.
        """
        failures, gives_up_at = 0, time.monotonic() + _GIVE_UP_SECONDS
        while True:
            try:
                return self.service.ask(method, path, answer, body)
            except ServiceRefused as refused:
                if not _is_away(refused) or time.monotonic() > gives_up_at:
                    raise
                failures += 1
                pause_seconds = max(_BACKOFF.seconds(failures), refused.retry_after_seconds)
                _log.warning("%s; asking again in %.0f s", refused, pause_seconds)
            if self.stop.wait(pause_seconds):
                raise _Stopped


def _is_away(refused: ServiceRefused) -> bool:
    return refused.status in {0, 429} or refused.status >= 500  # noqa: PLR2004


def _path(task: BacktestTask) -> str:
    return f"/v1/backtests/{task.number}"


def _said(outcome: BacktestOutcome) -> str:
    if outcome.report is None:
        return outcome.error
    if isinstance(outcome.report, SpanReport):
        return f"{counted(outcome.report.match_count, 'match', 'matches')} of one key"
    return counted(sum(rule.matches for rule in outcome.report.rules), "match", "matches")


def _death(process: BaseProcess) -> Failed:
    process.join()
    code = process.exitcode or 0
    how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
    return Failed(
        f"Its process {how}: perhaps it takes more memory than there is. Shorten the time."
    )
