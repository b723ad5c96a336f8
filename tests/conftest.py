"""What holds for all tests: markers, the profile of properties, which tests share a process."""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.faults.summary import write_summary
from tests.kept_workers import kept_workers
from tests.properties import load_gate

MARKERS: Final = (
    "spark: needs Java, and seconds to start a local Spark",
    "pages: needs Chromium, and seconds for each page: make test-pages",
    "long: takes many seconds: make test-long",
    "faults: breaks what a service or a job stands on, on purpose, or kills it: make test-faults",
    "nightly: beside any of these, too long for each commit: make nightly",
)
load_gate()


@pytest.fixture(scope="session", autouse=True)
def _kept_workers() -> Iterator[None]:
    with kept_workers():
        yield


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark tests of pages; give each file to one process, all that share a session to the same one.

    Each process with a Spark session starts a JVM, which is slow until it has compiled what it runs.
    """
    if isinstance(item, pytest.Function) and "browser" in item.fixturenames:
        item.add_marker("pages")
        # Their service, in a thread, ends while a browser still opens connections to it.
        item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))
    group = item.path.stem
    if isinstance(item, pytest.Function) and "spark" in item.fixturenames:
        item.add_marker("spark")
        group = "spark"
    item.add_marker(pytest.mark.xdist_group(group))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let what needs Spark begin first: it takes longest."""
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    write_summary(terminalreporter)
