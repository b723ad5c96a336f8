"""Windows in expressions: what is read, written out again, typed and refused."""

from datetime import timedelta

import pytest

from cep.expression import (
    BOOLEAN,
    Expression,
    ExpressionError,
    ExpressionTooLarge,
    Schema,
    check,
    to_sql,
)
from cep.expression.checking.inference import type_of
from cep.expression.split import without_windows
from cep.expression.tree import Exclusion, Frame, FrameUnit, Literal, Window, windows_of

COLUMNS = Schema.from_ddl(
    "user STRING, ip STRING, amount BIGINT, price DECIMAL(10,2), score DOUBLE, at TIMESTAMP, "
    "tags ARRAY<STRING>"
)
HOUR_MS = 3_600_000


def window_of(text: str) -> Window:
    (window,) = windows_of(Expression.parse(text).root)
    return window


@pytest.mark.parametrize(
    ("written", "frame"),
    [
        ("LAST INTERVAL '1' HOUR", Frame(FrameUnit.RANGE, HOUR_MS, is_begin_exclusive=True)),
        (
            "LAST INTERVAL '1 hour' EXCLUDE CURRENT ROW",
            Frame(
                FrameUnit.RANGE,
                HOUR_MS,
                is_begin_exclusive=True,
                exclusion=Exclusion.CURRENT_ROW,
            ),
        ),
        ("RANGE INTERVAL '1' HOUR PRECEDING", Frame(FrameUnit.RANGE, HOUR_MS, has_peers=True)),
        (
            "RANGE BETWEEN INTERVAL '60 minutes' PRECEDING AND CURRENT ROW EXCLUDE TIES",
            Frame(FrameUnit.RANGE, HOUR_MS, has_peers=True, exclusion=Exclusion.TIES),
        ),
        ("RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT EVENT", Frame(FrameUnit.RANGE, None)),
        (
            "RANGE BETWEEN INTERVAL '2' HOUR PRECEDING AND INTERVAL '1' HOUR PRECEDING EXCLUSIVE",
            Frame(FrameUnit.RANGE, 2 * HOUR_MS, HOUR_MS, is_end_exclusive=True),
        ),
        ("ROWS 4 PRECEDING", Frame(FrameUnit.ROWS, 4)),
        ("ROWS BETWEEN 4 PRECEDING AND 1 PRECEDING", Frame(FrameUnit.ROWS, 4, 1)),
        ("FILTERED ROWS BETWEEN 4 PRECEDING AND CURRENT ROW", Frame(FrameUnit.FILTERED_ROWS, 4)),
    ],
)
def test_a_frame_is_read_and_written_out(written: str, frame: Frame) -> None:
    text = f"MAX(amount) FILTER (WHERE score > 1) OVER (PARTITION BY user, ip {written}) > 5"
    assert window_of(text).frame == frame
    again = to_sql(Expression.parse(text).root)
    assert Expression.parse(again).root == Expression.parse(text).root


