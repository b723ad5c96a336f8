"""Patterns with parameters: they find what the same patterns with constants written in find."""

import re
from typing import Any

import polars as pl
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from cep.definition.checking import check_definition
from cep.definition.document import ProcessorDocument
from cep.definition.rule_files import read_documents
from cep.pattern.document.reading import examine_document
from percept import BatchMatcher, Pattern, PatternError, Schema, find_matches
from tests.brute_force.strategies import event_lists, patterns
from tests.matching.compiled_machine import machines_of
from tests.properties import slow_property

SCHEMA = Schema.from_ddl("ts BIGINT, id BIGINT, name STRING, price DOUBLE")
CONSTANT = re.compile(r"'([^']*)'|\b\d+(?:\.\d+)?\b")


def parameterised(document: Any, parameters: dict[str, Any]) -> Any:
    """Return a document with a parameter for each constant in its conditions."""

    def declared(found: re.Match[str]) -> str:
        name = f"p{len(parameters)}"
        if found[1] is not None:
            parameters[name] = {"type": "STRING", "value": found[1]}
        elif found[0].isdecimal():
            parameters[name] = {"type": "BIGINT", "value": int(found[0])}
        else:
            digits = len(found[0].partition(".")[2])
            parameters[name] = {"type": f"DECIMAL(20,{digits})", "value": found[0]}
        return f":{name}"

    match document:
        case dict():
            return {
                key: CONSTANT.sub(declared, value)
                if key in {"where", "until"} and isinstance(value, str)
                else parameterised(value, parameters)
                for key, value in document.items()
            }
        case list():
            return [parameterised(part, parameters) for part in document]
        case _:
            return document


def found_in(rules: dict[str, Pattern], events: list[dict[str, Any]], kind: str) -> list[Any]:
    frame = pl.DataFrame(
        [(e["ts"], e["id"], e["name"], e["price"]) for e in events],
        schema=SCHEMA.to_polars(),
        orient="row",
    )
    with machines_of(kind):
        matcher = BatchMatcher(rules, schema=SCHEMA)
        assert len(matcher.matcher.shapes) == 1
        return [(each.rule, each.time_ms, each.steps) for each in matcher.process(frame)]


@given(patterns(), event_lists())
def test_a_rule_finds_what_it_finds_with_constants(
    document: dict[str, Any], events: list[dict[str, Any]]
) -> None:
    try:
        pattern = Pattern.from_document(document, flink_quirks=True)
    except PatternError:
        reject()
    parameters: dict[str, Any] = {}
    other = parameterised(pattern.to_document(), parameters)
    with_parameters = Pattern.from_document({"parameters": parameters} | other)
    assert with_parameters.to_document()["steps"] == other["steps"]
    wanted = find_matches(pattern, events)
    found = find_matches(with_parameters, events)
    assert (found.matches, found.timed_out) == (wanted.matches, wanted.timed_out)


CLAUSE = """MATCH_RECOGNIZE (
  ORDER BY ts
  MEASURES SUM(A.price) * {factor} AS total
  PATTERN (A{{1,2}} B)
  DEFINE A AS price > {low} OR name = {name}, B AS price < {low} AND PREV(price) <> {factor}
)"""


@given(event_lists(), st.integers(0, 4), st.sampled_from(["a", "b", "it's", "') OR TRUE --"]))
def test_a_clause_finds_what_it_finds_with_constants(
    events: list[dict[str, Any]], low: int, name: str
) -> None:
    quoted = "'" + name.replace("'", "''") + "'"
    plain = Pattern.from_sql(CLAUSE.format(factor="2", low=low, name=quoted))
    text = CLAUSE.format(factor=":factor", low=":within", name=":name")
    parameters = {
        "factor": {"type": "BIGINT", "value": 2},
        "within": {"type": "BIGINT", "value": low},
        "name": {"type": "STRING", "value": name},
    }
    document = {"parameters": parameters, "match_recognize": text}
    pattern = Pattern.from_document(document)
    assert pattern.to_document() == document
    assert find_matches(pattern, events).matches == find_matches(plain, events).matches


