"""Real events, one time after the other, and one or ten realistic rules for each kind.

The files are `ssh_auth/events.jsonl.gz`, `online_retail/invoices.jsonl.gz` and
`equity_trades/trades_2013-10-08.parquet`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import polars as pl

from benchmarks.peers.java_rules import KeyedRule
from benchmarks.peers.workloads import Workload
from percept import AfterMatchSkip, Pattern

_DAY_MS: Final = 86_400_000
_PAST: Final = AfterMatchSkip.past_last_event()


def _steps(window: str, *steps: tuple[str, str, int]) -> Pattern:
    """Return steps one after the other, each with its condition and how often it must hold."""
    (name, where, times), *others = steps
    pattern = Pattern.begin(name).where(where).times(times)
    for name, where, times in others:
        pattern = pattern.followed_by(name).where(where).times(times)
    return pattern.within(window).after_match(_PAST)


def _absent(window: str, first: tuple[str, str], missing: tuple[str, str]) -> Pattern:
    begin = Pattern.begin(first[0]).where(first[1])
    return begin.not_followed_by(missing[0]).where(missing[1]).within(window)


_FAILED: Final = "event_type = 'auth_failed'"
_INVALID: Final = "event_type = 'invalid_user'"
_IN: Final = "event_type = 'auth_accepted'"
_SSH: Final = {
    "ts": "BIGINT",
    "id": "BIGINT",
    "src_ip": "STRING",
    "event_type": "STRING",
    "user": "STRING",
    "src_port": "BIGINT",
}
_SSH_RULES: Final = [
    _steps("10 minutes", ("fail", _FAILED, 5)),
    _steps("1 minute", ("fail", _FAILED, 10)),
    _steps("10 minutes", ("fail", _FAILED, 3), ("in", _IN, 1)),
    _steps("5 minutes", ("invalid", _INVALID, 3)),
    _steps("30 minutes", ("invalid", _INVALID, 5), ("in", _IN, 1)),
    _steps("10 minutes", ("root", f"{_FAILED} AND user = 'root'", 3)),
    _steps("2 minutes", ("admin", f"{_INVALID} AND user = 'admin'", 1), ("fail", _FAILED, 2)),
    _steps("1 hour", ("kicked", "event_type = 'too_many_failures'", 2)),
    _steps("5 minutes", ("reset", "event_type = 'conn_reset'", 2), ("fail", _FAILED, 1)),
    _absent("5 minutes", ("in", _IN), ("out", "event_type = 'disconnect_received'")),
]

_RETAIL: Final = {
    "ts": "BIGINT",
    "id": "BIGINT",
    "customer_id": "BIGINT",
    "event_type": "STRING",
    "amount": "DOUBLE",
    "n_lines": "BIGINT",
    "country": "STRING",
}
_SALE: Final = "event_type = 'sale'"
_BACK: Final = "event_type = 'cancellation'"
_RETAIL_RULES: Final = [
    _steps("7 days", ("sale", f"{_SALE} AND amount > 500", 1), ("back", _BACK, 1)),
    _steps("1 days", ("sale", _SALE, 1), ("back", f"{_BACK} AND amount < -100", 1)),
    _steps("30 days", ("back", _BACK, 2)),
    _steps("30 days", ("small", f"{_SALE} AND amount < 50", 2), ("large", "amount > 1000", 1)),
    _steps("14 days", ("sale", _SALE, 3)),
    _steps("60 days", ("sale", f"{_SALE} AND n_lines > 40", 2), ("back", _BACK, 1)),
    _steps("1 days", ("sale", f"{_SALE} AND country <> 'United Kingdom'", 2)),
    _steps("90 days", ("more", _SALE, 1), ("grown", "amount > 2 * LAST(more.amount)", 1)),
    _steps("90 days", ("one", "amount > 200", 2), ("below", "amount < AVG(one.amount)", 1)),
    _absent("30 days", ("large", f"{_SALE} AND amount > 2000"), ("again", _SALE)),
]

_TRADES: Final = {
    "ts": "BIGINT",
    "id": "BIGINT",
    "symbol": "STRING",
    "exchange": "STRING",
    "price": "DOUBLE",
    "size": "BIGINT",
}
_TRADE_RULES: Final = [
    _steps("1 second", ("block", "size >= 10000", 2)),
    _steps("5 seconds", ("block", "size >= 5000", 1), ("sold", "size >= 5000", 2)),
    _steps("10 seconds", ("low", "size >= 2000", 1), ("up", "price > 1.0005 * LAST(low.price)", 1)),
    _steps(
        "10 seconds", ("top", "size >= 2000", 1), ("fall", "price < 0.9995 * LAST(top.price)", 1)
    ),
    _steps("2 seconds", ("dark", "exchange = 'D' AND size > 1000", 3)),
    _steps("1 second", ("n", "exchange = 'N' AND size > 500", 1), ("q", "exchange = 'Q'", 1)),
    _steps("3 seconds", ("odd", "size > 900 AND size < 1000", 2), ("block", "size > 3000", 1)),
    _steps("5 seconds", ("a", "exchange = 'B' AND size > 800", 2)),
    _steps("2 seconds", ("w", "exchange = 'W'", 1), ("m", "exchange = 'M'", 1)),
    _absent("1 second", ("block", "size >= 20000"), ("next", "size >= 1000")),
]


def _ssh(data: Path) -> pl.DataFrame:
    events = pl.read_ndjson(data / "ssh_auth" / "events.jsonl.gz", infer_schema_length=None).filter(
        pl.col("src_ip").is_not_null()
    )
    return events.with_columns(
        ts=pl.col("ts").str.to_datetime(time_zone="UTC").dt.epoch("ms"),
        user=pl.col("user").fill_null("-").str.replace_all("[^A-Za-z0-9_.-]", "_"),
        src_port=pl.col("src_port").fill_null(0),
    )


def _retail(data: Path) -> pl.DataFrame:
    events = pl.read_ndjson(
        data / "online_retail" / "invoices.jsonl.gz", infer_schema_length=None
    ).filter(pl.col("customer_id").is_not_null())
    return events.with_columns(
        ts=pl.col("ts").str.to_datetime().dt.epoch("ms"),
        amount=pl.col("amount").cast(pl.Float64),
    )


def _trades(data: Path) -> pl.DataFrame:
    events = pl.read_parquet(data / "equity_trades" / "trades_2013-10-08.parquet")
    return events.with_columns(ts=pl.col("ts").dt.epoch("ms"))


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of events.

    Args:
        columns: names and SQL types of its columns.
        key: the column that is the key of rules.
        read: reads them from a directory with all kinds.
        rules: the rules.
    """

    columns: dict[str, str]
    key: str
    read: Callable[[Path], pl.DataFrame]
    rules: Sequence[Pattern]