@pytest.mark.parametrize(
    ("function", "data_type"),
    [
        ("COUNT(*)", "BIGINT"),
        ("COUNT(DISTINCT user, ip)", "BIGINT"),
        ("APPROX_COUNT_DISTINCT(ip)", "BIGINT"),
        ("SUM(amount)", "BIGINT"),
        ("SUM(price)", "DECIMAL(38,2)"),
        ("AVG(amount)", "DOUBLE"),
        ("AVG(price)", "DECIMAL(38,18)"),
        ("MIN(at)", "TIMESTAMP"),
        ("STDDEV(amount)", "DOUBLE"),
        ("PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY user)", "STRING"),
        ("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY amount)", "DOUBLE"),
        ("APPROX_PERCENTILE(score, 0.5)", "DOUBLE"),
    ],
)
def test_a_window_has_the_type_of_its_function(function: str, data_type: str) -> None:
    text = f"{function} OVER (PARTITION BY user LAST INTERVAL '1' DAY) IS NULL"
    assert str(type_of(window_of(text), COLUMNS)) == data_type
    assert Expression.parse(to_sql(Expression.parse(text).root)).root == Expression.parse(text).root


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("COUNT(*) OVER (PARTITION BY user) > 1", "does not say how far it reaches"),
        ("COUNT(*) FILTER (WHERE amount > 1) > 1", "FILTER is not part of the language"),
        ("COUNT(*) OVER (ORDER BY at LAST INTERVAL '1' DAY) > 1", "a window has no ORDER BY"),
        ("SUM(amount) OVER (LAST 5) > 1", "a RANGE is measured in whole milliseconds"),
        ("LENGTH(user) OVER (LAST INTERVAL '1' DAY) > 1", "this function has no OVER"),
        ("SUM(amount) OVER (ROWS BETWEEN 5 AND 3) > 1", "a bound is"),
        ("SUM(amount) OVER (ROWS BETWEEN 1 PRECEDING AND 2 PRECEDING) > 1", "ends before it"),
        ("SUM(amount) OVER (ROWS CURRENT ROW) > 1", "a window begins before the event"),
        ("SUM(amount) OVER (ROWS INTERVAL '1' DAY PRECEDING) > 1", "ROWS are counted"),
        ("SUM(DISTINCT amount) OVER (LAST INTERVAL '1' DAY) > 1", "SUM takes no DISTINCT"),
        ("SUM(amount, score) OVER (LAST INTERVAL '1' DAY) > 1", "SUM takes 1 argument, not 2"),
        ("PERCENTILE_CONT(2) WITHIN GROUP (ORDER BY amount) OVER (ROWS 1 PRECEDING) > 1", "0 to 1"),
        ("BECOMES_TRUE(amount > 1)", "there is no function BECOMES_TRUE"),
        ("BECOMES_TRUE() OVER (PARTITION BY user)", "takes a condition"),
        ("BECOMES_TRUE(amount > 1, amount < 1) OVER (LAST INTERVAL '1' DAY)", "or LAST a time"),
        ("BECOMES_TRUE(amount > 1) OVER (ROWS 1 PRECEDING)", "or LAST a time"),
        ("BECOMES_TRUE(SUM(pay.x) > 1) OVER (PARTITION BY user)", "not over those of a step"),
        ("FIRST_SEEN(ip)", "there is no function FIRST_SEEN"),
        ("FIRST_SEEN(*) OVER (PARTITION BY user)", "takes one value or more"),
        ("FIRST_SEEN(ip) OVER (PARTITION BY user ROWS 5 PRECEDING)", "as far as LAST says"),
        ("FIRST_SEEN(ip) OVER (LEARNING INTERVAL '0' DAY)", "LEARNING takes some time"),
        ("SUM(amount) OVER (ROWS 5 PRECEDING LEARNING INTERVAL '1' DAY) > 1", "only FIRST_SEEN"),
        ("CROSSES(amount > 1)", "CROSSES needs a condition with a window"),
        ("CROSSES(amount > 1, amount < 1)", "CROSSES takes one condition"),
        ("COUNT(*) OVER (FILTERED ROWS 1 PRECEDING EXCLUDE TIES) > 1", "FILTERED ROWS end at"),
        ("COUNT(*) OVER (LAST INTERVAL '1' DAY EXCLUDE ALL) > 1", "behind EXCLUDE stands one of"),
        ("COUNT(*) OVER (LAST INTERVAL '0.1' MILLISECOND) > 1", "in whole milliseconds"),
    ],
)
def test_what_is_no_window_is_refused(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        Expression.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SUM(user) OVER (ROWS 1 PRECEDING) > 1", "SUM needs a number, not a STRING"),
        ("COUNT(DISTINCT tags) OVER (ROWS 1 PRECEDING) > 1", "cannot be told apart"),
        ("COUNT(*) FILTER (WHERE amount) OVER (ROWS 1 PRECEDING) > 1", "a condition is needed"),
        ("COUNT(*) OVER (PARTITION BY usr ROWS 1 PRECEDING) > 1", "there is no column usr"),
        ("SUM(pay.amount) OVER (ROWS 1 PRECEDING) > 1", "a window sees no steps"),
        ("amount > SUM(amount) OVER (ROWS 1 PRECEDING) + AVG(pay.amount)", "with events of steps"),
    ],
)
def test_what_does_not_fit_is_told(text: str, message: str) -> None:
    problems = check(
        Expression.parse(text), schema=COLUMNS, steps=["pay"], expects=BOOLEAN, allow_windows=True
    )
    assert message in " ".join(problem.message for problem in problems)


def test_a_window_stands_only_in_conditions_of_steps() -> None:
    expression = Expression.parse("COUNT(*) OVER (ROWS 1 PRECEDING)")
    (problem,) = check(expression, schema=COLUMNS, steps=())
    assert problem.message == "a window stands only in a condition of a step, written in SQL"


def test_what_a_test_needs_whatever_its_windows_are() -> None:
    text = (
        "user = 'a' AND (amount > 1 OR NOT MAX(amount) OVER (ROWS 1 PRECEDING) > 1) AND score > 0"
    )
    needed = without_windows(Expression.parse(text).root)
    assert needed == Expression.parse("user = 'a' AND score > 0").root


def test_thresholds_are_windows_over_windows() -> None:
    text = "SUM(amount) OVER (PARTITION BY user ROWS 9 PRECEDING) > 5"
    for short in (
        f"BECOMES_TRUE({text}) FILTER (WHERE ip IS NOT NULL) OVER (PARTITION BY user)",
        f"BECOMES_TRUE({text}, score < 1) OVER (PARTITION BY user)",
        f"BECOMES_TRUE({text}) OVER (PARTITION BY user LAST INTERVAL '1' HOUR)",
        f"CROSSES({text})",
        "FIRST_SEEN(ip) OVER (PARTITION BY user)",
        "FIRST_SEEN(ip, amount) OVER (LAST INTERVAL '2' DAY LEARNING INTERVAL '1' DAY)",
    ):
        root = Expression.parse(short).root
        assert Expression.parse(to_sql(root)).root == root
        assert not check(
            Expression.parse(short),
            schema=COLUMNS,
            steps=(),
            expects=BOOLEAN,
            allow_windows=True,
        )


def test_short_forms_within_each_other_do_not_grow_without_end() -> None:
    text = "amount > 1"
    for _ in range(20):
        text = f"BECOMES_TRUE({text}) OVER (PARTITION BY user)"
    with pytest.raises(ExpressionTooLarge):
        Expression.parse(text)


def test_parameters_stand_in_windows() -> None:
    hour = Literal(timedelta(hours=1))
    text = "COUNT(*) OVER (PARTITION BY user LAST :span) >= :count"
    root = Expression.parse(text, {"span": hour, "count": Literal(3)}).root
    written = "COUNT(*) OVER (PARTITION BY user LAST INTERVAL '1' HOUR) >= 3"
    assert root == Expression.parse(written).root
