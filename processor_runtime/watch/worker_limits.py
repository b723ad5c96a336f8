"""How long one call of a rule's code may take, and how much memory the process it runs in may have.

job file ──WorkerLimits──► every Python worker, before it loads code of a rule
"""

import os
import resource
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_BYTES_PER_MB: Final = 1 << 20
_PAGE_FILES: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """What code of rules may take.

    `call_seconds` is for one call: a condition on one event, a process function on one match, the
    loading of one version. `memory_mb` is for the data of a whole worker, in units of 2^20 bytes;
    `None` = half of what the machine, or its container, has.
    """

    call_seconds: float = 30.0
    memory_mb: int | None = None

    @property
    def memory_bytes(self) -> int:
        """The memory a worker on this machine may have."""
        if self.memory_mb is not None:
            return self.memory_mb * _BYTES_PER_MB
        return machine_memory_bytes() // 2


def machine_memory_bytes() -> int:
    """Return the memory of this machine, or of the container if that has less."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in _PAGE_FILES:
        with suppress(OSError, ValueError):  # no such file, or "max"
            sizes.append(int(Path(name).read_text(encoding="ascii")))
    return min(sizes)


def limit_memory(limit_bytes: int) -> None:
    """Let this process have no more data than this: code that wants more gets a `MemoryError`."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    within = limit_bytes if most == resource.RLIM_INFINITY else min(limit_bytes, most)
    with suppress(OSError, ValueError):  # a system that cannot limit it goes without
        resource.setrlimit(resource.RLIMIT_DATA, (within, most))


def data_bytes() -> int:
    """Return how much data this process has, counted as its limit is; 0 if nobody says."""
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        line = next(line for line in lines if line.startswith("VmData:"))
        return int(line.split()[1]) * 1_024
    return 0
