"""`IN LIST('vip')`: read, checked against the lists of a stream, evaluated alike both ways."""

from datetime import UTC, date, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.expression import (
    EvaluationError,
    Expression,
    ExpressionError,
    Schema,
    check,
    compile_columnar,
    compile_predicate,
    compile_scalar,
    mapping_reader,
    resolve,
    to_sql,
)
from cep.expression.lists import ListContent, Member, ValueList
from cep.expression.types import BIGINT, BOOLEAN, DATE, STRING, DataType
from cep.pattern import Pattern, PatternError
from cep.row_pattern.analysis.analyse import analyse

DDL = "user STRING, id INT, day DATE, at TIMESTAMP, _ms BIGINT"


def content(data_type: DataType, *values: Member) -> ListContent:
    return ListContent(repr(values), data_type, lambda: values)


def one(name: str, data_type: DataType, *values: Member) -> ValueList:
    return ValueList(name, data_type, ((0, content(data_type, *values)),))


LISTS = (
    one("vip", STRING, "ann", "bob"),
    one("ids", BIGINT, 1, 2**40),
    one("days", DATE, date(2024, 1, 31)),
    one("none", STRING),
)
SCHEMA = Schema.from_ddl(DDL, LISTS)


def mistakes(text: str, schema: Schema = SCHEMA) -> list[str]:
    found = check(Expression.parse(text), schema=schema, steps=("a",), expects=BOOLEAN)
    return [f"{each.line}:{each.column} {each.message} ({each.hint})" for each in found]


def both_ways(text: str, schema: Schema, events: list[dict[str, object]]) -> list[bool | None]:
    """Evaluate in columns and event by event; they must agree."""
    node = resolve(Expression.parse(text), (), schema)
    frame = pl.DataFrame(events, schema=schema.to_polars())
    columns = frame.select(compile_columnar(node, schema)).to_series().to_list()
    scalar, predicate = compile_scalar(node), compile_predicate(node)
    assert [scalar(event, ()) for event in events] == columns
    assert [predicate(event, ()) for event in events] == [each is True for each in columns]
    return columns


def event(**values: object) -> dict[str, object]:
    return dict.fromkeys(("user", "id", "day", "at", "_ms")) | values


def test_values_of_each_type_are_found_and_null_is_unknown() -> None:
    events = [
        event(user="ann", id=1, day=date(2024, 1, 31)),
        event(user="cem", id=2, day=date(2024, 2, 1)),
        event(),
    ]
    for text in ("user IN LIST('vip')", "id IN list('ids')", "day IN LIST('days')"):
        assert both_ways(text, SCHEMA, events) == [True, False, None]
    assert both_ways("user NOT IN LIST('vip')", SCHEMA, events) == [False, True, None]
    assert both_ways("UPPER(user) IN LIST('vip')", SCHEMA, events) == [False, False, None]
    assert both_ways("user IN LIST('none') OR id > 1", SCHEMA, events) == [False, True, None]
    assert both_ways("NULL IN LIST('vip')", SCHEMA, events) == [None, None, None]
    assert both_ways("'ann' IN LIST('vip')", SCHEMA, events) == [True, True, True]


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.sets(st.sampled_from("abcd"))), min_size=1),
    st.lists(st.tuples(st.sampled_from([*"abcde", None]), st.integers(-7, 7))),
)
def test_the_version_in_effect_at_the_time_of_the_event_counts(
    versions: list[tuple[int, set[str]]], events: list[tuple[str | None, int]]
) -> None:
    ordered = dict(sorted(versions))
    contents = tuple((at, content(STRING, *sorted(values))) for at, values in ordered.items())
    schema = Schema.from_ddl(DDL, (ValueList("vip", STRING, contents, "_ms"),))

    def expected(user: str | None, time_ms: int) -> bool | None:
        begun = [at for at in ordered if at <= time_ms] or [min(ordered)]
        return None if user is None else user in ordered[begun[-1]]

    found = both_ways(
        "user IN LIST('vip')", schema, [event(user=user, _ms=at) for user, at in events]
    )
    assert found == [expected(*each) for each in events]


def test_it_is_written_and_read_back_and_keeps_its_place() -> None:
    expression = Expression.parse("a.user IN LIST('o''brien') AND NOT id IN LIST('ids')")
    assert Expression.parse(to_sql(expression.root)).root == expression.root


