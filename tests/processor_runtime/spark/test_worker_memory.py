"""How workers ask for memory, and which objects they do not look at again for cycles."""

import gc
import json
import os
import platform
import subprocess
import sys
import weakref
from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from processor_runtime.spark.plan.worker_rules import _freeze
from processor_runtime.spark.session import _SETTINGS

PREFIX: Final = "spark.executorEnv."
FAULTS: Final = """
import json, resource

def faults(size):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    bytearray(size)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(json.dumps([faults(1 << 28), faults(1 << 28)]))
"""


def second_of_two(environment: Mapping[str, str]) -> float:
    """Return the page faults of 256 MB asked for again, in parts of those of the first time."""
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("what is kept is set for glibc, which this machine has not")
    run = subprocess.run(  # noqa: S603 - fixed words
        [sys.executable, "-c", FAULTS],
        env={name: value for name, value in os.environ.items() if name != "GLIBC_TUNABLES"}
        | dict(environment),
        check=True,
        capture_output=True,
        text=True,
    )
    first, second = json.loads(run.stdout)
    return float(second / first)


@pytest.mark.long
def test_memory_for_the_next_batch_is_there_already() -> None:
    of_workers = {
        name.removeprefix(PREFIX): value
        for name, value in _SETTINGS.items()
        if name.startswith(PREFIX)
    }
    assert second_of_two(of_workers) <= 0.1
    # As the kernel and the C library have it, it comes anew each time.
    assert second_of_two({}) > 0.5


class Circle:
    """Garbage that only a collection of cycles finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def _seen_again() -> Iterator[None]:
    """Have collections look at all objects of this process again."""
    yield
    gc.unfreeze()
    _freeze.cache_clear()


@pytest.mark.usefixtures("_seen_again")
def test_collections_pass_over_what_is_there_and_see_what_comes_later() -> None:
    before = Circle()
    there = weakref.ref(before)
    _freeze(7)
    del before
    gc.collect()
    assert there() is not None
    later = Circle()
    there = weakref.ref(later)
    _freeze(7)  # no module has been loaded since
    del later
    gc.collect()
    assert there() is None
