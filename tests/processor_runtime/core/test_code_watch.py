"""A process that dies in a rule's code has said whose it was; one that hangs there ends itself."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cep.signing.code import CodeUse, sign
from percept import Pattern
from processor_runtime.rules.code_trial import CodeTrial
from processor_runtime.rules.loading import has_code
from processor_runtime.schedule.interval import BEGINNING_MS, END_MS, Interval
from processor_runtime.watch.code_watch import CodeCall, CodeEnded
from processor_runtime.watch.note import Death, RuleCode, page_text, read_death
from processor_runtime.watch.worker_limits import WorkerLimits, machine_memory_bytes
from tests.letters import sequence, stream
from tests.processor_runtime.core.code_signing import KEY, KEYS, WITH_KEYS

SECONDS = 1.0
CODE = RuleCode("p-1", 7, "abc", "the condition f")
PROGRAM = f"""
import os, re, signal, sys, time
from pathlib import Path
from processor_runtime.watch.code_watch import WATCH, CodeCall
from processor_runtime.watch.note import RuleCode
from processor_runtime.watch.worker_limits import WorkerLimits

WATCH.start(Path(sys.argv[1]), WorkerLimits({SECONDS}, 600))
call = CodeCall({CODE!r})
other = CodeCall(RuleCode("another-one-with-a-longer-name", 1, "d", "its process function"))
kept = []
with other:
    pass
"""


def run(body: str, folder: Path) -> tuple[int, Death]:
    """Run a program in a process of its own; return its exit code and what is read of its death."""
    path = folder / "note"
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", PROGRAM + body, str(path)],
        check=False,
        timeout=300,
        stderr=subprocess.DEVNULL,
    )
    return done.returncode, read_death(path.read_text(encoding="utf-8"), SECONDS)


OVERDUE = Death(CODE, "it did not return within 1 seconds")
TOO_MUCH = Death(CODE, "it took more memory than a worker may have (600 MB)")
CATCHES = "with call:\n while True:\n  try: sys.exit()\n  except BaseException: pass"
TOO_LARGE = "try:\n with call: bytes(10**12)\nexcept MemoryError: os._exit(42)"
SHORT_CALLS = (
    "for _ in range(75):\n with call: time.sleep(0.02)\n"
    "time.sleep(3)\nwith other: time.sleep(0.02)\nos._exit(42)"
)
ENDINGS = {
    "exit": ("with call: os._exit(3)", 3, Death(CODE)),
    "kill": ("with call: os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, Death(CODE)),
    "crash": ("with call: os.abort()", -signal.SIGABRT, Death(CODE)),
    "loop": ("with call:\n while True: pass", 1, OVERDUE),
    "sleep": ("with call: time.sleep(1_000)", 1, OVERDUE),
    "holds the interpreter": ("with call: re.match('(a|aa)+$', 'a' * 200 + 'b')", 1, OVERDUE),
    "catches everything": (CATCHES, 1, OVERDUE),
    "takes memory": ("with call:\n while True: kept.append(bytes(10_000_000))", 1, TOO_MUCH),
    "dies elsewhere": ("with call: pass\nos._exit(3)", 3, Death()),
    "a single thing that is too large": (TOO_LARGE, 42, Death()),
    "many short calls and a long rest": (SHORT_CALLS, 42, Death()),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", ENDINGS)
def test_a_process_that_dies_has_said_in_whose_code_it_was(kind: str, tmp_path: Path) -> None:
    body, exit_code, death = ENDINGS[kind]
    assert run(body, tmp_path) == (exit_code, death)


@pytest.mark.parametrize("error", [SystemExit(4), KeyboardInterrupt(), GeneratorExit()])
def test_whatever_code_raises_is_an_exception(error: BaseException) -> None:
    with pytest.raises(CodeEnded, match=type(error).__name__), CodeCall(CODE):
        raise error
    with pytest.raises(ZeroDivisionError), CodeCall(CODE):
        _ = 1 / 0


def test_a_note_is_one_line_of_ascii_however_long_and_odd_its_text_is() -> None:
    code = RuleCode("x" * 200, 10**9, "d" * 16, "é\n\ud800" * 10_000)
    text = page_text(code).decode("ascii")
    assert len(text) < 2_000
    assert text.count("\n") == 1
    found = read_death(f"said before +{text} and after", SECONDS).code
    assert found is not None
    assert found.processor_id == code.processor_id
    assert code.what.startswith(found.what)


def test_a_worker_gets_half_of_the_memory_if_nobody_says_how_much() -> None:
    assert WorkerLimits().memory_bytes == machine_memory_bytes() // 2
    assert 0 < machine_memory_bytes() < 1 << 50
    assert WorkerLimits(memory_mb=5).memory_bytes == 5 << 20


# Loading


class When:
    """Does something when it is loaded."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.function = function
        self.arguments = arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.function, self.arguments


def coded(name: str, code: Any) -> Interval:
    pattern = sequence("ab")
    pattern["steps"][1]["where"] = {"python": sign(code, KEY, CodeUse.CONDITION).to_document()}
    return interval(name, pattern)


def interval(name: str, pattern: dict[str, Any]) -> Interval:
    return Interval(name, 1, BEGINNING_MS, END_MS, name, {"pattern": pattern, "key_by": ["user"]})


@pytest.mark.long
def test_code_that_dies_or_hangs_while_it_is_loaded_is_refused_and_nothing_else() -> None:
    versions = [
        interval("plain", sequence("ab")),
        interval("plain-and-wrong", sequence("ab") | {"steps": [{"name": "a", "where": "no = 1"}]}),
        coded("good", max),
        coded("exits", When(os._exit, 3)),
        coded("kills", When(signal.raise_signal, signal.SIGKILL)),
        coded("hangs", When(eval, "any(False for _ in iter(int, 1))")),
        coded("fills", When(eval, "[bytes(10_000_000) for _ in iter(int, 1)]")),
        coded("quits", When(sys.exit, 4)),
        coded("prints", When(print, '["good", "no"]')),
        coded("good-too", max),
    ]
    trial = CodeTrial(WorkerLimits(3.0, 600))
    told = {item.processor_id: reason for item, reason in trial(versions, stream(), WITH_KEYS)}
    assert list(told) == ["plain-and-wrong", "exits", "kills", "hangs", "fills", "quits", "prints"]
    assert "ended with code 3" in told["exits"]
    assert "ended by signal 9" in told["kills"]
    assert "did not return within 3 seconds" in told["hangs"]
    assert "MemoryError" in told["fills"]
    assert "SystemExit: 4" in told["quits"]
    assert "is no callable" in told["prints"]


def test_a_pattern_is_seen_to_hold_code_wherever_it_is() -> None:
    inside = Pattern.begin("a").where("name = 'a'").where(max).sign_code(KEYS)
    assert has_code({"pattern": inside.to_document()})
    assert has_code({"pattern": sequence("ab"), "function": {}})
    assert not has_code({"pattern": sequence("ab"), "function": None, "select": {"python": "1"}})
