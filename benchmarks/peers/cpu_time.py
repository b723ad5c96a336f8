"""CPU time of this process and all below it: JVM, Python workers and all."""

import os
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def cpu_seconds(*, without: int | None = None) -> float:
    """Return the CPU time of all processes below this one, and of itself (Linux).

    `without`: one that does not count, such as a broker.
    """
    times: dict[int, tuple[int, float]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = entry.read_text()
        except OSError:
            continue
        fields = text.rpartition(")")[2].split()
        times[int(entry.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])) / _TICKS)
    times.pop(without or 0, None)
    wanted, total = {os.getpid()}, 0.0
    size = 0
    while size != len(wanted):
        size = len(wanted)
        wanted |= {pid for pid, (parent, _) in times.items() if parent in wanted}
    for pid in wanted:
        total += times.get(pid, (0, 0.0))[1]
    return total
