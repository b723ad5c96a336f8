"""Constructs of the corpus that have no word of their own, and can be said with windows.

    sets in any order, tumbling windows that tell at once ──► a condition of windows

A member of a set is a count; that each member has an event of its own is Hall's condition, for each
subset. A tumbling window is a partition by its number.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from tests.conformance.windows.words import NotSayable, constant, on_event, window_sql


def set_sql(params: Mapping[str, Any]) -> str:
    """Return the condition of a set.

    Raises:
        NotSayable: an alert uses up what it counts.
    """
    if params["emit"] not in {"every", "crossing"}:
        raise NotSayable
    keys = f"PARTITION BY {', '.join(params['key'])} " if params["key"] else ""
    over = f"OVER ({keys}LAST INTERVAL '{params['within_ms']}' MILLISECOND"
    members = params["members"]
    if params["distinct_events"]:
        chosen = combinations([_fits(each) for each in members], params["n"])
        met = " OR ".join(f"({' AND '.join(_hall(each, over))})" for each in chosen)
    else:
        each_met = [_is_met(member, params["within_ms"], over) for member in members]
        count = " + ".join(f"CASE WHEN {each} THEN 1 ELSE 0 END" for each in each_met)
        met = f"{count} >= {params['n']}"
    for unwanted in params.get("none_of", ()):
        met = f"({met}) AND COUNT(*) FILTER (WHERE {on_event(unwanted)}) {over}) = 0"
    fits = " OR ".join(map(_fits, members))
    return f"({fits}) AND {f'CROSSES({met})' if params['emit'] == 'crossing' else f'({met})'}"


def _fits(member: Mapping[str, Any]) -> str:
    parts = member.get("sequence") or [member["where"]]
    return " OR ".join(f"({on_event(part)})" for part in parts)


def _hall(members: Sequence[str], over: str) -> Iterator[str]:
    for size in range(1, len(members) + 1):
        for some in combinations(members, size):
            yield f"COUNT(*) FILTER (WHERE {' OR '.join(some)}) {over}) >= {size}"


def _is_met(member: Mapping[str, Any], within_ms: int, over: str) -> str:
    if "sequence" not in member:
        least = member.get("at_least", 1)
        return f"COUNT(*) FILTER (WHERE {on_event(member['where'])}) {over}) >= {least}"
    first, second = map(on_event, member["sequence"])
    first_ms = f"MAX(ts) FILTER (WHERE {first}) {over} EXCLUDE CURRENT ROW)"
    return f"MAX({first_ms}) FILTER (WHERE {second}) {over}) > ts - {within_ms}"


def tumbling_sql(params: Mapping[str, Any]) -> str:
    """Return the condition that all of `having` hold, for the first time in a tumbling window.

    Raises:
        NotSayable: it is told when the window is over.
    """
    if params["emit"] != "at_crossing":
        raise NotSayable
    where = on_event(params["where"]) if "where" in params else "TRUE"
    if params.get("null_group") == "left_out":
        known = [f"{name} IS NOT NULL" for name in params["group_by"]]
        where = " AND ".join([f"({where})", *known])
    value = tumbling_value_sql(params)
    having = " AND ".join(f"{value} {op} {constant(bound)}" for op, bound in params["having"])
    over = f"PARTITION BY {', '.join(_tumbling_keys(params))} LAST {_size(params)}"
    return f"({where}) AND BECOMES_TRUE({having}) FILTER (WHERE {where}) OVER ({over})"


def tumbling_value_sql(params: Mapping[str, Any]) -> str:
    """Return the aggregate over the events of a tumbling window so far."""
    window = {name: params[name] for name in ("agg", "of", "q") if name in params}
    frame = {"unit": "range", "from_ms": params["size_ms"], "from_bound": "open", "to_bound": "row"}
    partition = {"partition_by": _tumbling_keys(params), "frame": frame}
    filtered = {"filter": params["where"]} if "where" in params else {}
    return window_sql(window | partition | filtered)


def _tumbling_keys(params: Mapping[str, Any]) -> list[str]:
    number = f"FLOOR((ts - {params.get('offset_ms', 0)}) / {params['size_ms']})"
    return [*params["group_by"], number]


def _size(params: Mapping[str, Any]) -> str:
    return f"INTERVAL '{params['size_ms']}' MILLISECOND"
