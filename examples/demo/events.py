"""The sign-in events of examples/ssh_auth, and the feeder that writes them as files for the job.

events.jsonl.gz ──► Feeder ──file by file──► directory that the job watches
"""

import gzip
import json
import os
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from cep.instants import instant_ms

STREAM: Final = {
    "name": "ssh-logins",
    "schema": (
        "event_id BIGINT, source STRING, ts TIMESTAMP, host STRING, program STRING, pid BIGINT, "
        "event_type STRING, user STRING, valid_user BOOLEAN, src_ip STRING, src_port BIGINT, "
        "auth_method STRING, service STRING, command STRING, repeat BIGINT, message STRING"
    ),
    "event_time_column": "ts",
    "allowed_delay_ms": 5_000,
    "order_by": ["event_id"],
    "description": "Sign-ins to two ssh servers on the internet, 2014 and 2017.",
}
_EVENTS: Final = Path(__file__).parents[1] / "ssh_auth" / "events.jsonl.gz"

Event = dict[str, Any]


def load_events() -> list[Event]:
    """Return all events, oldest first, and an added one at the end.

    The last one is two hours later: time must advance until the last sessions have been open for an
    hour.
    """
    with gzip.open(_EVENTS, "rt", encoding="utf-8") as lines:
        events = [json.loads(line) for line in lines]
    end = datetime.fromisoformat(events[-1]["ts"]) + timedelta(hours=2)
    last = dict.fromkeys(events[-1]) | {
        "event_id": events[-1]["event_id"] + 1,
        "source": "demo",
        "ts": end.isoformat(),
        "event_type": "clock",
    }
    return [*events, last]


@dataclass(slots=True)
class Feeder:
    """Feeds events in their order, a file at a time.

    Args:
        events: all of them, by time.
        directory: where files are written, each atomically.
    """

    events: list[Event]
    directory: Path
    fed: int = 0
    _times_ms: list[int] = field(init=False)
    _written_ns: int = 0

    def __post_init__(self) -> None:
        self._times_ms = [instant_ms(event["ts"]) for event in self.events]

    @property
    def newest_ms(self) -> int:
        """The time of the newest event that was fed."""
        return self._times_ms[max(self.fed - 1, 0)]

    @property
    def next_ms(self) -> int | None:
        """The time of the next event; `None` at the end."""
        return self._times_ms[self.fed] if self.fed < len(self.events) else None

    @property
    def end_ms(self) -> int:
        """A time after all events."""
        return self._times_ms[-1] + 1

    def feed_until(self, time_ms: int) -> None:
        """Write the events before a time, if there are any left."""
        end = self.fed
        while end < len(self.events) and self._times_ms[end] < time_ms:
            end += 1
        self._write(end)

    def feed_one(self) -> None:
        """Write the next event, if there is one."""
        self._write(min(self.fed + 1, len(self.events)))

    def _write(self, end: int) -> None:
        if end <= self.fed:
            return
        # Spark skips names that begin with a dot.
        unfinished = self.directory / f".{self.fed:06}"
        with unfinished.open("w", encoding="utf-8") as target:
            for event in self.events[self.fed : end]:
                target.write(json.dumps(event) + "\n")
        # Spark reads files in the order of their times, in milliseconds; a clock may be set back.
        self._written_ns = max(time.time_ns(), self._written_ns + 1_000_000)
        os.utime(unfinished, ns=(self._written_ns, self._written_ns))
        unfinished.rename(self.directory / f"{self.fed:06}.json")
        self.fed = end
