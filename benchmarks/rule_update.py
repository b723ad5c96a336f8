"""How long a worker takes to have new rules ready: all compiled, or what has changed alone.

1,000 rules in 20 groups, each with a key of its own, of which one rule is replaced. Patterns are
parsed before, as they are in a worker that has run for a while.
"""

import argparse
import gc
import time
from collections.abc import Callable

from contract.snapshot import Snapshot, SnapshotProcessor, SnapshotVersion, StreamDefinition
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.rules.rule_set import RuleSet, compile_rules
from processor_runtime.schedule.timeline import Timeline, resolve
from processor_runtime.schedule.timeline_document import read_timeline, write_timeline

GROUPS = 20
COLUMNS = ", ".join(f"key{number} BIGINT" for number in range(GROUPS))
STREAM = StreamDefinition(
    name="payments",
    version=1,
    schema=f"ts BIGINT, action STRING, amount BIGINT, {COLUMNS}",
    event_time_column="ts",
    allowed_delay_ms=0,
    order_by=[],
)


def rule(number: int, amount: int, version: int = 1) -> SnapshotProcessor:
    """Return a rule of one of the groups."""
    definition = {
        "pattern": {
            "steps": [
                {"name": "fail", "where": "action = 'fail'", "times": 3},
                {"name": "login", "contiguity": "followed_by", "where": "action = 'login'"},
                {
                    "name": "pay",
                    "contiguity": "followed_by",
                    "where": f"action = 'pay' AND amount > {amount}",
                },
            ],
            "within": "600 seconds",
        },
        "key_by": [f"key{number % GROUPS}"],
        "select": {"amount": "pay.amount"},
    }
    written = SnapshotVersion(
        version=version, effective_from_ms=None, effective_until_ms=None, definition=definition
    )
    return SnapshotProcessor(id=f"rule{number:05}", paused=False, versions=[written])


def shipped(previous: Timeline, rules: list[SnapshotProcessor], time_ms: int | None) -> Timeline:
    """Return the timeline that publishing these rules makes, as a worker reads it."""
    snapshot = Snapshot(format=1, epoch=1, stream=STREAM, processors=rules)
    resolved = resolve(previous, snapshot, time_ms, 0 if time_ms is None else time_ms)
    return read_timeline(write_timeline(resolved, STREAM))[0]


def seconds(make: Callable[[], RuleSet], rounds: int) -> float:
    """Return how long the fastest round takes, in seconds of the processor."""
    times = []
    for _ in range(rounds):
        gc.collect()
        begin = time.process_time()
        make()
        times.append(time.process_time() - begin)
    return min(times)


def main() -> None:
    """Update one rule both ways and print how long each took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rules", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    rules = [rule(number, number) for number in range(arguments.rules)]
    before = shipped(Timeline(), rules, None)
    after = shipped(before, [rule(0, 1, version=2), *rules[1:]], 1_000)
    defaults = RuleDefaults()
    known = compile_rules(before, STREAM, defaults)
    compile_rules(after, STREAM, defaults)
    everything = seconds(lambda: compile_rules(after, STREAM, defaults), arguments.rounds)
    changed = seconds(lambda: compile_rules(after, STREAM, defaults, [known]), arguments.rounds)
    print(f"{arguments.rules:,} rules in {len(known.groups)} groups, one replaced:")
    print(f"  all compiled      {everything * 1_000:8,.1f} ms")
    print(
        f"  what has changed  {changed * 1_000:8,.1f} ms, {everything / changed:.0f} times faster"
    )


if __name__ == "__main__":
    main()