def test_unknown_lists_and_wrong_types_are_told_with_their_place() -> None:
    assert mistakes("user IN LIST('vip') AND id IN LIST('ids')") == []
    assert mistakes("id = 1 AND user IN LIST('vpi')") == [
        "1:12 there is no list 'vpi' (did you mean vip?)"
    ]
    assert mistakes("id IN LIST('vip')") == [
        "1:1 the list 'vip' is of STRING, this is a BIGINT (cast it: CAST(... AS STRING))"
    ]
    assert mistakes("CAST(id AS STRING) IN LIST('vip')") == []
    assert mistakes("user IN LIST('x')", Schema.from_ddl(DDL, ())) == [
        "1:1 there is no list 'x' (its stream has no lists)"
    ]
    assert mistakes("user IN LIST('x')", Schema.from_ddl(DDL)) == []  # nobody knows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user IN LIST(vip)", "LIST needs a constant text in single quotes"),
        ("user IN LIST('a', 'b')", "LIST takes the name of one list"),
        ("user IN LIST()", "LIST takes the name of one list"),
        ("user = LIST('vip')", "there is no function LIST"),
        (
            "COUNT(a.user IN LIST('vip')) > 1",
            "a list of the stream cannot stand within an aggregate",
        ),
    ],
)
def test_what_is_no_list_is_refused(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        Expression.parse(text)
    assert refused.value.message == message


def test_a_list_that_nobody_gave_cannot_be_evaluated() -> None:
    node = resolve(Expression.parse("user IN LIST('vip')"), (), Schema.from_ddl(DDL))
    with pytest.raises(ExpressionError, match="the values of the list 'vip' are not known here"):
        compile_scalar(node)
    with pytest.raises(ExpressionError, match="are not known here"):
        compile_columnar(node, Schema.from_ddl(DDL))


def test_a_value_of_another_type_is_an_error_where_types_are_not_known() -> None:
    node = resolve(Expression.parse("user IN LIST('days')"), (), SCHEMA)
    test = compile_scalar(node, mapping_reader)
    for value in ("2024-01-31", datetime(2024, 1, 31, tzinfo=UTC), True):
        with pytest.raises(EvaluationError, match="cannot evaluate"):
            test({"user": value}, ())


def test_a_clause_tests_lists_where_it_defines_variables() -> None:
    clause = (
        "MEASURES A.user AS who PATTERN (A B) "
        "DEFINE A AS user IN LIST('vip'), B AS id IN LIST('ids') AND PREV(id) = 1"
    )
    query = Pattern.from_sql(f"MATCH_RECOGNIZE ({clause})", schema=SCHEMA)
    assert query.list_names == ("ids", "vip")
    assert query.query is not None
    analyse(query.query.clause, SCHEMA)
    with pytest.raises(PatternError, match="there is no list 'vpi'"):
        Pattern.from_sql(
            "MATCH_RECOGNIZE (MEASURES A.id AS i PATTERN (A) DEFINE A AS user IN LIST('vpi'))",
            schema=SCHEMA,
        )


@pytest.mark.parametrize(
    "clause",
    [
        "MEASURES A.user IN LIST('vip') AS v PATTERN (A) DEFINE A AS TRUE",
        "MEASURES A.id AS i PATTERN (A) DEFINE A AS PREV(user) IN LIST('vip')",
        "MEASURES A.id AS i PATTERN (A) DEFINE A AS user IN LIST('vip') OR PREV(id) = 1",
        "MEASURES A.id AS i PATTERN (A) DEFINE A AS PREV(user IN LIST('vip'))",
    ],
)
def test_what_may_be_tested_late_asks_no_list(clause: str) -> None:
    with pytest.raises(PatternError, match="asked for the row under test alone"):
        Pattern.from_sql(f"MATCH_RECOGNIZE ({clause})", schema=SCHEMA)


def test_a_pattern_says_which_lists_it_names() -> None:
    pattern = (
        Pattern.begin("a")
        .where("user IN LIST('vip')")
        .followed_by("b")
        .where("COUNT(a.id) > 1 OR id IN LIST('ids') OR a.user IN LIST('vip')")
    )
    assert pattern.list_names == ("ids", "vip")