@pytest.mark.parametrize("kind", ["compiled", "interpreted"])
@slow_property()
@given(events=event_lists(max_size=20))
def test_rules_with_other_values_share_a_machine(kind: str, events: list[dict[str, Any]]) -> None:
    def rules(price: str, **more: Any) -> Pattern:
        low = {"name": "low", "where": f"price <= {price}"}
        high = {"name": "high", "contiguity": "followed_by", "where": f"price > {price}"}
        return Pattern.from_document({"steps": [low, high], "within_ms": 20} | more)

    prices = (0.5, 1.0, 2.0)
    plain = {f"{price}": rules(f"{price}e0") for price in prices}
    declared = [{"price": {"type": "DOUBLE", "value": price}} for price in prices]
    others = {
        f"{price}": rules(":price", parameters=parameters)
        for price, parameters in zip(prices, declared, strict=True)
    }
    assert found_in(others, events, kind) == found_in(plain, events, kind)


def test_values_survive_the_forms_of_a_pattern() -> None:
    pattern = Pattern.from_document(
        {
            "parameters": {
                "limit": {"type": "DECIMAL(10,2)", "value": "1.50", "min": "0.00", "max": "9.00"},
                "who": {"type": "STRING", "value": "a", "values": ["a", "b"], "description": "x"},
            },
            "steps": [{"name": "a", "where": "price > :limit AND name = :who"}],
        }
    )
    assert Pattern.from_document(pattern.to_document()) == pattern
    assert Pattern.from_yaml(pattern.to_yaml()) == pattern
    assert Pattern.from_json(pattern.to_json()) == pattern


def test_the_builder_declares_them_at_the_beginning() -> None:
    declared = {"limit": {"type": "DOUBLE", "value": 2, "min": 0}}
    pattern = Pattern.begin("a", parameters=declared).where("price > :limit").or_where("id = 7")
    group = Pattern.begin("b", parameters=declared).where("price < :limit").next("c")
    whole = pattern.followed_by(group).times(2)
    assert [parameter.name for parameter in whole.parameters] == ["limit"]
    assert Pattern.from_document(whole.to_document()) == whole
    assert Pattern.parse(str(whole)) == whole
    with pytest.raises(PatternError, match="there is no parameter limit"):
        Pattern.begin("a").where("price > :limit")
    with pytest.raises(PatternError, match="differs from that of the pattern"):
        Pattern.begin("a").next(group).next(
            Pattern.begin("d", parameters={"limit": {"type": "DOUBLE", "value": 3}})
        )
    with pytest.raises(PatternError, match="below the minimum"):
        Pattern.begin("a", parameters={"limit": {"type": "DOUBLE", "value": -1, "min": 0}})
    with pytest.raises(PatternError, match="Did you mean 'value'"):
        Pattern.begin("a", parameters={"limit": {"type": "DOUBLE", "valu": -1}})


@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        ({"x": {"type": "BIGINT", "value": 1, "min": 2}}, "parameters.x.value"),
        ({"x": {"type": "BIGINT", "value": 1, "values": [2]}}, "parameters.x.value"),
        (
            {"x": {"type": "BIGINT", "value": 1, "max": 1, "values": [1, 2]}},
            "parameters.x.values[1]",
        ),
        ({"x": {"type": "BIGINT", "value": 1, "values": ["a"]}}, "parameters.x.values[0]"),
        ({"x": {"type": "STRING", "value": "a", "min": "a"}}, "parameters.x.min"),
        ({"x": {"type": "MAP", "value": 1}}, "parameters.x.type"),
        ({"x": {"type": "BIGINT"}}, "parameters.x.value"),
        ({"x": {"type": "BIGINT", "value": None}}, "parameters.x.value"),
        ({"x": {"type": "BIGINT", "value": 1, "maximum": 1}}, "parameters.x.maximum"),
        ({"python": {"type": "BIGINT", "value": 1}}, "parameters.python"),
        ({"a b": {"type": "BIGINT", "value": 1}}, "parameters.a b"),
        ([], "parameters"),
    ],
)
@pytest.mark.parametrize("language", ["steps", "match_recognize"])
def test_what_is_wrong_is_told_with_its_place(parameters: Any, path: str, language: str) -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES 1 AS one PATTERN (A) DEFINE A AS id > :x)"
    pattern = {"steps": [{"name": "a", "where": "id > :x"}], "match_recognize": clause}
    document = {"parameters": parameters, language: pattern[language]}
    found = examine_document(document, None).problems
    paths = {problem.path.removesuffix(".[key]") for problem in found}
    assert any(each.startswith(path) for each in paths), found


