"""A case of the corpus of windows, said as a rule and run on `cep.find_matches`.

    case ──document──► pattern, events as a job orders them ──find_matches──► what alerts

A value is not output: the rule asks of each event whether the window has the value expected there.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from cep.expression import Schema
from percept import Pattern, find_matches
from tests.conformance.windows.long_forms import set_sql, tumbling_sql, tumbling_value_sql
from tests.conformance.windows.words import NotSayable, constant, on_event, window_sql

_COLUMNS: Final = (
    "n BIGINT, ts BIGINT, user STRING, team STRING, ip STRING, country STRING, kind STRING, "
    "amount BIGINT, seq BIGINT, score DOUBLE"
)
_TYPES: Final = {"amount": "BIGINT", "seq": "BIGINT", "score": "DOUBLE"}
_WITH_VALUES: Final = {"window_value", "tumbling"}
_TOLERANCE: Final = 1e-9


def is_sayable(case: Mapping[str, Any]) -> bool:
    """Return whether the product has words for a case."""
    try:
        for each in versions_of(case):
            condition_of(each)
    except NotSayable:
        return False
    return True


def versions_of(case: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the versions of the rule of a case, as cases without events.

    Raises:
        NotSayable: one replaces the other in a way that there is not.
    """
    if case["construct"] != "replaced":
        return [case]
    params = case["params"]
    is_condition = params["of"] in {"window_condition", "threshold", "first_seen"}
    if params["on_update"] not in {"drop", "drain"} or not is_condition:
        raise NotSayable
    return [{"construct": params["of"], "params": params[each]} for each in ("old", "new")]


def needs_job(case: Mapping[str, Any]) -> bool:
    """Return whether a case is about more than one pattern: what is said beside it, or another."""
    return case["construct"] == "replaced" or cooldown_of(case) is not None


