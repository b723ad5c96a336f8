"""Sessions shown on a page, run: of Python (`>>>`), and of a terminal (`$ percept …`)."""

import doctest
import shlex
from collections.abc import Iterator
from typing import Any

from tests.docs.fences import fences


def run_sessions(page: str) -> tuple[int, str]:
    """Run the Python sessions of a page: how many inputs, and what differs from the page."""
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    names: dict[str, Any] = {}
    report: list[str] = []
    for fence in fences(page):
        if fence.language == "pycon":
            session = parser.get_doctest(fence.text, names, fence.heading, page, fence.line)
            runner.run(session, out=report.append, clear_globs=False)
            names |= session.globs
    return runner.tries, "".join(report)


def commands(page: str) -> Iterator[tuple[list[str], str]]:
    """Yield the words of every command of a page, and the output shown below it."""
    for fence in fences(page):
        if fence.language == "console":
            command, _, output = fence.text.partition("\n")
            yield shlex.split(command.removeprefix("$ ")), output
