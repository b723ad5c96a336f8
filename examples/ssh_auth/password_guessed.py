"""The rule of password_guessed.yaml from Python, with a process function that writes the alerts."""

import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from percept import (
    AfterMatchSkip,
    Output,
    Pattern,
    PatternProcessFunction,
    ProcessContext,
    Steps,
    TimedOutPartialMatchHandler,
    iter_matches,
    process,
)

EVENTS = Path(__file__).with_name("events.jsonl.gz")
FAILURES = 3

PASSWORD_GUESSED = (
    Pattern.begin("failed")
    .where("event_type = 'auth_failed'")
    .times_or_more(FAILURES)
    .greedy()
    .followed_by("accepted")
    .where("event_type = 'auth_accepted'")
    .within("5 minutes")
    .after_match(AfterMatchSkip.past_last_event())
)


class Alerts(PatternProcessFunction, TimedOutPartialMatchHandler):
    """An alert per match; unsuccessful attacks go to the side output `repelled`."""

    def process_match(self, match: Steps, context: ProcessContext) -> Iterator[str]:
        """Yield one line per match."""
        del context
        failed, (accepted,) = match["failed"], match["accepted"]
        yield (
            f"{accepted['ts']} {accepted['src_ip']} signed in as {accepted['user']} "
            f"after {len(failed)} failures since {failed[0]['ts']}"
        )

    def process_timed_out_match(self, match: Steps, context: ProcessContext) -> None:
        """Emit the address of an attack with three failures, but no success in time."""
        if len(match["failed"]) >= FAILURES:
            context.output("repelled", match["failed"][0]["src_ip"])


def events() -> Iterator[dict[str, Any]]:
    """Yield the sign-in events, oldest first."""
    with gzip.open(EVENTS, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def outputs() -> Iterator[Output]:
    """Yield the outputs of the process function for each match and timed-out partial match."""
    function = Alerts()
    for found in iter_matches(PASSWORD_GUESSED, events(), key_by="src_ip"):
        yield from process(function, found, processing_time_ms=time.time_ns() // 1_000_000)


def main() -> None:
    """Print the alerts, and the number of addresses that never succeeded."""
    repelled = set()
    for output in outputs():
        if output.tag is None:
            print(output.value)
        else:
            repelled.add(output.value)
    print(f"{len(repelled)} addresses failed three times or more and did not get in")


if __name__ == "__main__":
    main()