def cooldown_of(case: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return how long alerts are held back after one, and by what; that is said beside patterns."""
    emit = case["params"].get("emit")
    return emit if isinstance(emit, Mapping) and emit["mode"] == "cooldown" else None


def expected(case: Mapping[str, Any]) -> list[Any]:
    """Return the numbers of the events that alert: all, where each event has its value."""
    if case["construct"] in _WITH_VALUES:
        return [each[0] for each in case["expected"]]
    return list(case["expected"])


def alerts(case: Mapping[str, Any]) -> list[Any]:
    """Return the numbers of the events at which the rule of a case alerts, in order.

    Raises:
        NotSayable: there are no words for it.
    """
    rows = [row_of(case, event) for event in on_time(case["events"])]
    found = find_matches(
        Pattern.begin("event").where(condition_of(case)),
        sorted(rows, key=lambda event: event["ts"]),
        order_by=case.get("order_by"),
        schema=Schema.from_ddl(columns_of(case)),
        warn=False,
    )
    return [match.steps["event"][0]["n"] for match in found.matches]


def columns_of(case: Mapping[str, Any]) -> str:
    """Return the columns of the events of a case, with those of the value expected, as DDL."""
    return f"{_COLUMNS}, low {_value_type(case)}, high {_value_type(case)}"


def on_time(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the events of a case that are not late, in order of arrival."""
    watermark_ms, found = -(2**63), []
    for event in events:
        if "watermark" in event:
            watermark_ms = max(watermark_ms, event["watermark"])
        elif "n" in event and event["ts"] > watermark_ms:
            found.append(event)
    return found


def condition_of(case: Mapping[str, Any]) -> str:
    """Return the condition of the only step of the rule.

    Raises:
        NotSayable: there are no words for it.
    """
    params = case["params"]
    match case["construct"]:
        case "window_value":
            window = window_sql(params["window"])
            if "at" in params:
                places = ", ".join(map(str, params["at"]))
                return f"n IN ({places}) AND {window} BETWEEN low AND high"
            return _has_value(case, window)
        case "window_condition" | "threshold":
            return _threshold(params)
        case "sets":
            return set_sql(params)
        case "tumbling":
            numbers = ", ".join(str(each[0]) for each in case["expected"]) or "0"
            is_right = _has_value(case, tumbling_value_sql(params))
            return f"{tumbling_sql(params)} AND (n NOT IN ({numbers}) OR {is_right})"
        case "first_seen" if "max_values" not in params:
            return _first_seen(params)
        case _:
            raise NotSayable


def _has_value(case: Mapping[str, Any], window: str) -> str:
    if _value_type(case) != "DOUBLE":
        return f"{window} IS NOT DISTINCT FROM low"
    return f"low IS NULL AND {window} IS NULL OR {window} BETWEEN low AND high"


def _first_seen(params: Mapping[str, Any]) -> str:
    where = on_event(params["where"]) if "where" in params else "TRUE"
    keys = f"PARTITION BY {', '.join(params['per'])} " if params["per"] else ""
    within = params["within_ms"]
    frame = "" if within is None else f"LAST INTERVAL '{within}' MILLISECOND "
    learning, conditions = params.get("learning"), [where]
    if learning is not None and learning["from"] == "key":
        frame += f"LEARNING INTERVAL '{learning['ms']}' MILLISECOND"
    elif learning is not None:
        before = f"INTERVAL '{learning['ms']}' MILLISECOND PRECEDING"
        conditions.append(f"COUNT(*) OVER (RANGE BETWEEN UNBOUNDED PRECEDING AND {before}) > 0")
    of = ", ".join(params["of"])
    conditions.append(f"FIRST_SEEN({of}) FILTER (WHERE {where}) OVER ({keys}{frame})")
    return " AND ".join(f"({each})" for each in conditions)


def _threshold(params: Mapping[str, Any]) -> str:
    condition, emit = _on_windows(params["condition"]), params["emit"]
    where = on_event(params["where"]) if "where" in params else "TRUE"
    keys = ", ".join(emit.get("by", ()))
    over = f"FILTER (WHERE {where}) OVER (PARTITION BY {keys}"
    match emit["mode"]:
        case "every" | "cooldown":
            alert = condition
        case "edge":
            alert = f"BECOMES_TRUE({condition}) {over})"
        case "hysteresis":
            alert = f"BECOMES_TRUE({condition}, {_on_windows(emit['rearm'])}) {over})"
        case "quiet":
            alert = f"BECOMES_TRUE({condition}) {over} LAST INTERVAL '{emit['ms']}' MILLISECOND)"
        case "crossing":
            alert = f"CROSSES({condition})"
        case _:
            raise NotSayable
    return f"({where}) AND ({alert})"


def _on_windows(condition: Sequence[Any]) -> str:
    match condition:
        case ["and" | "or" as word, *parts]:
            return f" {word.upper()} ".join(f"({_on_windows(part)})" for part in parts)
        case ["not", part]:
            return f"NOT ({_on_windows(part)})"
        case [operator, left, right]:
            return f"{_operand(left)} {operator} {_operand(right)}"
        case _:
            raise NotSayable


def _operand(operand: Mapping[str, Any]) -> str:
    match operand:
        case {"window": window}:
            return window_sql(window)
        case {"const": value}:
            return constant(value)
        case {"field": name}:
            return str(name)
        case {"times": factor, "of": of}:
            return f"{factor} * {_operand(of)}"
        case _:
            raise NotSayable


def _value_type(case: Mapping[str, Any]) -> str:
    if case["construct"] not in _WITH_VALUES:
        return "BIGINT"
    window = case["params"].get("window", case["params"])
    if "count" in window["agg"]:
        return "BIGINT"
    is_of_value = window["agg"] in {"sum", "min", "max", "percentile_disc", "approx_percentile"}
    return _TYPES.get(window["of"][0], "STRING") if is_of_value else "DOUBLE"


def row_of(case: Mapping[str, Any], event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event with the values between which the window is right there."""
    return {**event, **_bounds(case, event)}


def _bounds(case: Mapping[str, Any], event: Mapping[str, Any]) -> dict[str, Any]:
    if case["construct"] not in _WITH_VALUES:
        return {}
    answers = {each[0]: each[1:] for each in case["expected"]}
    value, *bounds = answers.get(event["n"], [None])
    if bounds:
        return {"low": bounds[0], "high": bounds[1]}
    if value is None or _value_type(case) != "DOUBLE":
        return {"low": value, "high": value}
    margin = abs(value) * _TOLERANCE
    return {"low": value - margin, "high": value + margin}
