"""What Flink CEP and Percept are compared on: events, and rules that both can run.

Events have a time `ts` in milliseconds and a number `id`, which orders those of one time. Flink
gets the first of them where many rules would take it hours.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from benchmarks.core import SHOPS, payments, rule
from benchmarks.peers.java_rules import KeyedRule
from percept import AfterMatchSkip, Pattern

USER: Final = ("user",)


@dataclass(frozen=True, slots=True)
class Workload:
    """Events and rules.

    Args:
        title: what it is, in a line.
        columns: names and SQL types of the columns, in the order of the file.
        events: makes so many events, in the order in which they arrive.
        rules: the rules.
        flink_share: the part of the events that Flink gets.
        delay_ms: how late events may come.
    """

    title: str
    columns: dict[str, str]
    events: Callable[[int], pl.DataFrame]
    rules: Sequence[KeyedRule]
    flink_share: float = 1.0
    delay_ms: int = 0


PAYMENTS: Final = {
    "ts": "BIGINT",
    "id": "BIGINT",
    "user": "BIGINT",
    "action": "STRING",
    "amount": "BIGINT",
    "shop": "BIGINT",
}


def _payments(count: int) -> pl.DataFrame:
    return payments(count).with_columns(id=pl.int_range(pl.len())).select(list(PAYMENTS))


def _by_user(patterns: Sequence[Pattern]) -> list[KeyedRule]:
    return [KeyedRule(pattern, USER) for pattern in patterns]


def _one_shape(count: int) -> list[KeyedRule]:
    if count == 1:
        return _by_user([rule(250)])
    return _by_user([rule(450 * (number + 1) // count) for number in range(count)])


def _differing(count: int) -> list[KeyedRule]:
    return _by_user(
        [
            Pattern.begin("fail")
            .where("action = 'fail'")
            .times(2 + number % 4)
            .followed_by("login")
            .where("action = 'login'")
            .followed_by("pay")
            .where(f"action = 'pay' AND amount > {200 + 20 * number}")
            .within(f"{300 + 60 * number} seconds")
            .after_match(AfterMatchSkip.past_last_event())
            for number in range(count)
        ]
    )


def _narrow() -> list[KeyedRule]:
    keys = [USER, ("shop",), ("user", "shop")]
    return [
        KeyedRule(rule(250, only=f" AND shop = {shop}"), keys[shop % len(keys)])
        for shop in range(SHOPS)
    ]


def _differing_narrow(count: int) -> list[KeyedRule]:
    """Rules of shapes of their own, on one shop each: an event wakes one of them."""
    return _by_user(
        [
            Pattern.begin("fail")
            .where(f"action = 'fail' AND shop = {number}")
            .times(2 + number % 4)
            .followed_by("login")
            .where(f"action = 'login' AND shop = {number}")
            .followed_by("pay")
            .where(f"action = 'pay' AND amount > 250 AND shop = {number}")
            .within(f"{300 + number} seconds")
            .after_match(AfterMatchSkip.past_last_event())
            for number in range(count)
        ]
    )


def _out_of_order(count: int) -> pl.DataFrame:
    late = pl.int_range(pl.len()).hash(7) % 5_000
    return _payments(count).sort(pl.col("ts") + late.cast(pl.Int64), maintain_order=True)


def _hot_key(count: int) -> pl.DataFrame:
    is_hot = pl.int_range(pl.len()).hash(9) % 2 == 0
    return _payments(count).with_columns(user=pl.when(is_hot).then(0).otherwise("user"))


def _strict(count: int) -> list[KeyedRule]:
    return _by_user(
        [
            Pattern.begin("fail")
            .where("action = 'fail'")
            .times(2 + number % 3)
            .consecutive()
            .next("pay")
            .where(f"action = 'pay' AND amount > {400 - 20 * number}")
            .within(f"{600 + 60 * number} seconds")
            .after_match(AfterMatchSkip.past_last_event())
            for number in range(count)
        ]
    )


def _absence(count: int) -> list[KeyedRule]:
    return _by_user(
        [
            Pattern.begin("login")
            .where("action = 'login'" + f" AND amount > {25 * number}" * (number > 0))
            .not_followed_by("logout")
            .where("action = 'logout'")
            .within(f"{20 + 2 * number} seconds")
            for number in range(count)
        ]
    )


def _iterative(count: int) -> list[KeyedRule]:
    return _by_user(
        [
            Pattern.begin("first")
            .where(f"action = 'pay' AND amount > {100 + 10 * number}")
            .times(2 + number % 2)
            .followed_by("more")
            .where(
                "action = 'pay' AND amount > LAST(first.amount)"
                f" AND amount > {1.2 + number / 20} * AVG(first.amount)"
            )
            .followed_by("out")
            .where("action = 'logout'")
            .within(f"{600 + 60 * number} seconds")
            .after_match(AfterMatchSkip.past_last_event())
            for number in range(count)
        ]
    )


SYNTHETIC: Final = {
    "A1": Workload("1 rule", PAYMENTS, _payments, _one_shape(1)),
    "A10": Workload("10 rules of one shape", PAYMENTS, _payments, _one_shape(10), 1 / 24),
    "A10d": Workload("10 rules that differ", PAYMENTS, _payments, _differing(10), 1 / 24),
    "A100": Workload(
        "100 rules of one shape, many matches", PAYMENTS, _payments, _one_shape(100), 1 / 200
    ),
    "A100r": Workload(
        "100 rules of one shape, few matches",
        PAYMENTS,
        _payments,
        _by_user([rule(494)] * 100),
        1 / 200,
    ),
    "B": Workload("1,000 narrow rules on three keys", PAYMENTS, _payments, _narrow(), 1 / 960),
    "A1000d": Workload(
        "1,000 rules that differ, of which an event wakes one",
        PAYMENTS,
        _payments,
        _differing_narrow(SHOPS),
        1 / 960,
    ),
    "D1": Workload("strict contiguity", PAYMENTS, _payments, _strict(1)),
    "D1-10": Workload("10 of strict contiguity", PAYMENTS, _payments, _strict(10), 1 / 24),
    "D2": Workload("absence", PAYMENTS, _payments, _absence(1)),
    "D2-10": Workload("10 of absence", PAYMENTS, _payments, _absence(10), 1 / 24),
    "D3": Workload("conditions on earlier events", PAYMENTS, _payments, _iterative(1)),
    "D3-10": Workload(
        "10 with conditions on earlier events", PAYMENTS, _payments, _iterative(10), 1 / 24
    ),
    "E": Workload(
        "1 rule, events up to 5 s late", PAYMENTS, _out_of_order, _one_shape(1), delay_ms=5_000
    ),
    # Flink sorts the times of a key that wait for a watermark again for each watermark.
    "F": Workload(
        "1 rule, half of the events on one key", PAYMENTS, _hot_key, _one_shape(1), 1 / 8
    ),
}
