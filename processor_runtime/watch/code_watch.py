"""Notes every call of a rule's code in this process, and ends the process where one hangs.

    with CodeCall(code): … ──► note of whose code is at work ──► read when the process has died
                          └──► clock ──too long──► the process ends, the note says why

Two clocks look: a thread, which cannot run while code of C holds the interpreter, and after it the
timer of `faulthandler`, which needs no interpreter. Both cost nothing per call.
"""

import faulthandler
import math
import mmap
import os
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NoReturn

from cep.nfa.errors import error_message
from processor_runtime.watch.note import (
    AT_REST,
    AT_WORK,
    PAGE_BYTES,
    RuleCode,
    empty_page,
    overdue,
    page_text,
    reason_text,
)
from processor_runtime.watch.worker_limits import WorkerLimits, data_bytes, limit_memory

_LONGEST_TICK_SECONDS: Final = 1.0
_LEAST_ROOM_BYTES: Final = 64 << 20
"""A process that wanted more memory and has less left than this is not used any further."""


class CodeEnded(Exception):
    """Code of a rule raised what is no `Exception`, such as `SystemExit`; says what."""


class CodeWatch:
    """Watches over the code of rules in one process; there is one, `WATCH`.

    Until it is started it notes calls for nobody and ends nothing.
    """

    def __init__(self) -> None:
        self._page: bytearray | mmap.mmap = bytearray(empty_page())
        self._noted: CodeCall | None = None
        self._began: float | None = None
        self._armed_until = math.inf
        self._limits = WorkerLimits()
        self._log: Any = None
        self._thread: threading.Thread | None = None

    def start(self, path: Path | None, limits: WorkerLimits) -> None:
        """Watch over this process from now on; may be repeated with other limits.

        `path`: the file for notes, which the parent of this process reads when it has died; `None`
        if nobody does.
        """
        self._limits = limits
        limit_memory(limits.memory_bytes)
        if self._thread is not None:
            return
        if path is not None:
            self._open(path)
        self._armed_until = 0.0
        self._thread = threading.Thread(target=self._look, name="percept-watch", daemon=True)
        self._thread.start()

    def _open(self, path: Path) -> None:
        # Opened for good: the process writes to it until it ends.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.pwrite(descriptor, empty_page(), 0)
        self._page = mmap.mmap(descriptor, PAGE_BYTES)
        self._log = os.fdopen(descriptor, "r+", encoding="utf-8")
        self._log.seek(PAGE_BYTES)
        # What Python says of a crash must not be written over the note.
        faulthandler.enable(self._log)

    def enter(self, call: "CodeCall") -> None:
        """Take note that code is at work, and begin to count the time."""
        if call is not self._noted:
            text = call.text
            self._page[1 : 1 + len(text)] = text
            self._noted = call
        self._began = now = time.monotonic()
        self._page[0] = AT_WORK
        if now >= self._armed_until:
            self._arm(now)

    def leave(self) -> None:
        """Take note that code has returned."""
        self._page[0] = AT_REST
        self._began = None

    def end_if_full(self) -> None:
        """End the process if code has left it no memory: the next code to run would fail for it."""
        limit_bytes = self._limits.memory_bytes
        if self._thread is not None and limit_bytes - data_bytes() < _LEAST_ROOM_BYTES:
            self._end(f"it took more memory than a worker may have ({limit_bytes >> 20:,} MB)")

    def _arm(self, now: float) -> None:
        """Set the timer that needs no interpreter, late enough for calls that begin soon."""
        tick = self._tick_seconds
        after_seconds = self._limits.call_seconds + 2 * tick
        if self._log is not None:
            faulthandler.dump_traceback_later(after_seconds, exit=True, file=self._log)
        else:
            faulthandler.dump_traceback_later(after_seconds, exit=True)
        self._armed_until = now + tick

    def _look(self) -> None:
        while True:
            time.sleep(self._tick_seconds)
            began = self._began
            if began is not None:
                if time.monotonic() - began > self._limits.call_seconds:
                    self._end(overdue(self._limits.call_seconds))
            elif self._armed_until:
                self._armed_until = 0.0
                faulthandler.cancel_dump_traceback_later()
                if self._began is not None:
                    self._arm(time.monotonic())

    @property
    def _tick_seconds(self) -> float:
        return min(_LONGEST_TICK_SECONDS, self._limits.call_seconds / 4)

    def _end(self, reason: str) -> NoReturn:
        if self._log is not None:
            self._log.write(reason_text(reason))
            self._log.flush()
            faulthandler.dump_traceback(self._log)
        os._exit(1)


WATCH: Final = CodeWatch()


class CodeCall:
    """One piece of code of a rule; a context manager, entered for every call of it.

    Whatever the code raises that is no `Exception` comes out as `CodeEnded`.
    """

    __slots__ = ("text",)

    def __init__(self, code: RuleCode) -> None:
        self.text = page_text(code)

    def __enter__(self) -> None:
        WATCH.enter(self)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        ended = None
        try:
            if error is not None:
                if _is_of_memory(error):
                    WATCH.end_if_full()
                ended = None if isinstance(error, Exception) else CodeEnded(_ending(error))
        finally:
            WATCH.leave()
        if ended is not None:
            raise ended from error


def _ending(error: BaseException) -> str:
    """Return what code raised that is no `Exception`."""
    said = error_message(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _is_of_memory(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__
    return False
