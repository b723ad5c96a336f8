"""The core alone: one process, no Spark; predicates, matching and outputs included.

The workload is a stream of payment events: 10,000 users, 5 actions, uniform, 1 ms apart. The rule
is "`fail` three times, then `login`, then `pay` with an amount above x, within 600 s, skip past the
last event".

Rates depend on the machine. The ratios, to a plain Python loop that counts the events of each user
and to the first rule, do much less.
"""

import argparse
import gc
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import cast

import polars as pl

from cep.matching.matcher_state import encode_matcher
from cep.nfa.runs import KeyRuns
from percept import AfterMatchSkip, BatchMatcher, Pattern, Schema

SCHEMA = Schema.from_ddl("ts BIGINT, user BIGINT, action STRING, amount BIGINT, shop BIGINT")
ACTIONS = ["fail", "login", "pay", "view", "logout"]
USERS = 10_000
SHOPS = 1_000
BATCH_ROWS = 50_000


def payments(count: int, seed: int = 1) -> pl.DataFrame:
    """Return events of uniform user, action, amount (0 to 499) and shop, one per millisecond."""
    numbers = pl.int_range(count, eager=True)

    def uniform(values: int, salt: int) -> pl.Series:
        return numbers.hash(seed + salt) % values

    actions = pl.Series(ACTIONS)[uniform(len(ACTIONS), 1)]
    return pl.DataFrame(
        {
            "ts": numbers,
            "user": uniform(USERS, 2).cast(pl.Int64),
            "action": actions,
            "amount": uniform(500, 3).cast(pl.Int64),
            "shop": uniform(SHOPS, 4).cast(pl.Int64),
        }
    )


def rule(amount: int, *, only: str = "") -> Pattern:
    """Return the rule; `only` narrows each of its conditions."""
    return (
        Pattern.begin("fail")
        .where(f"action = 'fail'{only}")
        .times(3)
        .followed_by("login")
        .where(f"action = 'login'{only}")
        .followed_by("pay")
        .where(f"action = 'pay' AND amount > {amount}{only}")
        .within("600 seconds")
        .after_match(AfterMatchSkip.past_last_event())
    )


def one_rule() -> dict[str, Pattern]:
    """One rule."""
    return {"r": rule(250)}


def ten_rules() -> dict[str, Pattern]:
    """Ten rules with different x."""
    return {f"r{number}": rule(45 * (number + 1)) for number in range(10)}


def narrow_rules() -> dict[str, Pattern]:
    """1,000 rules that each apply to 0.1 % of the events."""
    return {f"r{shop}": rule(250, only=f" AND shop = {shop}") for shop in range(SHOPS)}


def run(
    rules: dict[str, Pattern], events: pl.DataFrame
) -> tuple[float, Counter[str], BatchMatcher]:
    """Return seconds, detections by kind, and the matcher afterwards; compiling is not counted."""
    matcher = BatchMatcher(rules, schema=SCHEMA, key_by=["user"])
    found: Counter[str] = Counter()
    gc.collect()
    begin = time.perf_counter()
    for batch in events.iter_slices(BATCH_ROWS):
        for detection in matcher.process(batch):
            found["timeout" if detection.is_timeout else "match"] += 1
    return time.perf_counter() - begin, found, matcher


def plain_loop(events: pl.DataFrame) -> float:
    """Return the seconds of a loop that only counts events per user."""
    begin = time.perf_counter()
    counts: dict[int, int] = {}
    for batch in events.iter_slices(BATCH_ROWS):
        for row in batch.iter_rows():
            counts[row[1]] = counts.get(row[1], 0) + 1
    return time.perf_counter() - begin


def state_bytes(matcher: BatchMatcher) -> int:
    """Return the memory of all partial matches, without the events themselves."""
    size = 0
    for shape in matcher.matcher.shapes:
        for runs in cast("dict[object, KeyRuns]", shape.keys).values():
            size += sys.getsizeof(runs) + sys.getsizeof(runs.runs)
            size += sum(sys.getsizeof(run) for run in runs.runs)
            size += sum(sys.getsizeof(cell) for cell in runs.cells())
    return size


def main() -> None:
    """Run the workloads and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    arguments = parser.parse_args()
    if arguments.events < 1:
        sys.exit("--events must be at least 1")
    events = payments(arguments.events)
    base = plain_loop(events)
    print(f"{arguments.events:,} events, {USERS:,} users; a plain loop takes {base:.2f} s\n")
    print(f"{'':<18}{'events/s':>12}{'x loop':>10}{'matches':>12}{'timeouts':>12}{'open':>12}")
    workloads: list[tuple[str, Callable[[], dict[str, Pattern]]]] = [
        ("one rule", one_rule),
        ("ten rules", ten_rules),
        ("1,000 narrow rules", narrow_rules),
    ]
    for name, rules in workloads:
        seconds, found, matcher = run(rules(), events)
        open_matches = matcher.matcher.open_partial_matches()
        print(
            f"{name:<18}{len(events) / seconds:>12,.0f}{seconds / base:>10.1f}"
            f"{found['match']:>12,}{found['timeout']:>12,}{open_matches:>12,}"
        )
        if open_matches:
            held = state_bytes(matcher) / open_matches
            encoded = len(encode_matcher(matcher.matcher)) / open_matches
            print(f"{'':<18}bytes per partial match: {held:,.0f} held, {encoded:,.0f} encoded")


if __name__ == "__main__":
    main()
