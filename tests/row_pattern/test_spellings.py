"""Words of the standard that change nothing, and are read."""

from typing import Any

import pytest

from cep.matching.match_recognize import match_recognize
from cep.row_pattern.errors import ClauseError

ROWS = [(1, 1.0), (2, 0.5), (3, 2.0), (3_000, 2.0)]
SCHEMA = {"ts": "BIGINT", "x": "DOUBLE"}


def rows_of(
    measure: str = "COUNT(A.x)",
    order: str = "ts",
    within: str = "",
    query: str = "{}",
) -> list[Any]:
    clause = (
        f"MATCH_RECOGNIZE (ORDER BY {order} MEASURES {measure} AS n PATTERN (A+) {within} "
        "DEFINE A AS x > 0)"
    )
    return match_recognize(query.format(clause), ROWS, schema=SCHEMA).rows


def test_all_in_an_aggregate_is_what_is_done_without_it() -> None:
    for measure in ("COUNT(ALL A.x)", "COUNT(all A.x)"):
        assert rows_of(measure) == rows_of() == [(4,)]
    assert rows_of("SUM(ALL x)") == rows_of("SUM(x)")


def test_nulls_come_last_and_may_be_said_to() -> None:
    assert rows_of(order="ts NULLS LAST") == rows_of(order="ts ASC NULLS LAST, x DESC NULLS LAST")
    with pytest.raises(ClauseError, match=r"NULLs come last, ascending and descending(.|\n)*LAST"):
        rows_of(order="ts DESC NULLS FIRST")


@pytest.mark.parametrize(
    "query",
    ["SELECT n FROM t q {}", "SELECT n FROM t AS q {} AS m", 'SELECT n FROM a.t AS "Q q" {} m'],
)
def test_the_input_may_have_an_alias(query: str) -> None:
    assert rows_of(query=query) == [(4,)]


def test_an_interval_may_be_a_part_of_a_unit() -> None:
    assert rows_of(within="WITHIN INTERVAL '0.5' SECOND") == [(3,), (1,)]
    assert rows_of(within="WITHIN INTERVAL '1.25' HOURS") == [(4,)]
    with pytest.raises(ClauseError, match="whole milliseconds"):
        rows_of(within="WITHIN INTERVAL '0.0005' SECOND")
