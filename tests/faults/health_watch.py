"""Asks a service for its health, again and again, from a process that does nothing else.

    watched_health ══stdin: end══► this module as a program ══stdout: what was seen══► Health

The process that makes the load would measure its own delays as those of the service. What even this
one cannot leave out is how long the machine lets it wait for a processor; that is measured, too.
"""

import http.client
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

_PAUSE_SECONDS: Final = 0.05
_PATIENCE_SECONDS: Final = 60.0
_MODULE: Final = "tests.faults.health_watch"
_ROOT: Final = Path(__file__).parents[2]


@dataclass
class Health:
    """What was seen of a service while it was watched.

    `statuses` are its answers by status, 0 where the connection broke; `slowest_seconds` is the
    longest that one took, `overslept_seconds` the longest that the watching process came too late
    out of a pause: about so much of an answer's time may be the machine's.
    """

    statuses: dict[str, int]
    slowest_seconds: float = 0.0
    overslept_seconds: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.slowest_seconds:.2f} s of {sum(self.statuses.values())}"
            f" (the watch was late itself by up to {self.overslept_seconds:.2f} s)"
        )


@contextmanager
def watched_health(address: tuple[str, int]) -> Iterator[Health]:
    """Watch the health of a service while the context is open; it is filled in at the end."""
    seen = Health({})
    host, port = address
    with subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", _MODULE, host, f"{port}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=_ROOT,
    ) as watch:
        try:
            assert watch.stdout is not None
            watch.stdout.readline()  # it has begun
            yield seen
        finally:
            answer, _ = watch.communicate(timeout=2 * _PATIENCE_SECONDS)
    vars(seen).update(json.loads(answer))


def _watch(host: str, port: int, end: threading.Event) -> Health:
    statuses = Counter[str]()
    slowest_seconds = overslept_seconds = 0.0
    connection = http.client.HTTPConnection(host, port, timeout=_PATIENCE_SECONDS)
    while not end.is_set():
        begun = time.monotonic()
        statuses[f"{_status(connection)}"] += 1
        answered = time.monotonic()
        end.wait(_PAUSE_SECONDS)
        slowest_seconds = max(slowest_seconds, answered - begun)
        overslept = time.monotonic() - answered - _PAUSE_SECONDS
        overslept_seconds = max(overslept_seconds, overslept)
    connection.close()
    return Health(dict(statuses), slowest_seconds, overslept_seconds)


def _status(connection: http.client.HTTPConnection) -> int:
    """Return the status of one answer, 0 if the connection broke; the next one is a new one."""
    try:
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException):
        connection.close()
        return 0
    return answer.status


def main() -> None:
    """Watch until standard input ends, then print what was seen."""
    end = threading.Event()

    def await_end() -> None:
        sys.stdin.read()
        end.set()

    threading.Thread(target=await_end, daemon=True).start()
    sys.stdout.write("\n")
    sys.stdout.flush()
    seen = _watch(sys.argv[1], int(sys.argv[2]), end)
    sys.stdout.write(json.dumps(asdict(seen)))


if __name__ == "__main__":
    main()
