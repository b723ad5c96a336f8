"""Windows and conditions on one event of the corpus, in SQL."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

_FUNCTIONS: Final = {
    "count_star": "COUNT",
    "count": "COUNT",
    "count_distinct": "COUNT",
    "approx_count_distinct": "APPROX_COUNT_DISTINCT",
    "approx_percentile": "APPROX_PERCENTILE",
}


class NotSayable(Exception):
    """The product has no words for this."""


def window_sql(window: Mapping[str, Any]) -> str:
    """Return a window as SQL."""
    of = ", ".join(window.get("of", ())) or "*"
    share = window.get("q")
    function = _FUNCTIONS.get(window["agg"], window["agg"].upper())
    call = f"{function}({'DISTINCT ' if window['agg'] == 'count_distinct' else ''}{of})"
    if window["agg"] == "approx_percentile":
        call = f"{function}({of}, {share})"
    elif share is not None:
        call = f"{function}({share}) WITHIN GROUP (ORDER BY {of})"
    if "filter" in window:
        call += f" FILTER (WHERE {on_event(window['filter'])})"
    keys = ", ".join(window["partition_by"])
    frame = _frame(window["frame"], window.get("exclude"))
    return f"{call} OVER ({f'PARTITION BY {keys} ' if keys else ''}{frame})"


def _frame(frame: Mapping[str, Any], exclude: str | None) -> str:
    excluded = "" if exclude is None else f" EXCLUDE {exclude.replace('_', ' ').upper()}"
    if frame["unit"] == "rows":
        unit = "FILTERED ROWS" if frame.get("of") == "filter" else "ROWS"
        return f"{unit} BETWEEN {frame['last'] - 1} PRECEDING AND CURRENT ROW{excluded}"
    begin = "UNBOUNDED PRECEDING"
    if frame.get("from_ms") is not None:
        begin = _bound(frame["from_ms"], is_open=frame["from_bound"] == "open")
    if "to_ms" in frame:
        end = _bound(frame["to_ms"], is_open=frame["to_bound"] == "open")
    elif frame["to_bound"] == "before":
        end, excluded = "CURRENT ROW", " EXCLUDE GROUP"
    elif frame["to_bound"] == "row":
        if begin.endswith("EXCLUSIVE"):
            return f"LAST INTERVAL '{frame['from_ms']}' MILLISECOND{excluded}"
        end = "CURRENT EVENT"
    else:
        end = "CURRENT ROW"
    return f"RANGE BETWEEN {begin} AND {end}{excluded}"


def _bound(distance_ms: int, *, is_open: bool) -> str:
    return f"INTERVAL '{distance_ms}' MILLISECOND PRECEDING{' EXCLUSIVE' * is_open}"


def on_event(condition: Sequence[Any]) -> str:
    """Return a condition on one event as SQL."""
    match condition:
        case ["and" | "or" as word, *parts]:
            return f" {word.upper()} ".join(f"({on_event(part)})" for part in parts)
        case ["not", part]:
            return f"NOT ({on_event(part)})"
        case ["is_null", name]:
            return f"{name} IS NULL"
        case ["in", name, values]:
            return f"{name} IN ({', '.join(map(constant, values))})"
        case [operator, name, value]:
            return f"{name} {operator} {constant(value)}"
        case _:
            raise NotSayable


def constant(value: Any) -> str:
    """Return a constant as SQL."""
    if value is None:
        return "NULL"
    return f"'{value}'" if isinstance(value, str) else str(value)
