"""What the faults have shown, at the end of a run: of each kind, and of all, tried and wrong.

reports of tests marked `faults` ──write_summary──► lines of the terminal
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import pytest

_OUTCOMES: Final = ("passed", "failed", "error", "skipped")


def write_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write what was measured, the numbers by file, and the sum; nothing if no fault was tried."""
    reports = [
        report
        for outcome in _OUTCOMES
        for report in terminalreporter.stats.get(outcome, ())
        if isinstance(report, pytest.TestReport) and "faults" in report.keywords
    ]
    if reports:
        terminalreporter.section("faults")
        for line in _lines(reports):
            terminalreporter.write_line(line)


def _lines(reports: list[Any]) -> Iterator[str]:
    tried, wrong, skipped = Counter[str](), Counter[str](), Counter[str]()
    for report in sorted(reports, key=lambda each: each.nodeid):
        place, _, test = report.nodeid.partition("::")
        name = place.rpartition("/")[2]
        if report.skipped:
            skipped[name] += 1
            yield f"{test}: not tried: {report.longrepr[2]}"
        else:
            # A fixture that fails is an error of its own, with or without one of the test.
            tried[name] += report.when in {"setup", "call"}
            wrong[name] += report.failed
        for what, value in report.user_properties if report.when == "call" else ():
            yield f"{test}: {what} {value}"
    for name in sorted(tried | skipped):
        left_out = f", {skipped[name]} not tried" if skipped[name] else ""
        yield f"{name}: {tried[name]} tried / {wrong[name]} wrong{left_out}"
    left_out = f", {skipped.total()} not tried" if skipped else ""
    yield f"{tried.total()} tried / {wrong.total()} wrong{left_out}"
