"""docs/expressions.md: every example has the result of the page, and no function is left out."""

import json
import re
from math import isnan
from typing import Any

import pytest

from cep.expression import (
    AggregateFunction,
    EvaluationError,
    Expression,
    ExpressionError,
    compile_scalar,
    mapping_reader,
    resolve,
)
from cep.expression.evaluation.scalar import no_slots
from cep.expression.functions.table import ALIASES, FUNCTIONS, OPERATORS, UNWRITTEN
from cep.expression.parsing.parser import CASTS, MAX_TREE_DEPTH
from cep.expression.parsing.syntax import MAX_BRACKET_DEPTH, MAX_TEXT_LENGTH
from cep.expression.tree import HigherOrderFunction, WindowFunction, windows_of
from percept import Pattern, ProcessContext, SelectExpressions
from tests.docs.fences import ROOT, fences, rows
from tests.docs.notation import event_of

PAGE = "docs/expressions.md"
(EVENT,) = (json.loads(fence.text) for fence in fences(PAGE) if fence.language == "json")
PAYMENTS = [event_of(name) for name in ("p1:20", "p2:30", "p3")]

FUNCTION_ROWS = rows(PAGE, "Function", "Example", "Result")
EXAMPLES = [
    *((row["Expression"], row["Result"]) for row in rows(PAGE, "Expression", "Result", "")),
    *((row["Example"], row["Result"]) for row in rows(PAGE, "Operator", "Example", "Result")),
    *((row["Example"], row["Result"]) for row in FUNCTION_ROWS),
]
# Read by the parser itself: their arguments are not evaluated like those of a function.
SPECIAL = {
    *("COALESCE", "IFNULL", "NVL", "NULLIF", "IF", "MOD", "RLIKE", "REGEXP_LIKE", "REGEXP"),
    *("CONVERT_TIMEZONE", *HigherOrderFunction, *CASTS),
}
OTHER_NAMES = {
    **ALIASES,
    "REGEXP_LIKE": "RLIKE",
    "REGEXP": "RLIKE",
    "NVL": "IFNULL",
    "TO_DATE": "DATE",
    "TO_TIMESTAMP": "TIMESTAMP",
}


def code(cell: str) -> str:
    """Return what stands between the backquotes of a cell."""
    match = re.fullmatch(r"(`+) ?(.*?) ?\1", cell)
    assert match is not None, f"no code: {cell}"
    return match[2]


def value_of(text: str) -> Any:
    node = resolve(Expression.parse(text), ())
    return compile_scalar(node, mapping_reader, no_slots)(EVENT, ())


def same(left: Any, right: Any) -> bool:
    both_nan = isinstance(left, float) and isinstance(right, float) and isnan(left) and isnan(right)
    return type(left) is type(right) and (both_nan or bool(left == right))


def test_each_expression_has_the_value_and_type_of_its_result() -> None:
    results = [(text, value_of(code(text)), value_of(code(shown))) for text, shown in EXAMPLES]

    assert len(results) > 70
    assert [each for each in results if not same(*each[1:])] == []


def functions(row: dict[str, str]) -> list[str]:
    return re.findall(r"`(\w+\([^`]*\))`", row["Function"])


def aliases(row: dict[str, str]) -> list[str]:
    return re.findall(r"`([A-Z_]+)`", row["Function"])


def _name(call: str) -> str:
    return call.partition("(")[0]


def test_every_function_of_the_table_is_on_the_page_and_the_other_way_round() -> None:
    shown = {_name(call) for row in FUNCTION_ROWS for call in functions(row)}
    others = {name for row in FUNCTION_ROWS for name in aliases(row)}

    assert shown | others == {*FUNCTIONS, *ALIASES, *SPECIAL} - OPERATORS - UNWRITTEN


def test_another_name_is_the_same_function() -> None:
    named = [(row, alias) for row in FUNCTION_ROWS for alias in aliases(row)]
    assert len(named) > 5
    for row, alias in named:
        name = OTHER_NAMES[alias]
        assert name in {_name(call) for call in functions(row)}, alias
        example = code(row["Example"])
        if (renamed := example.replace(name, alias, 1)) != example:
            assert same(value_of(renamed), value_of(example)), alias


def test_each_function_takes_as_many_arguments_as_shown() -> None:
    for shown in (call for row in FUNCTION_ROWS for call in functions(row)):
        name = _name(shown)
        if name in SPECIAL:
            continue
        required = shown.count(",") + 1 - shown.count("[") - shown.count("…")
        limits = FUNCTIONS[name].minimum, FUNCTIONS[name].maximum

        assert limits[0] == required, name
        assert limits[1] == required + shown.count("[") or "…" in shown, name


def test_every_arithmetic_operator_is_on_the_page() -> None:
    shown = " ".join(row["Operator"] for row in rows(PAGE, "Operator", "Example", "Result"))

    assert {operator for operator in OPERATORS if f"`{operator}`" not in shown} == set()


STEPS = Pattern.begin("pay").followed_by("refund")
AGGREGATE_ROWS = rows(PAGE, "Aggregate", "Result", "")


def test_each_aggregate_has_the_value_of_its_result() -> None:
    for row in AGGREGATE_ROWS:
        columns = SelectExpressions({"value": code(row["Aggregate"])}, STEPS)
        (output,) = columns.process_match({"pay": PAYMENTS}, ProcessContext(0, 0))

        assert same(output["value"], value_of(code(row["Result"]))), row["Aggregate"]


def test_every_aggregate_is_on_the_page() -> None:
    shown = {_name(code(row["Aggregate"])) for row in AGGREGATE_ROWS}

    assert set(AggregateFunction) <= shown


FRAME_ROWS = rows(PAGE, "Frame", "Counts")
ONCE_ROWS = rows(PAGE, "Condition", "True at an event for which `C` is true,")


def test_windows_are_read_as_they_are_written() -> None:
    texts = [
        condition
        for fence in fences(PAGE)
        if fence.heading == "Windows"
        for condition in fence.text.split("\n\n")
    ]
    texts += [f"COUNT(*) OVER (PARTITION BY user {code(row['Frame'])}) > 1" for row in FRAME_ROWS]
    once = [code(row["Condition"]).replace(", R)", ", amount < 3)") for row in ONCE_ROWS]
    texts += [re.sub(r"\bC\b", "SUM(amount) OVER (ROWS 5 PRECEDING) > 9", text) for text in once]
    assert len(texts) == 14
    for text in texts:
        Pattern.begin("a").where(text).validate()
        assert windows_of(Expression.parse(text).root), text


def test_every_window_function_is_on_the_page() -> None:
    shown = " ".join(row["Function"] for row in rows(PAGE, "Function", "Value"))
    assert [name for name in WindowFunction if f"`{name}(" not in shown] == []


def test_each_refused_expression_is_refused_for_its_reason() -> None:
    refused = rows(PAGE, "Refused", "Because")
    assert len(refused) > 5
    for row in refused:
        with pytest.raises(ExpressionError, match=re.escape(code(row["Because"]))):
            Expression.parse(code(row["Refused"]))


def test_the_limits_of_the_page_are_those_in_force() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    limits = f"{MAX_TEXT_LENGTH:,} characters, {MAX_BRACKET_DEPTH} levels of brackets"

    assert f"An expression has at most {limits} and {MAX_TREE_DEPTH} of operators." in text


def test_a_text_beside_a_number_is_an_error_when_it_comes() -> None:
    with pytest.raises(EvaluationError):
        value_of("count = '3'")
