"""How workers ask for memory, what of it they keep, and which objects are looked at for cycles."""

import gc
import json
import platform
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from processor_runtime.spark.worker_memory import memory_settings, pass_over_living

MEGABYTE: Final = 1 << 20
CHOSEN: Final = {
    "spark.executorEnv.GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "spark.executorEnv.POLARS_THP": "1",
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
    "spark.executorEnv._RJEM_MALLOC_CONF": "dirty_decay_ms:60000",
}
FAULTS: Final = """
import json, resource, sys
from processor_runtime.spark.worker_memory import keep_freed

def faults(size):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    bytearray(size)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

limit, size = map(int, sys.argv[1:])
most = keep_freed(limit) if limit else None
print(json.dumps([most, faults(size), faults(size)]))
"""


def test_what_nobody_has_chosen_is_set() -> None:
    assert memory_settings({}) == CHOSEN


@pytest.mark.parametrize("name", ["GLIBC_TUNABLES", "POLARS_THP", "ARROW_DEFAULT_MEMORY_POOL"])
def test_what_somebody_has_chosen_stays(name: str) -> None:
    wanted = {key: value for key, value in CHOSEN.items() if not key.endswith(f".{name}")}
    assert memory_settings({name: "0"}) == wanted


def test_what_polars_has_set_in_the_driver_is_followed_by_ours() -> None:
    # Of an option that is there twice, the last counts.
    settings = memory_settings({"_RJEM_MALLOC_CONF": "dirty_decay_ms:500,muzzy_decay_ms:1000"})
    assert settings["spark.executorEnv._RJEM_MALLOC_CONF"] == (
        "dirty_decay_ms:500,muzzy_decay_ms:1000,dirty_decay_ms:60000"
    )


def first_and_second(limit_bytes: int, size: int) -> tuple[int | None, int, int]:
    """Return what may be kept, and the page faults of two times the same bytes."""
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("what is kept is set by `mallopt` of glibc, which this machine has not")
    command = [sys.executable, "-c", FAULTS, str(limit_bytes), str(size)]
    run = subprocess.run(  # noqa: S603 - fixed words
        command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[3]
    )
    most, first, second = json.loads(run.stdout)
    return most, first, second


def test_memory_for_the_next_batch_is_there_already() -> None:
    most, first, second = first_and_second(1 << 40, 256 * MEGABYTE)
    assert most == 1 << 30
    assert second <= first // 10


def test_without_it_comes_anew_each_time() -> None:
    _, first, second = first_and_second(0, 256 * MEGABYTE)
    assert second > first // 2


def test_more_than_an_eighth_of_the_limit_is_given_back() -> None:
    most, first, second = first_and_second(512 * MEGABYTE, 256 * MEGABYTE)
    assert most == 64 * MEGABYTE
    assert second > first // 2


class Circle:
    """Garbage that only a collection of cycles finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def _seen_again() -> Iterator[None]:
    """Have collections look at all objects of this process again."""
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("_seen_again")
@pytest.mark.parametrize("call", [1, 8, 257])
def test_collections_pass_over_what_is_there_until_they_look_at_all_again(call: int) -> None:
    circle = Circle()
    there = weakref.ref(circle)
    pass_over_living(call)
    del circle
    gc.collect()
    assert there() is not None
    pass_over_living(256)
    gc.collect()
    assert there() is None


@pytest.mark.usefixtures("_seen_again")
def test_all_is_looked_at_again_however_many_calls_a_task_has() -> None:
    circle = Circle()
    there = weakref.ref(circle)
    for call in range(256):
        pass_over_living(call)
    del circle
    for call in range(256, 300):
        pass_over_living(call)
    assert there() is None


@pytest.mark.usefixtures("_seen_again")
@pytest.mark.parametrize("call", [0, 9, 255])
def test_collections_see_what_later_calls_find(call: int) -> None:
    pass_over_living(1)
    circle = Circle()
    there = weakref.ref(circle)
    pass_over_living(call)
    del circle
    gc.collect()
    assert there() is None
