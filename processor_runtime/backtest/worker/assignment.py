"""One backtest in a process of its own, which can be ended at any moment.

Assignment ──begin──► process: read the archive, run, report ──► Progress, Reported or Failed

A rule that takes all memory or never ends takes its process with it, not the worker.
"""

import multiprocessing
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Final

from cep.definition.keys import key_text
from cep.events.table import UnreadableEvents
from cep.pattern import PatternError
from cep.signing.keys import SigningKeys
from cep.trials.key_history import BadQuestion, BeyondReading
from cep.trials.misfits import Unfit
from cep.trials.reports import SpanReport
from contract.backtests import BacktestReport, BacktestTask
from discoverers.found import DocumentRefused, found_version
from processor_runtime.backtest.backtesting import Scored, run_backtest
from processor_runtime.backtest.given_lists import NO_LISTS, GivenLists
from processor_runtime.backtest.history import TooManyEvents, read_history
from processor_runtime.backtest.labels import Labels
from processor_runtime.backtest.reporting import report_of
from processor_runtime.backtest.rules import NothingToRun, ReadyRules, ready
from processor_runtime.backtest.worker.archives import Archive, BadArchive
from processor_runtime.backtest.worker.explaining import asked_rule, explanation
from processor_runtime.backtest.worker.fitting import fitting
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.watch.worker_limits import limit_memory

_TELL_SECONDS: Final = 0.5
_BYTES_PER_MB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Assignment:
    """A task, the events and lists for it, and what it may take."""

    task: BacktestTask
    archive: Archive
    most_events: int
    memory_mb: int | None
    signing_keys: SigningKeys | None
    lists: GivenLists = NO_LISTS


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is; `total` counts the events of both versions."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Reported:
    """What it has found."""

    report: BacktestReport | SpanReport


@dataclass(frozen=True, slots=True)
class Failed:
    """Why it has not found anything."""

    error: str


def begin(assignment: Assignment) -> tuple[BaseProcess, Connection]:
    """Start the process of an assignment.

    Returns:
        The process, and where it tells of itself: any number of `Progress`, then `Reported` or
        `Failed`. If it is ended before, the connection just ends.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(assignment, there), daemon=True)
    process.start()
    there.close()  # so that the end of the process is the end of the connection
    return process, here


def _run(assignment: Assignment, told: Connection) -> None:
    if assignment.memory_mb is not None:
        limit_memory(assignment.memory_mb * _BYTES_PER_MB)
    try:
        told.send(Reported(_outcome(assignment, told)))
    except (NothingToRun, UnreadableEvents, TooManyEvents, BadArchive, DocumentRefused) as error:
        told.send(Failed(f"{error}"))
    except (BadQuestion, BeyondReading, PatternError) as error:
        told.send(Failed(f"{error}"))
    except Unfit as unfit:
        told.send(Failed("\n".join(each.detail for each in unfit.misfits)))
    except MemoryError:
        told.send(
            Failed("It takes more memory than the worker gives a backtest: shorten the time.")
        )


def _outcome(assignment: Assignment, told: Connection) -> BacktestReport | SpanReport:
    task = assignment.task
    if task.question is None:
        return _report(assignment, told)
    rule = asked_rule(task, assignment.lists, assignment.signing_keys)
    files = assignment.archive.files()
    return explanation(task, task.question, rule, files, assignment.most_events)


def _report(assignment: Assignment, told: Connection) -> BacktestReport:
    task = assignment.task
    defaults = RuleDefaults(assignment.signing_keys)
    run = _ready(assignment, task.document, defaults)
    against = None if task.against is None else _ready(assignment, task.against, defaults)
    history = read_history(
        assignment.archive.files(),
        task.stream,
        task.from_ms,
        task.until_ms,
        most_events=assignment.most_events,
    )
    total = len(history) * (1 if against is None else 2)
    teller = _Teller(told, total)
    result = run_backtest(
        run,
        history,
        against=against,
        scored=Scored(_labels(task)) if task.labels else None,
        closes_windows=task.closes_windows,
        on_events=teller.more,
    )
    return fitting(report_of(result, run.problems))


def _ready(
    assignment: Assignment, document: dict[str, object], defaults: RuleDefaults
) -> ReadyRules:
    stream = assignment.task.stream
    return ready([found_version(document, "the rule")], stream, defaults, assignment.lists)


def _labels(task: BacktestTask) -> Labels:
    labels = Labels(is_complete=task.labels_are_complete)
    rule = str(task.document["id"])
    for each in task.labels:
        place = rule, key_text(each.key), each.start_ms, each.end_ms
        labels.add(each.match_id, place, is_true=each.is_true)
    return labels


class _Teller:
    """Tells how far it is, not more often than somebody looks."""

    def __init__(self, told: Connection, total: int) -> None:
        self._told = told
        self._total = total
        self._done = 0
        self._next = 0.0

    def more(self, events: int) -> None:
        self._done += events
        if (now := time.monotonic()) >= self._next:
            self._next = now + _TELL_SECONDS
            self._told.send(Progress(self._done, self._total))
