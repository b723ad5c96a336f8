"""Trees back to text: for messages, and so that a tree can be parsed again to an equal one."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Final

from cep.expression import tree
from cep.expression.functions.table import OPERATORS
from cep.expression.rewrite import rebuilt
from cep.expression.temporal import INTERVAL_UNITS, UNIT_MICROSECONDS
from cep.expression.tree import Constant, Node

_MOST_TOLD: Final = 1_000
_WORD_START = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
_UNITS_MS: Final = tuple(
    (unit, UNIT_MICROSECONDS[unit] // 1_000)
    for unit in INTERVAL_UNITS
    if unit not in {"WEEK", "MICROSECOND"}
)
_MICROSECOND = timedelta(microseconds=1)


def to_sql(node: Node) -> str:  # noqa: C901, PLR0911, PLR0912 - one line per kind of node
    """Return the node as SQL text; every compound operand stands in brackets."""
    match node:
        case tree.Literal(value=value):
            return _constant(value)
        case tree.Field(path=path):
            return ".".join(map(quoted_name, path))
        case tree.Aggregate(function=function, step=step, operand=operand):
            inner = f"{quoted_name(step)}.*" if operand is None else _of_step(operand, step)
            return f"{function}({inner})"
        case tree.Window():
            return _window(node)
        case tree.And(operands=operands):
            return " AND ".join(map(_bracketed, operands))
        case tree.Or(operands=operands):
            return " OR ".join(map(_bracketed, operands))
        case tree.Not(operand=operand):
            return f"NOT {_bracketed(operand)}"
        case tree.Comparison(operator=operator, left=left, right=right):
            return f"{_bracketed(left)} {operator} {_bracketed(right)}"
        case tree.IsDistinct(left=left, right=right):
            return f"{_bracketed(left)} IS DISTINCT FROM {_bracketed(right)}"
        case tree.IsNull(operand=operand):
            return f"{_bracketed(operand)} IS NULL"
        case tree.IsTruth(operand=operand, value=value):
            return f"{_bracketed(operand)} IS {str(value).upper()}"
        case tree.In(operand=operand, items=items):
            return f"{_bracketed(operand)} IN ({', '.join(map(to_sql, items))})"
        case tree.InList(operand=operand, name=name):
            return f"{_bracketed(operand)} IN LIST({_constant(name)})"
        case tree.Like(operand=operand, pattern=pattern, escape=escape):
            escaping = f" ESCAPE {_constant(escape)}" if escape else ""
            return f"{_bracketed(operand)} LIKE {_constant(pattern)}{escaping}"
        case tree.RegexLike(operand=operand, pattern=pattern):
            return f"{_bracketed(operand)} RLIKE {_constant(pattern)}"
        case tree.Case(branches=branches, default=default):
            whens = " ".join(f"WHEN {to_sql(c)} THEN {to_sql(value)}" for c, value in branches)
            return f"CASE {whens} ELSE {to_sql(default)} END"
        case tree.Coalesce(operands=operands):
            return f"COALESCE({', '.join(map(to_sql, operands))})"
        case tree.Cast(operand=operand, data_type=data_type):
            return f"CAST({to_sql(operand)} AS {data_type})"
        case tree.HigherOrderCall(function=function, array=array, variable=variable, body=body):
            return f"{function}({to_sql(array)}, {quoted_name(variable)} -> {to_sql(body)})"
        case tree.Variable(name=name):
            return quoted_name(name)
        case tree.Member(operand=operand, name=name):
            return f"{_bracketed(operand)}.{quoted_name(name)}"
        case tree.Call(function="NEGATE", arguments=(operand,)):
            return f"-({to_sql(operand)})"
        case tree.Call(function=function, arguments=(left, right)) if function in OPERATORS:
            return f"{_bracketed(left)} {function} {_bracketed(right)}"
        case tree.Call(function=function, arguments=arguments):
            return f"{function}({', '.join(map(to_sql, arguments))})"


def short_sql(node: Node) -> str:
    """Return the node as SQL for a message; a long one, as with a list in it, is cut."""
    text = to_sql(node)
    return text if len(text) <= _MOST_TOLD else f"{text[:_MOST_TOLD]}…"


def quoted_name(name: str) -> str:
    """Return a name as it can be written, in backquotes unless it is a plain word."""
    is_word = name[:1] in set(_WORD_START) and name.replace("_", "a").isalnum() and name.isascii()
    return name if is_word and name.upper() not in _RESERVED else f"`{name.replace('`', '``')}`"


_WORDS: Final = (
    "AND OR NOT IN IS LIKE RLIKE BETWEEN CASE WHEN THEN ELSE END NULL TRUE FALSE INTERVAL "
    "DATE TIMESTAMP TIMESTAMP_NTZ CAST EXTRACT DISTINCT SELECT FROM WHERE HAVING UNION "
    "EXCEPT INTERSECT VALUES WITH AS ON USING JOIN CROSS GRANT INTO DIV ESCAPE EXISTS"
)
_RESERVED: Final = frozenset(_WORDS.split())
"""Words the parser does not read as a column."""


def _bracketed(node: Node) -> str:
    text = to_sql(node)
    is_number = isinstance(node, tree.Literal) and isinstance(node.value, int | float | Decimal)
    simple = isinstance(
        node,
        tree.Literal
        | tree.Field
        | tree.Aggregate
        | tree.Window
        | tree.Coalesce
        | tree.Cast
        | tree.Variable
        | tree.Member
        | tree.HigherOrderCall,
    )
    return text if simple and not (is_number and text.startswith("-")) else f"({text})"


def _window(window: tree.Window) -> str:
    of = ", ".join(map(to_sql, window.operands)) or "*"
    called = f"{window.function}({'DISTINCT ' if window.is_distinct else ''}{of})"
    if window.share is not None:
        called = f"{window.function}({window.share:f}) WITHIN GROUP (ORDER BY {of})"
    if window.condition is not None:
        called += f" FILTER (WHERE {to_sql(window.condition)})"
    keys = ", ".join(map(_bracketed, window.partition_by))
    return f"{called} OVER ({f'PARTITION BY {keys} ' if keys else ''}{_frame(window.frame)})"


def _frame(frame: tree.Frame) -> str:
    begin = "UNBOUNDED PRECEDING"
    if frame.begin is not None:
        begin = f"{_distance(frame.begin, frame.unit)} PRECEDING"
    begin += " EXCLUSIVE" * frame.is_begin_exclusive
    end = "CURRENT EVENT" if frame.unit is tree.FrameUnit.RANGE else "CURRENT ROW"
    if frame.end is not None:
        end = f"{_distance(frame.end, frame.unit)} PRECEDING{' EXCLUSIVE' * frame.is_end_exclusive}"
    elif frame.has_peers:
        end = "CURRENT ROW"
    text = f"{frame.unit} BETWEEN {begin} AND {end}"
    if frame.is_begin_exclusive and end == "CURRENT EVENT" and frame.begin is not None:
        text = f"LAST {_distance(frame.begin, frame.unit)}"
    is_whole = frame.exclusion is tree.Exclusion.NOTHING
    return text if is_whole else f"{text} EXCLUDE {frame.exclusion}"


def _distance(distance: int, unit: tree.FrameUnit) -> str:
    if unit is not tree.FrameUnit.RANGE:
        return str(distance)
    name, size = next(each for each in _UNITS_MS if not distance % each[1])
    return f"INTERVAL '{distance // size}' {name}"


def _of_step(operand: Node, step: str) -> str:
    """The operand of an aggregate with the step name in front of its fields."""

    def within(node: Node) -> Node:
        return (
            tree.Field((step, *node.path))
            if isinstance(node, tree.Field)
            else rebuilt(node, within)
        )

    return to_sql(within(operand))


def _constant(value: Constant) -> str:  # noqa: PLR0911 - one line per type
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case float():
            return _double(value)
        case Decimal():
            text = format(value, "f")
            return text if "." in text else f"{text}BD"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime():
            return f"TIMESTAMP '{value.isoformat(' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case timedelta():
            return f"INTERVAL '{value // _MICROSECOND}' {INTERVAL_UNITS[-1]}"
        case int():
            return str(value)


def _double(value: float) -> str:
    text = repr(value)
    if text in {"nan", "inf", "-inf"}:
        return f"CAST('{text}' AS DOUBLE)"
    return text if "e" in text else f"{text}e0"