def test_a_mistake_in_a_file_has_its_line_and_column(tmp_path: Any) -> None:
    file = tmp_path / "rule.yaml"
    file.write_text(
        "id: r\nstream: s\nparameters:\n  limit:\n    type: DOUBLE\n    value: -1\n    min: 0\n"
        "pattern:\n  steps:\n    - name: a\n      where: price > :limit\n"
    )
    (document,), _ = read_documents([file])
    (problem,) = check_definition(document.data, SCHEMA, ProcessorDocument).problems
    told = document.in_file(problem)
    assert (problem.path, told.line, told.column) == ("parameters.limit.value", 6, 5)


def test_many_uses_of_long_lists_are_refused_before_anything_is_made_of_them() -> None:
    listed = {"ids": {"type": "ARRAY<BIGINT>", "value": list(range(1_000))}}
    often = " OR ".join(["id IN :ids"] * 9)
    steps = [{"name": f"s{number}", "where": often} for number in range(3)]
    for number in range(1, 3):
        steps[number]["contiguity"] = "next"
    (problem,) = examine_document({"parameters": listed, "steps": steps}, SCHEMA).problems
    assert (problem.path, "27000 values" in problem.message) == ("steps[2].where", True)
    assert not examine_document({"parameters": listed, "steps": steps[:2]}, SCHEMA).problems
    defined = "DEFINE A AS {0}, B AS {0}, C AS {0}"
    clause = f"MATCH_RECOGNIZE (ORDER BY ts MEASURES 1 AS x PATTERN (A B C) {defined})"
    row_pattern = {"parameters": listed, "match_recognize": clause.format(often)}
    (problem,) = examine_document(row_pattern, SCHEMA).problems
    assert "27000 values" in problem.message
    document = {
        "id": "r",
        "stream": "s",
        "pattern": {"parameters": listed, "steps": steps[:1]},
        "select": {f"c{number}": often.replace("id IN", "s0.id IN") for number in range(3)},
    }
    (problem,) = check_definition(document, SCHEMA, ProcessorDocument).problems
    assert (problem.path, "27000 values" in problem.message) == ("select", True)


def test_a_list_finds_what_its_constants_find() -> None:
    events = [{"ts": n, "id": n, "name": "ab"[n % 2], "price": None} for n in range(6)]
    parameters = {"ids": {"type": "ARRAY<INT>", "value": [1, 2, 5]}}
    sql = (
        "MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(A.id) AS x PATTERN (A+) DEFINE A AS id IN {})"
    )
    where = "id IN {} AND name = 'a'"
    steps: dict[str, Any] = {"steps": [{"name": "a", "where": where.format(":ids")}]}
    pairs: list[tuple[dict[str, Any], Pattern]] = [
        (steps, Pattern.begin("a").where(where.format("(1, 2, 5)"))),
        ({"match_recognize": sql.format(":ids")}, Pattern.from_sql(sql.format("(1, 2, 5)"))),
    ]
    for listed, plain in pairs:
        pattern = Pattern.from_document({"parameters": parameters} | listed)
        assert find_matches(pattern, events).matches == find_matches(plain, events).matches != []
