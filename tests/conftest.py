"""What holds for all tests: markers, the profile of properties, which tests share a process."""

import gc
from collections.abc import Iterator
from typing import Any, Final

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from tests.faults.summary import write_summary
from tests.kept_workers import kept_workers
from tests.properties import load_gate

MARKERS: Final = (
    "spark: needs Java, and seconds to start a local Spark",
    "pages: needs Chromium, and seconds for each page: make test-pages",
    "long: takes a second of CPU, or several of waiting: make test-long",
    "faults: breaks what a service or a job stands on, on purpose, or kills it: make test-faults",
    "nightly: beside any of these, too long for each commit: make nightly",
)
SESSION: Final = tuple(
    f"tests/processor_runtime/{directory}/" for directory in ("spark", "sinks", "sources")
)
load_gate()
# Half of the time of collecting all tests would be spent on looking for garbage among them.
gc.disable()


@pytest.fixture(scope="session", autouse=True)
def _kept_workers() -> Iterator[None]:
    with kept_workers():
        yield


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def pytest_collection_finish() -> None:
    """Look for garbage among what tests make, not among the tests and the modules they import."""
    gc.freeze()
    gc.enable()


class OneSession(LoadFileScheduling):  # type: ignore[misc] # its base has no types
    """Gives files to whichever process is free, all that share a Spark session to the same one.

    Each process with a session starts a JVM, which is slow until it has compiled what it runs.
    """

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "spark" if file.startswith(SESSION) else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneSession:
    return OneSession(config, log)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what needs Chromium or Spark by the fixtures it asks for."""
    names = item.fixturenames if isinstance(item, pytest.Function) else ()
    if "browser" in names:
        item.add_marker("pages")
        # Their service, in a thread, ends while a browser still opens connections to it.
        item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))
    if "spark" in names:
        item.add_marker("spark")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let what shares a Spark session begin first, then what waits: these take longest."""
    items.sort(
        key=lambda item: (
            not item.nodeid.startswith(SESSION),
            not item.nodeid.startswith("tests/processor_runtime/kafka/"),
        )
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    write_summary(terminalreporter)
