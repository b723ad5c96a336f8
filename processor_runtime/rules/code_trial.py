"""Loads versions with Python code in a process of their own, before they run anywhere.

    driver ──versions──► child process: verify, unpickle, construct ──► which of them cannot run
                              └── dies, hangs ──► that one cannot; the others in another child

Loading runs whatever a module or a class does when it is defined. The driver must outlive that, and
it must know before a version takes over from one that runs. So it loads no code itself.
"""

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

from cep.expression import Schema
from cep.nfa.errors import error_message
from contract.snapshot import StreamDefinition
from processor_runtime.rows.event_block import TIME
from processor_runtime.rules.loading import RuleDefaults, has_code, load_rules
from processor_runtime.schedule.interval import Interval
from processor_runtime.schedule.listed import ListInterval, unread, value_lists
from processor_runtime.watch.code_watch import WATCH
from processor_runtime.watch.note import read_death
from processor_runtime.watch.worker_limits import WorkerLimits

_START_SECONDS: Final = 120.0
"""How long a child may take to start, on a machine that is very busy."""

Unfit = tuple[Interval, str]
"""A version that cannot run, and why."""


FindUnfit = Callable[
    [Sequence[Interval], StreamDefinition, RuleDefaults, Sequence[ListInterval]], list[Unfit]
]
"""What finds such versions among some of a stream, which has these lists."""


def unfit_here(
    intervals: Sequence[Interval],
    stream: StreamDefinition,
    defaults: RuleDefaults,
    lists: Sequence[ListInterval] = (),
) -> list[Unfit]:
    """Return the versions that cannot run, loaded in this process; see `load_rules`."""
    schema = Schema.from_ddl(stream.ddl, value_lists(lists, unread, TIME))
    _, refused = load_rules(intervals, stream, schema, defaults)
    return [
        (item.interval, f"{type(item.error).__name__}: {error_message(item.error)}")
        for item in refused
    ]


class CodeTrial:
    """Finds the versions that cannot run; those with code are loaded in child processes.

    Args:
        limits: what code may take.
    """

    def __init__(self, limits: WorkerLimits) -> None:
        self._limits = limits

    def __call__(
        self,
        intervals: Sequence[Interval],
        stream: StreamDefinition,
        defaults: RuleDefaults,
        lists: Sequence[ListInterval] = (),
    ) -> list[Unfit]:
        """Return the versions that cannot run, in order, and why.

        Raises:
            RuntimeError: no child process could be started.
        """
        reasons: dict[str, str] = {}
        coded = [item for item in intervals if has_code(item.definition)]
        while coded:
            told = self._refusals(coded, stream, defaults, lists)
            reasons |= {rule: reason for rule, reason in told.items() if reason is not None}
            coded = [item for item in coded if item.rule_id not in told]
        plain = [item for item in intervals if not has_code(item.definition)]
        unfit = unfit_here(plain, stream, defaults, lists)
        reasons |= {item.rule_id: reason for item, reason in unfit}
        return [(item, reasons[item.rule_id]) for item in intervals if item.rule_id in reasons]

    def _refusals(
        self,
        intervals: Sequence[Interval],
        stream: StreamDefinition,
        defaults: RuleDefaults,
        lists: Sequence[ListInterval],
    ) -> dict[str, str | None]:
        """Return what a child found of some versions, at least of the first one, by rule."""
        with tempfile.TemporaryDirectory(prefix="percept-") as directory:
            note = Path(directory, "note")
            work = pickle.dumps(
                (list(intervals), stream, defaults, tuple(lists), self._limits, note)
            )
            patience = _START_SECONDS + len(intervals) * (self._limits.call_seconds + 5)
            ending, answers = _run_child(work, patience)
            told = dict(_answers(answers))
            if len(told) < len(intervals):
                death = note.read_text(encoding="utf-8", errors="replace") if note.exists() else ""
                if not death:
                    raise RuntimeError(f"code of rules cannot be tried: the process {ending}")
                reason = read_death(death, self._limits.call_seconds).reason
                why = reason or f"the process that loaded it {ending}"
                told[intervals[len(told)].rule_id] = f"CodeRefused: its code, loaded: {why}"
        return told


def _run_child(work: bytes, patience_seconds: float) -> tuple[str, bytes]:
    """Run a child; return how it ended, in words, and its answers."""
    # What code needs to be loaded is where this process finds it.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    child = subprocess.Popen(  # noqa: S603 - this module
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        process_group=0,  # Ctrl-C on a terminal is for the driver
    )
    try:
        answers, _ = child.communicate(work, patience_seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        answers, _ = child.communicate()
    code = child.returncode
    return (f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"), answers


def _answers(data: bytes) -> Iterator[tuple[str, str | None]]:
    for line in data.decode("utf-8", errors="replace").splitlines():
        rule, reason = json.loads(line)
        yield rule, reason


def _child(work: IO[bytes], answers: IO[str]) -> None:
    """Load versions one by one, and answer for each that has been loaded or refused."""
    content: Any = pickle.load(work)  # noqa: S301 - from the parent
    intervals, stream, defaults, lists, limits, note = content
    WATCH.start(note, limits)
    for interval in intervals:
        unfit = unfit_here([interval], stream, defaults, lists)
        reason = next((why for _, why in unfit), None)
        answers.write(json.dumps([interval.rule_id, reason]) + "\n")
        answers.flush()
    # Whatever threads code has begun end here, too.
    os._exit(0)


def _main() -> None:
    # What code prints is no answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _child(sys.stdin.buffer, answers)


if __name__ == "__main__":
    _main()
