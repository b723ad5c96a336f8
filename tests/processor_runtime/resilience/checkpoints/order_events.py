"""The events of the stream `orders`: what single users do minute by minute, and chance around it.

STORIES, noise ──by arrival──► files, ten minutes of arrivals each ──make.py──► source of a job

A story is told so that its rule has begun before minute 48, and ends after minute 50. Events up to
there have been processed when the job stops, those of the two minutes between wait in its state.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

FILE_MINUTES: Final = 10
FILES_BEFORE_CHANGE: Final = 3
FILES_BEFORE_STOP: Final = 5
_FILES: Final = 10
BEGIN: Final = datetime(2026, 3, 1, tzinfo=UTC)
_END_MINUTE: Final = 200.0
_DELAY_MINUTES: Final = 1.9
_NOISE_EVERY_MINUTES: Final = 1 / 3

STORIES: Final[Mapping[str, str]] = {
    # relaxed-without-a-window; zoe's events wait when the job stops
    "ana": "2 cart, 5 pay 9.90, 45 cart, 56 pay 12.50",
    "zoe": "48.6 cart, 49.3 pay 3",
    # strict: that of cyd is broken off after the stop
    "bob": "3 fail, 4 fail, 5 fail, 44 fail, 47 fail, 53 fail",
    "cyd": "46 fail, 47 fail, 52 view, 54 fail",
    # not-next
    "dan": "40 alarm, 55 alarm",
    "eve": "44 alarm, 51 answer, 57 alarm",
    # absence
    "fay": "3 order, 40 order, 60 order",
    "gus": "44 order, 52 ship",
    # iterative
    "hal": "5 buy 10, 6 buy 20, 7 buy 30, 9 buy 200, 41 buy 1, 43 buy 2.25, 46 buy 3.50, 57 buy 20",
    # greedy-and-global
    "ivy": "6 knock, 40 knock, 47 knock",
    "jon": "7 knock, 8 enter, 52 knock, 58 enter",
    # combinations-and-global
    "kim": "41 hit, 45 hit, 46 hit",
    "lea": "53 sunk, 54 sunk",
    # key-of-many-types
    "mia": "43 lend 12.50",
    "ned": "55 return 12.50",
    # group
    "ola": "41 open, 43 close, 46 open, 54 close, 58 lock",
    # loop-with-an-end
    "pat": "42 climb, 45 climb, 52 climb, 54 halt, 55 rest, 57 back",
    # gap
    "quin": "45 ask, 51 tell",
    "rob": "47 ask",
    # held-back: found when the window of the first bid closes, at minute 60
    "sue": "40 bid 10, 42 bid 20, 46 bid 20",
    # scheduled-version: by the first version, dropped, by the second version
    "tom": "45 tick 5, 52 tock 1, 66 tick 5, 72 tock 9, 73 tick 5, 74 tock 1, 75 tock 9",
    # scheduled, expiring
    "uma": "10 ring, 60 ring, 70 ring",
    # quarantined
    "vic": "1 drip, 2 drip, 3 drip, 4 drip, 5 drip, 55 drop",
    "wes": "40 drip, 55 drop",
    # replaced
    "xia": "3 red, 8 blue, 25 red, 35 red, 55 blue, 56 green",
    # paused, deleted
    "yan": "10 hum, 20 hum, 40 hum, 60 hum",
    # rising, in Python
    "amy": "43 rise 1, 46 rise 2, 54 rise 3",
    # filled, in Python
    "ben": "42 fill 1.50, 46 fill 2, 53 flush",
    "cas": "47 fill 4",
}
_LATE: Final = (("dee", 5.5, "cart", 36.0), ("dee", 20.5, "cart", 72.0))
"""User, minute, action, and the minute of arrival, long after the allowed delay."""

Event = dict[str, Any]


def files_of_events() -> list[list[Event]]:
    """Return the files of the source in order, and a last one with an event long after them."""
    arrivals = [*_told(), *_late(), *_noise()]
    arrivals.sort(key=lambda arrival: (arrival[1]["ts"], arrival[1]["user"]))
    for number, (_, event) in enumerate(arrivals, start=1):
        event["event_id"] = number
    files: list[list[Event]] = [[] for _ in range(_FILES)]
    for minute, event in sorted(arrivals, key=lambda arrival: arrival[0]):
        files[min(int(minute / FILE_MINUTES), _FILES - 1)].append(event)
    last = _event("end", _END_MINUTE, "end") | {"event_id": len(arrivals) + 1}
    return [*files, [last]]


def _told() -> Iterator[tuple[float, Event]]:
    for user, story in STORIES.items():
        for part in story.split(", "):
            minute, action, *amount = part.split()
            more = {"amount": float(amount[0])} if amount else {}
            yield float(minute), _event(user, float(minute), action, **more)


def _late() -> Iterator[tuple[float, Event]]:
    for user, minute, action, arrival_minute in _LATE:
        yield arrival_minute, _event(user, minute, action)


def _noise() -> Iterator[tuple[float, Event]]:
    """Yield events of many users that come out of order, with values of all kinds."""
    random = Random("orders")  # noqa: S311 - no secret
    for number in range(int(_FILES * FILE_MINUTES / _NOISE_EVERY_MINUTES)):
        minute = (number + random.random()) * _NOISE_EVERY_MINUTES
        action = random.choice(("view", "view", "cart", "pay", "order", "ship", "fail"))
        more = {
            "amount": random.choice((None, 0.05, round(random.uniform(-50, 5_000), 2))),
            "risk": random.choice((None, random.random(), -1e300)),
            "due": random.choice((None, "1969-12-31", "2026-03-11")),
            "trusted": random.choice((None, True, False)),
            "tags": random.choice((None, [], ["new", None, "Zürich"])),
            "place": random.choice((None, {"city": None}, {"city": "東京"})),
        }
        event = _event(f"n{random.randrange(30):02}", minute, action, **more)
        yield minute + random.uniform(0, _DELAY_MINUTES), event


def _event(user: str, minute: float, action: str, **more: Any) -> Event:
    time = BEGIN + timedelta(milliseconds=round(minute * 60_000))
    usual = {
        "ts": time.isoformat(timespec="milliseconds"),
        "user": user,
        "action": action,
        "risk": 0.5,
        "due": "2026-03-10",
        "trusted": True,
        "tags": ["told"],
        "place": {"city": "Wien"},
    }
    return usual | more
