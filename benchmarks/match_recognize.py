"""MATCH_RECOGNIZE in one process, no Spark: a rule in SQL beside its Flink form; sorted frames.

The rule is that of `core.py`, and its clauses find the same matches: one leaves out the rows in
between and runs as the pattern does, one has them in its matches and is searched for. The clauses
on sorted frames are those that `benchmarks.peers.match_recognize` runs on Spark and on Flink SQL.

    python -m benchmarks.match_recognize --events 100000 --rounds 5
"""

import argparse
import sys
import time
from statistics import median
from typing import Final

import polars as pl

from benchmarks.core import ACTIONS, payments, rule, run
from cep.matching.sorted_frames import SortedFrames, needed_columns
from cep.row_pattern.analysis.analyse import analyse
from cep.row_pattern.parsing.clauses import read_query
from percept import Pattern, Schema

DDL: Final = "ts BIGINT, shopper BIGINT, action STRING, amount BIGINT"
EVENTS_PER_SHOPPER: Final = 100
ROWS_PER_FRAME: Final = 10_000
BEGIN_MS: Final = 1_700_000_000_000

RULE: Final = """MATCH_RECOGNIZE (
    PARTITION BY user ORDER BY ts
    MEASURES PAY.amount AS amount
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (FAIL {between} FAIL {between} FAIL {between} LOGIN {between} PAY)
    WITHIN INTERVAL '600' SECOND
    DEFINE FAIL AS action = 'fail', LOGIN AS action = 'login',
        PAY AS action = 'pay' AND amount > 250)"""

CLAUSES: Final = {
    "sequence": """MATCH_RECOGNIZE (
        PARTITION BY shopper ORDER BY ts
        MEASURES FIRST(F.ts) AS first_ts, P.amount AS amount
        ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
        PATTERN (F{2} L P) WITHIN INTERVAL '10' MINUTE
        DEFINE F AS F.action = 'fail', L AS L.action = 'login',
            P AS P.action = 'pay' AND P.amount > 250)""",
    "v-shape": """MATCH_RECOGNIZE (
        PARTITION BY shopper ORDER BY ts
        MEASURES A.amount AS top, LAST(B.amount) AS bottom, C.amount AS recovered
        ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A B+ C)
        DEFINE B AS B.amount < A.amount
                AND (LAST(B.amount, 1) IS NULL OR B.amount < LAST(B.amount, 1)),
            C AS C.amount > LAST(B.amount))""",
    "rise": """MATCH_RECOGNIZE (
        PARTITION BY shopper ORDER BY ts
        MEASURES FIRST(A.ts) AS begin_ts, LAST(B.amount) AS highest, COUNT(B.amount) AS steps
        ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A B{2,} C)
        DEFINE B AS B.amount > A.amount
                AND (LAST(B.amount, 1) IS NULL OR B.amount > LAST(B.amount, 1)),
            C AS C.amount <= LAST(B.amount))""",
    "sum": """MATCH_RECOGNIZE (
        PARTITION BY shopper ORDER BY ts
        MEASURES SUM(A.amount) AS total, COUNT(A.amount) AS number, B.ts AS end_ts
        ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A+ B)
        DEFINE A AS SUM(A.amount) < 2000, B AS SUM(A.amount) + B.amount >= 2000)""",
}


def events_of(count: int) -> pl.DataFrame:
    """Return events in order of time, one per millisecond, of `count / 100` shoppers."""
    shoppers = max(1, count // EVENTS_PER_SHOPPER)
    numbers = pl.int_range(count, eager=True)
    return pl.DataFrame(
        {
            "ts": numbers + BEGIN_MS,
            "shopper": (numbers.hash(2) % shoppers).cast(pl.Int64),
            "action": pl.Series(ACTIONS)[numbers.hash(1) % len(ACTIONS)],
            "amount": (numbers.hash(3) % 500).cast(pl.Int64),
        }
    )


def on_frames(clause: str, events: pl.DataFrame) -> tuple[int, float]:
    """Return rows of the result, and seconds; analysing the clause is not counted."""
    schema = Schema.from_ddl(DDL)
    needed = needed_columns(analyse(read_query(clause).clause, schema), schema)
    schema = Schema(tuple(column for column in schema.columns if column[0] in needed))
    frames = SortedFrames(analyse(read_query(clause).clause, schema), schema)
    count = 0
    begin = time.perf_counter()
    for frame in events.select(needed).iter_slices(ROWS_PER_FRAME):
        count += sum(map(len, frames.process(frame)))
    count += sum(map(len, frames.end()))
    return count, time.perf_counter() - begin


def compare_rule(events: pl.DataFrame, rounds: int) -> None:
    """Print what the rule in SQL costs beside its Flink form; they must find the same."""
    forms = {
        "pattern": rule(250),
        "rows in between left out": Pattern.from_sql(RULE.format(between="{- X*? -}")),
        "rows in between kept": Pattern.from_sql(RULE.format(between="X*?")),
    }
    ratios: dict[str, list[float]] = {name: [] for name in forms}
    found = {}
    for _ in range(rounds):
        seconds = {}
        for name, pattern in forms.items():
            begin = time.process_time()  # other work on the machine disturbs it less than the clock
            _, counts, _ = run({"r": pattern}, events)
            seconds[name] = time.process_time() - begin
            found[name] = counts["match"]
            ratios[name].append(seconds[name] / seconds["pattern"])
    if len(set(found.values())) > 1:
        sys.exit(f"the rule and its clauses do not agree: {found}")
    for name, of_form in ratios.items():
        if name != "pattern":
            print(
                f"rule in SQL, {name}: {min(of_form):.2f} / {median(of_form):.2f} / "
                f"{max(of_form):.2f} x the CPU of its pattern, {found[name]:,} matches"
            )


def main() -> None:
    """Run both parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    compare_rule(payments(arguments.events), arguments.rounds)
    events = events_of(arguments.events).sort("shopper", "ts")
    for name, clause in CLAUSES.items():
        runs = [on_frames(clause, events) for _ in range(arguments.rounds)]
        seconds = median(seconds for _, seconds in runs)
        print(f"{name:<10} {len(events) / seconds:>10,.0f} events/s  {runs[0][0]:>9,} rows")


if __name__ == "__main__":
    main()
