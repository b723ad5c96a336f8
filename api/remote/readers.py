"""Who reads the output of a command that does not end by itself, and when they have gone.

Such a command notices a closed pipe only when it writes next, which may be in hours; a shell waits
for it until then.
"""

import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import typer

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C has ended: 128 and the number of the signal."""


@contextmanager
def until_interrupted() -> Iterator[None]:
    """Run a block until it ends, Ctrl-C ends it or nobody reads its output any more.

    Raises:
        Exit: with code 130 after Ctrl-C, with 0 if nobody reads.
    """
    is_gone = threading.Event()
    if hasattr(select, "poll") and hasattr(signal, "pthread_kill"):
        threading.Thread(target=_watch, args=(is_gone,), daemon=True).start()
    try:
        yield
    except BaseException as error:
        ended = _what_ended(error)
        if ended is None:
            raise
        if is_gone.is_set() or isinstance(ended, BrokenPipeError):
            _write_to_nobody()
            raise typer.Exit(0) from None
        raise typer.Exit(INTERRUPTED) from None


def _what_ended(error: BaseException | None) -> BaseException | None:
    """Return the interrupt behind an error: Pydantic tells one within it as an error of its own."""
    while error is not None and not isinstance(error, KeyboardInterrupt | BrokenPipeError):
        error = error.__cause__
    return error


def _watch(is_gone: threading.Event) -> None:
    """Interrupt the main thread once the other end of a pipe is closed."""
    try:
        output = sys.stdout.fileno()
    except (OSError, ValueError):  # it is no file
        return
    watched = select.poll()
    watched.register(output, 0)  # an error is always told
    if any(event & (select.POLLERR | select.POLLHUP) for _, event in watched.poll()):
        is_gone.set()
        main = threading.main_thread().ident
        assert main is not None  # noqa: S101 - it has been started
        signal.pthread_kill(main, signal.SIGINT)


def _write_to_nobody() -> None:
    """Let what is still buffered go nowhere, which Python would complain of when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
