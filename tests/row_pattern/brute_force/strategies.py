"""Hypothesis strategies: clauses over the whole grammar, and short partitions for them.

Few variables, few values and ties of time, so that candidates compete.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

COLUMNS = {"g": "STRING", "t": "TIMESTAMP", "p": "BIGINT", "q": "DOUBLE", "s": "STRING"}
Rows = tuple[tuple[Any, ...], ...]

_SELDOM = st.sampled_from([False, False, False, True])
_GREEDY = ["*", "+", "?", "?", "*", "{2}", "{1,}", "{2,}"]
_GREEDY += ["{1,2}", "{0,2}", "{,2}", "{2,3}", "{,}", "{1,3}"]
_QUANTIFIERS = st.sampled_from([*_GREEDY, *(f"{quantifier}?" for quantifier in _GREEDY)])
_MODES = ["ONE ROW PER MATCH", "ALL ROWS PER MATCH", "ALL ROWS PER MATCH OMIT EMPTY MATCHES"]
_UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"
_COMPARISON = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
_OFFSET = st.integers(0, 2)


@dataclass(frozen=True)
class Query:
    """A clause and the rows it runs over, in order of time."""

    text: str
    rows: Rows


@st.composite
def queries(draw: st.DrawFn, *, max_rows: int = 8) -> Query:
    return Query(draw(clauses()), draw(row_lists(max_size=max_rows)))


@st.composite
def nested_patterns(draw: st.DrawFn) -> Query:
    """Return a clause about nothing but the order of candidates; rows can be several variables."""
    pattern = draw(patterns())
    conditions = {"A": "p <= 3", "B": "p >= 2", "C": "p > 0", "D": "p <> 2"}
    define = [f"{name} AS {condition}" for name, condition in conditions.items() if name in pattern]
    text = (
        "MATCH_RECOGNIZE ( ORDER BY t MEASURES ARRAY_AGG(CLASSIFIER()) AS m "
        f"PATTERN ({pattern}) DEFINE {', '.join(define)} )"
    )
    return Query(text, draw(row_lists(max_size=5)))


@st.composite
def paths_seen(draw: st.DrawFn) -> Query:
    """Return a clause whose conditions ask which variables the rows before are."""
    pattern = draw(patterns())
    path = st.sampled_from(
        [
            "PREV(CLASSIFIER())",
            "PREV(CLASSIFIER(), 2)",
            "PREV(LAST(CLASSIFIER()))",
            "LAST(CLASSIFIER(), 1)",
            "FIRST(CLASSIFIER())",
            "NEXT(FIRST(CLASSIFIER()))",
        ]
    )
    variable = st.sampled_from("ABCD")
    first = next(name for name in "ABCD" if name in pattern)
    define = [
        f"{name} AS {draw(path)} {draw(st.sampled_from(['=', '<>']))} '{draw(variable)}'"
        for name in "ABCD"
        if name in pattern and draw(st.booleans())
    ]
    text = (
        "MATCH_RECOGNIZE ( ORDER BY t MEASURES ARRAY_AGG(CLASSIFIER()) AS m "
        f"PATTERN ({pattern}) DEFINE {', '.join(define) or f'{first} AS p > 0'} )"
    )
    return Query(text, draw(row_lists(max_size=5)))


@st.composite
def row_lists(draw: st.DrawFn, *, max_size: int) -> Rows:
    """Return rows in order of time, with ties and NULLs."""
    time_ms = 0
    rows: list[tuple[Any, ...]] = []
    for price in draw(st.lists(st.integers(1, 4), min_size=1, max_size=max_size)):
        time_ms += draw(st.sampled_from([1_000, 0, 2_000, 3_000]))
        key = draw(st.sampled_from(["a", "a", "a", "b", None]))
        p = None if draw(_SELDOM) and draw(_SELDOM) else price
        q = draw(st.sampled_from([0.5, 1.0, 2.5, 3.0]))
        rows.append((key, time_ms, p, q, draw(st.sampled_from(["x", "y", None]))))
    return tuple(rows)


@st.composite
def clauses(draw: st.DrawFn) -> str:
    """Return the text of a clause."""
    pattern = draw(patterns())
    variables = sorted({word for word in pattern if word in "ABCD"})
    unions = {"U": draw(st.lists(st.sampled_from(variables), min_size=1, unique=True))}
    if not draw(st.booleans()):
        unions = {}
    names = [*variables, *unions]
    measures = draw(st.lists(_measures(names), max_size=3))
    if not draw(_SELDOM):
        measures.append("ARRAY_AGG(CLASSIFIER())")  # which tells candidates apart
    modes = _MODES if "{-" in pattern else [*_MODES, _UNMATCHED]
    mode = draw(st.sampled_from([mode for mode in modes if measures or mode != _MODES[0]]))
    defined = draw(st.lists(st.sampled_from(variables), min_size=1, max_size=2, unique=True))
    conditions = [f"{name} AS {draw(_conditions(name, names))}" for name in defined]
    parts = [
        "PARTITION BY g" if draw(st.booleans()) else "",
        "ORDER BY t",
        f"MEASURES {', '.join(f'{e} AS m{i}' for i, e in enumerate(measures))}" if measures else "",
        mode,
        draw(st.sampled_from(["", *_skips(names)])),
        f"PATTERN ({pattern})",
        draw(
            st.sampled_from(["", "", "WITHIN INTERVAL '3' SECOND", "WITHIN INTERVAL '5' SECONDS"])
        ),
        "".join(f"SUBSET {union} = ({', '.join(of)})" for union, of in unions.items()),
        f"DEFINE {', '.join(conditions)}",
    ]
    return f"MATCH_RECOGNIZE ( {' '.join(part for part in parts if part)} )"


def _skips(names: Sequence[str]) -> list[str]:
    targets = ["PAST LAST ROW", "TO NEXT ROW", "TO NEXT ROW"]
    targets += [f"TO {side}{name}" for side in ("", "FIRST ", "LAST ") for name in names[-2:]]
    return [f"AFTER MATCH SKIP {target}" for target in targets]


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """Return a row pattern of variables A to D, with at least one of them."""
    pattern = draw(_patterns(3))
    return pattern if set("ABCD") & set(pattern) else f"{pattern} A"


@st.composite
def _patterns(draw: st.DrawFn, depth: int) -> str:
    """Return an alternation of sequences."""
    sequences = []
    for _ in range(draw(st.sampled_from([1, 1, 2, 3]))):
        parts = draw(st.lists(_quantified(depth), min_size=1, max_size=3))
        sequences.append(" ".join(parts))
    return " | ".join(sequences)


@st.composite
def _quantified(draw: st.DrawFn, depth: int) -> str:
    primary = draw(_primaries(depth))
    return primary if draw(_SELDOM) else f"{primary}{draw(_QUANTIFIERS)}"


@st.composite
def _primaries(draw: st.DrawFn, depth: int) -> str:
    kinds = ["variable"] * 6 + ["empty", "start", "end"]
    if depth:
        kinds += ["group"] * 4 + ["exclusion", "permutation", "permutation"]
    match draw(st.sampled_from(kinds)):
        case "variable":
            return draw(st.sampled_from("ABCD"))
        case "group":
            return f"({draw(_patterns(depth - 1))})"
        case "exclusion":
            return f"{{- {draw(_patterns(depth - 1))} -}}"
        case "permutation":
            parts = draw(st.lists(_quantified(depth - 1), min_size=1, max_size=3))
            return f"PERMUTE({', '.join(parts)})"
        case kind:
            return {"empty": "()", "start": "^", "end": "$"}[kind]


# Expressions


@st.composite
def _conditions(draw: st.DrawFn, variable: str, names: Sequence[str], depth: int = 2) -> str:
    """Return a condition of DEFINE; many look at their own row alone, so that something matches."""
    kind = draw(
        st.sampled_from(["row", "row", "compare", "compare", "text", "null", *_junctions(depth)])
    )
    number = _numbers(names, is_define=True)
    match kind:
        case "row":
            column = draw(st.sampled_from(["p", "q", f"{variable}.p"]))
            return f"{column} {draw(_COMPARISON)} {draw(st.integers(1, 4))}"
        case "compare":
            return f"{draw(number)} {draw(_COMPARISON)} {draw(number)}"
        case "text":
            operator = draw(st.sampled_from(["=", "<>"]))
            text = draw(st.sampled_from(["'x'", "'A'", "'B'", "s"]))
            return f"{draw(_texts(names))} {operator} {text}"
        case "null":
            return (
                f"{draw(number)} {draw(st.sampled_from(['IS NULL', 'IS NOT NULL', 'IN (1, 3)']))}"
            )
        case "NOT":
            return f"NOT ({draw(_conditions(variable, names, depth - 1))})"
        case _:
            left = draw(_conditions(variable, names, depth - 1))
            return f"({left}) {kind} ({draw(_conditions(variable, names, depth - 1))})"


def _junctions(depth: int) -> list[str]:
    return ["AND", "OR", "OR", "NOT"] if depth else []


@st.composite
def _measures(draw: st.DrawFn, names: Sequence[str]) -> str:
    if draw(_SELDOM):
        return f"ARRAY_AGG({draw(_columns(names))})"
    leaf = st.one_of(_numbers(names, is_define=False), _texts(names))
    return draw(leaf)


@st.composite
def _columns(draw: st.DrawFn, names: Sequence[str], columns: str = "pqt") -> str:
    name = draw(st.sampled_from(["", *names]))
    column = draw(st.sampled_from(columns))
    return f"{name}.{column}" if name else column


@st.composite
def _numbers(  # noqa: PLR0911 - one line per kind of expression
    draw: st.DrawFn, names: Sequence[str], *, is_define: bool
) -> str:
    """Return an expression that is a number."""
    column = _columns(names, "pq")
    mode = "" if is_define else draw(st.sampled_from(["", "RUNNING ", "FINAL "]))
    match draw(st.sampled_from(["column", "logical", "shift", "both", "fold", "count", "other"])):
        case "column":
            return draw(column)
        case "logical":
            return (
                f"{mode}{draw(st.sampled_from(['FIRST', 'LAST']))}({draw(column)}, {draw(_OFFSET)})"
            )
        case "shift":
            name = draw(st.sampled_from(["PREV", "NEXT"]))
            return f"{name}({draw(column)}, {draw(_OFFSET)})"
        case "both":
            inner = f"{draw(st.sampled_from(['FIRST', 'LAST']))}({draw(column)}, {draw(_OFFSET)})"
            return f"{draw(st.sampled_from(['PREV', 'NEXT']))}({mode}{inner}, {draw(_OFFSET)})"
        case "fold":
            function = draw(st.sampled_from(["SUM", "AVG", "MIN", "MAX", "COUNT"]))
            return f"{mode}{function}({draw(column)})"
        case "count":
            name = draw(st.sampled_from(names))
            counted = ["*", f"{name}.*", f"DISTINCT {name}.p"]
            counted.append(f"CASE WHEN CLASSIFIER({name}) = 'A' THEN 1 END")
            return f"{mode}COUNT({draw(st.sampled_from(counted))})"
        case _:
            name = draw(st.sampled_from(names))
            others = ["MATCH_NUMBER()", "2", f"LAST({name}.p + {name}.q)"]
            others.append(f"COALESCE({name}.p, -1)")
            return draw(st.sampled_from(others))


@st.composite
def _texts(draw: st.DrawFn, names: Sequence[str]) -> str:
    """Return an expression that is a text."""
    name = draw(st.sampled_from(["", *names]))
    column = f"{name}.s" if name else "s"
    classifier = f"CLASSIFIER({name})"
    match draw(st.sampled_from(["column", "classifier", "logical", "shift", "both"])):
        case "column":
            return column
        case "classifier":
            return classifier
        case "logical":
            function = draw(st.sampled_from(["FIRST", "LAST"]))
            return f"{function}({draw(st.sampled_from([column, classifier]))}, {draw(_OFFSET)})"
        case "shift":
            function = draw(st.sampled_from(["PREV", "NEXT"]))
            return f"{function}({draw(st.sampled_from([column, classifier]))}, {draw(_OFFSET)})"
        case _:
            function = draw(st.sampled_from(["PREV", "NEXT"]))
            inner = f"{draw(st.sampled_from(['FIRST', 'LAST']))}({classifier}, {draw(_OFFSET)})"
            return f"{function}({inner}, {draw(_OFFSET)})"
