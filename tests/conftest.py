"""What holds for all tests: markers, Hypothesis times nothing, conformance totals are printed."""

import atexit
import gc
import time
from collections.abc import Generator, Iterator
from math import inf
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings

from tests.conformance.outcome import Agreement
from tests.conformance.totals import Verdict, table
from tests.example_count import example_count
from tests.faults.summary import write_summary
from tests.kept_workers import kept_workers
from tests.one_spark import OneSparkScheduling
from tests.turns import turn
from tests.variants import are_left_out, is_slow, variants

# How long an example takes says how busy the machine is. Half of the usual number of examples: each
# run on a developer's machine tries others, and properties are nearly half of what tests take.
settings.register_profile(
    "untimed",
    settings.default,
    deadline=None,
    max_examples=example_count(50),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("untimed")

_HERE = Path(__file__).parent
_BEGAN: Final = time.monotonic()
_VARIANTS: Final = pytest.StashKey[set[str]]()
MARKERS = (
    "spark: needs Java, and seconds to start a local Spark",
    "pages: needs Chromium, and seconds for each page: make test-pages",
    "long: takes minutes (old checkpoints, the demo), or varies a shorter test: make test-long",
    "faults: breaks what a service or a job stands on, on purpose, or kills it: make test-faults",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--one-spark", action="store_true", help="run tests that need Spark in one process"
    )
    parser.addoption(
        "--one-variant-in",
        type=int,
        default=1,
        metavar="N",
        help="of the variants of other tests run one in so many",
    )
    parser.addoption(
        "--variants-by", default="", metavar="TEXT", help="another text chooses other variants"
    )
    parser.addoption(
        "--variants-for-minutes",
        type=float,
        default=inf,
        metavar="N",
        help="skip the variants that have not begun by then, and say how many they are",
    )
    parser.addoption(
        "--long-for-minutes",
        type=float,
        default=inf,
        metavar="N",
        help="skip what is long or of faults and has not begun by then; the text decides which do",
    )


@pytest.fixture(scope="session", autouse=True)
def _kept_workers() -> Iterator[None]:
    with kept_workers():
        yield


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneSparkScheduling | None:
    """Return what gives tests to processes; `None` leaves it to `--dist`."""
    return OneSparkScheduling(config, log) if config.getoption("one_spark") else None


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage neither while tests are collected nor, later, among what was collected.

    Sixteen thousand tests and all modules stay to the end; to look through them again and again
    takes as long as collecting them does.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        atexit.register(gc.unfreeze)  # some libraries tell what is still held when a process ends


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests of pages, leave out what is not asked for, and put the rest in order."""
    for item in items:
        if isinstance(item, pytest.Function) and "browser" in item.fixturenames:
            item.add_marker("pages")
            # Their service, in a thread, ends while a browser still opens connections to it.
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))
    one_in, text = config.getoption("one_variant_in"), config.getoption("variants_by")
    if left_out := are_left_out(items, one_in, text):
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]
    config.stash[_VARIANTS] = {item.nodeid for item in variants(items, text)}
    items.sort(key=lambda item: turn(item, config.stash[_VARIANTS], text))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what there is no time left for."""
    over = (time.monotonic() - _BEGAN) / 60
    minutes: float = item.config.getoption("variants_for_minutes")
    if over > minutes and item.nodeid in item.config.stash[_VARIANTS]:
        pytest.skip(f"a variant, and {minutes:g} minutes are over")
    minutes = item.config.getoption("long_for_minutes")
    if over > minutes and is_slow(item):
        pytest.skip(f"a long test or one of faults, and {minutes:g} minutes are over")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report a test that a fixture skips at the place of the skip: one line for all of them."""
    report = yield
    if report.skipped and call.excinfo is not None and isinstance(report.longrepr, tuple):
        places = [entry for entry in call.excinfo.traceback if _HERE in Path(entry.path).parents]
        if places:
            reason = report.longrepr[2].partition("\n")[0]
            report.longrepr = (str(places[-1].path), places[-1].lineno + 1, reason)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    write_summary(terminalreporter)
    properties = [
        dict(report.user_properties)
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
    ]
    verdicts = [
        Verdict(
            str(found["file"]), Agreement(int(str(found["agreement"]))), bool(found["counts_agree"])
        )
        for found in properties
        if "agreement" in found
    ]
    if verdicts:
        terminalreporter.section("conformance to Flink CEP 2.3.0")
        for line in sorted(table(verdicts)):
            terminalreporter.write_line(line)