_SSH_LOGINS: Final = _Kind(_SSH, "src_ip", _ssh, _SSH_RULES)
_INVOICES: Final = _Kind(_RETAIL, "customer_id", _retail, _RETAIL_RULES)
_TRADES_OF_A_DAY: Final = _Kind(_TRADES, "symbol", _trades, _TRADE_RULES)


def tiled(events: pl.DataFrame, count: int, columns: Mapping[str, str]) -> pl.DataFrame:
    """Return so many events: the given ones, and the same again, a day after the last, and so on.

    The first comes at time 0.
    """
    ordered = events.sort("ts", maintain_order=True)
    times = ordered.get_column("ts")
    length_ms = int(times[-1]) - int(times[0]) + _DAY_MS
    tiles = [
        ordered.with_columns(pl.col("ts") - times[0] + number * length_ms)
        for number in range(-(-count // len(ordered)))
    ]
    return (
        pl.concat(tiles).head(count).with_columns(id=pl.int_range(pl.len())).select(list(columns))
    )


def copied(events: pl.DataFrame, count: int, columns: Mapping[str, str], key: str) -> pl.DataFrame:
    """Return so many events: the given ones, and copies of them at the same times for other keys.

    The first comes at time 0.
    """
    copies = []
    for number in range(-(-count // len(events))):
        is_text = columns[key] == "STRING"
        of_copy = (
            pl.concat_str(key, pl.lit(f"/{number}")) if is_text else pl.col(key) * 1_000 + number
        )
        copies.append(events.with_columns(of_copy.alias(key)))
    ordered = pl.concat(copies).sort("ts", maintain_order=True).head(count)
    since_first = pl.col("ts") - pl.col("ts").first()
    return ordered.with_columns(since_first, id=pl.int_range(pl.len())).select(list(columns))


def real_workloads(data: Path) -> dict[str, Workload]:
    """Return the workloads of real events that lie in a directory."""

    def workload(
        title: str,
        of: _Kind,
        events: Callable[[pl.DataFrame, int], pl.DataFrame],
        rules: Sequence[Pattern],
        flink_share: float = 1 / 24,
    ) -> Workload:
        return Workload(
            title,
            of.columns,
            lambda count: events(of.read(data), count),
            [KeyedRule(rule, (of.key,)) for rule in rules],
            flink_share,
        )

    def of_tiles(title: str, of: _Kind) -> Workload:
        return workload(title, of, partial(tiled, columns=of.columns), of.rules)

    def one_rule(title: str, of: _Kind, number: int, flink_share: float = 1) -> Workload:
        events = partial(tiled, columns=of.columns)
        return workload(title, of, events, of.rules[number : number + 1], flink_share)

    def of_copies(title: str, of: _Kind) -> Workload:
        return workload(title, of, partial(copied, columns=of.columns, key=of.key), of.rules)

    return {
        "C1": of_tiles("10 rules on SSH logins", _SSH_LOGINS),
        "C2": of_tiles("10 rules on invoices", _INVOICES),
        "C3": of_tiles("10 rules on trades", _TRADES_OF_A_DAY),
        "C1-1": one_rule("1 rule on SSH logins", _SSH_LOGINS, 2),
        "C2-1": one_rule("1 rule on invoices", _INVOICES, 0),
        # Flink sorts the times of a key that wait for a watermark again for each watermark.
        "C3-1": one_rule("1 rule on trades", _TRADES_OF_A_DAY, 1, flink_share=1 / 8),
        "C1k": of_copies("10 rules on SSH logins, many keys", _SSH_LOGINS),
        "C2k": of_copies("10 rules on invoices, many keys", _INVOICES),
        "C3k": of_copies("10 rules on trades, many keys", _TRADES_OF_A_DAY),
    }
