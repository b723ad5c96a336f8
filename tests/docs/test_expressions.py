"""docs/expressions.md: every example has the result of the page, and no function is left out."""

import json
import re
from math import isnan
from typing import Any

import pytest

from cep import Pattern, ProcessContext, SelectExpressions
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
from cep.expression.parsing.parser import MAX_TREE_DEPTH
from cep.expression.parsing.syntax import MAX_BRACKET_DEPTH, MAX_TEXT_LENGTH
from tests.docs.fences import ROOT, fences, rows
from tests.docs.notation import event_of
from tests.docs.sessions import run_sessions

PAGE = "docs/expressions.md"
(EVENT,) = (json.loads(fence.text) for fence in fences(PAGE) if fence.language == "json")
PAYMENTS = [event_of(name) for name in ("p1:20", "p2:30", "p3")]

FUNCTION_ROWS = rows(PAGE, "Function", "Also", "Meaning", "Example", "Result")
EXAMPLES = [
    *((row["Expression"], row["Result"]) for row in rows(PAGE, "Expression", "Result", "")),
    *((row["Example"], row["Result"]) for row in rows(PAGE, "Operator", "Example", "Result")),
    *((row["Example"], row["Result"]) for row in FUNCTION_ROWS),
]
# Read by the parser itself: their arguments are not evaluated like those of a function.
SPECIAL = {"COALESCE", "IFNULL", "NVL", "NULLIF", "IF", "MOD"}


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


@pytest.mark.parametrize(("expression", "result"), EXAMPLES)
def test_an_expression_has_the_value_and_type_of_its_result(expression: str, result: str) -> None:
    value, shown = value_of(code(expression)), value_of(code(result))

    assert same(value, shown), f"is {value!r}, the page says {shown!r}"


def _name(cell: str) -> str:
    return code(cell).partition("(")[0]


def test_every_function_of_the_table_is_on_the_page_and_the_other_way_round() -> None:
    shown = {_name(row["Function"]) for row in FUNCTION_ROWS}
    aliases = {name for row in FUNCTION_ROWS for name in re.findall(r"`(\w+)`", row["Also"])}

    assert shown | aliases == {*FUNCTIONS, *ALIASES, *SPECIAL} - OPERATORS - UNWRITTEN


@pytest.mark.parametrize("row", [row for row in FUNCTION_ROWS if row["Also"]], ids=str)
def test_another_name_is_the_same_function(row: dict[str, str]) -> None:
    example = code(row["Example"])
    for alias in re.findall(r"`(\w+)`", row["Also"]):
        renamed = example.replace(_name(row["Function"]), alias, 1)

        assert renamed != example
        assert same(value_of(renamed), value_of(example))


@pytest.mark.parametrize("row", FUNCTION_ROWS, ids=lambda row: row["Function"])
def test_a_function_takes_as_many_arguments_as_shown(row: dict[str, str]) -> None:
    name = _name(row["Function"])
    if name in SPECIAL:
        return
    shown = code(row["Function"])
    required = shown.count(",") + 1 - shown.count("[") - shown.count("…")
    limits = FUNCTIONS[name].minimum, FUNCTIONS[name].maximum

    assert limits[0] == required
    assert limits[1] == required + shown.count("[") or "…" in shown


def test_every_arithmetic_operator_is_on_the_page() -> None:
    shown = " ".join(row["Operator"] for row in rows(PAGE, "Operator", "Example", "Result"))

    assert {operator for operator in OPERATORS if f"`{operator}`" not in shown} == set()


STEPS = Pattern.begin("pay").followed_by("refund")
AGGREGATE_ROWS = rows(PAGE, "Aggregate", "Result", "")


@pytest.mark.parametrize("row", AGGREGATE_ROWS, ids=lambda row: row["Aggregate"])
def test_an_aggregate_has_the_value_of_its_result(row: dict[str, str]) -> None:
    columns = SelectExpressions({"value": code(row["Aggregate"])}, STEPS)
    (output,) = columns.process_match({"pay": PAYMENTS}, ProcessContext(0, 0))

    assert same(output["value"], value_of(code(row["Result"])))


def test_every_aggregate_is_on_the_page() -> None:
    shown = {_name(row["Aggregate"]) for row in AGGREGATE_ROWS}

    assert set(AggregateFunction) <= shown


@pytest.mark.parametrize("row", rows(PAGE, "Refused", "Because"), ids=lambda row: row["Refused"])
def test_an_expression_is_refused_for_the_reason_given(row: dict[str, str]) -> None:
    with pytest.raises(ExpressionError, match=re.escape(code(row["Because"]))):
        Expression.parse(code(row["Refused"]))


def test_the_limits_of_the_page_are_those_in_force() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    limits = f"{MAX_TEXT_LENGTH:,} characters, {MAX_BRACKET_DEPTH} levels of brackets"

    assert f"An expression has at most {limits} and {MAX_TREE_DEPTH} of operators." in text


def test_a_text_beside_a_number_is_an_error_when_it_comes() -> None:
    with pytest.raises(EvaluationError):
        value_of("count = '3'")


def test_the_sessions_of_the_page_run_as_shown() -> None:
    tried, report = run_sessions(PAGE)

    assert report == ""
    assert tried > 2
