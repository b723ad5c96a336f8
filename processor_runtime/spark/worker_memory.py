"""How Spark's Python workers ask for memory, and what of it they keep for their next batch.

environment of the driver ──memory_settings──► settings of `job_session`
limit of a worker ──keep_freed──► its allocator
number of a call ──pass_over_living──► its collector of cycles

The columns of a batch are some hundred megabytes, asked for and given back with every batch. In
pages of 4 kB, fresh ones each time, that took a third of a worker's CPU. So they come in huge
pages, and what is free is kept for a minute, or up to a size. There are three allocators:
glibc's (NumPy, numba, Python), jemalloc (within Polars), and Arrow's, which can do neither and is
replaced by glibc's. Where Linux has no huge pages (`never` in
`/sys/kernel/mm/transparent_hugepage/enabled`) or the C library is another one, that part is void.

After each task PySpark has Python look for cycles among all its objects, and nearly all of them are
modules that stay: a tenth of what a worker computes.

Source: "Memory Allocation Tunables" of glibc; `mallopt(3)`; jemalloc(3); `gc.freeze` of Python.
"""

import ctypes
import gc
from collections.abc import Mapping
from typing import Final

_PREFIX: Final = "spark.executorEnv."
_HUGE_PAGES: Final[Mapping[str, str]] = {
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "POLARS_THP": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
_JEMALLOC: Final = "_RJEM_MALLOC_CONF"
_KEPT_FOR: Final = "dirty_decay_ms:60000"
"""From batch to batch; Polars sets half a second, in the environment of the driver, too."""

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_MAX: Final = -4
_MOST_KEPT_BYTES: Final = 1 << 30
_PART_KEPT: Final = 8
_CALLS_PER_LOOK: Final = 256
_CALLS_AFTER_LOOK: Final = 8
"""By then all modules are there; what later calls leave behind is found as ever."""


def memory_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return settings that give workers the variables which nobody else has chosen.

    Args:
        environment: variables of the driver, which workers on its machine have, too.
    """
    chosen = {name: value for name, value in _HUGE_PAGES.items() if name not in environment}
    chosen[_JEMALLOC] = ",".join(filter(None, [environment.get(_JEMALLOC), _KEPT_FOR]))
    return {f"{_PREFIX}{name}": value for name, value in chosen.items()}


def keep_freed(limit_bytes: int) -> int:
    """Let this process keep what is free at the end of its heap; return how much at most.

    Args:
        limit_bytes: the data it may have, of which that is an eighth at most.
    """
    most = min(_MOST_KEPT_BYTES, limit_bytes // _PART_KEPT)
    option = getattr(ctypes.CDLL(None), "mallopt", None)
    if option is None:
        return 0  # not glibc
    # What is mapped by itself is given back as soon as it is free.
    could = option(_M_MMAP_MAX, 0) and option(_M_TRIM_THRESHOLD, most)
    return most if could else 0


def pass_over_living(call: int) -> None:
    """Let collections of cycles pass over the objects there are; now and then, look at all again.

    What of these is garbage later, and in a cycle, stays until then.

    Args:
        call: the number of the call in this process, from 0 on; a task may have several.
    """
    since_look = call % _CALLS_PER_LOOK
    if 0 < since_look <= _CALLS_AFTER_LOOK:
        gc.freeze()
    elif call and not since_look:
        gc.unfreeze()
        gc.collect()  # now: the next call of the same task would hide all again
