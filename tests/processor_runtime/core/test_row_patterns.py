"""MATCH_RECOGNIZE clauses as rules of a job: both stages, any batches, restarts, activation."""

from random import Random
from typing import Any

import pytest
from pydantic_core import from_json

from cep.row_pattern.clause import PartitionEnd, walk
from cep.row_pattern.parsing.clauses import read_query
from contract.snapshot import SnapshotProcessor, StreamDefinition
from tests.letters import job_of, letters, processor, version
from tests.processor_runtime.core.pipeline import Options, Pipeline
from tests.processor_runtime.core.vector_stream import batches
from tests.row_pattern.cases import Case, is_same, load


def runs_on_a_stream(case: Case) -> bool:
    """Whether a stream can be made of a case: times, ascending, and no end of the partition."""
    if case.error is not None:
        return False
    clause = read_query(case.query).clause
    if any(order.is_descending for order in clause.order_by) or len(clause.order_by) != 1:
        return False
    if any(isinstance(part, PartitionEnd) for part in walk(clause.pattern)):
        return False
    place = time_place(case)
    return all(isinstance(row[place], int) and row[place] >= 0 for row in case.rows)


def time_place(case: Case) -> int:
    name = read_query(case.query).clause.order_by[0].column.text
    return [column.casefold() for column in case.columns].index(name.casefold())


def stream_of(case: Case, delay_ms: int) -> StreamDefinition:
    """Return the stream of a case; its times are milliseconds."""
    columns = {
        name: "BIGINT" if kind == "TIMESTAMP" else kind for name, kind in case.columns.items()
    }
    return StreamDefinition(
        name="rows",
        version=1,
        schema=", ".join(f"`{name}` {kind}" for name, kind in columns.items()),
        event_time_column=list(case.columns)[time_place(case)],
        allowed_delay_ms=delay_ms,
        order_by=[],
    )


def rule(clause: str, number: int = 1, name: str = "rows", **more: Any) -> SnapshotProcessor:
    return processor(name, version(number, {"match_recognize": clause}, key_by=None, **more))


CASES = [case for file in ("trino", "flink", "fuzz") for case in load(file)]
PARTS = 14
"""So many tests share the cases: to read a clause takes milliseconds, to collect a test, too."""


def problem_of(case: Case) -> str | None:
    """Return what is wrong with what a job finds in a case, nothing where that is right."""
    random = Random(case.id)  # noqa: S311 - any batches, but always the same
    place = time_place(case)
    times = [row[place] for row in case.rows]
    disorder_ms = max([0, *(max(times[: i + 1]) - time for i, time in enumerate(times))])
    options = Options(shards=random.randint(1, 3), filters=random.random() < 0.7)
    job = Pipeline(stream_of(case, disorder_ms + random.choice([0, 3, 500])), options)
    job.publish(rule(case.query))
    events = [dict(zip(case.columns, row, strict=True)) for row in case.rows]
    for part in batches(events, random.randint(1, 5), random):
        job.batch(part)
        if random.random() < 0.3:
            job.restart()
        if random.random() < 0.2:
            job.replay()
    job.close()
    if errors := job.rows_of("error"):
        return f"{case.id}: {errors[0].error}"
    found = [from_json(row.output or "null") for row in job.rows_of("match")]
    columns = case.expected_columns or ()
    expected = [dict(zip(columns, row, strict=True)) for row in case.expected_rows]
    return None if same_by_key(case, found, expected) else f"{case.id}: {found} not {expected}"


def same_by_key(case: Case, found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> bool:
    """Return whether rows are the same, in order within each partition."""
    key = [name.text.casefold() for name in read_query(case.query).clause.partition_by]

    def partition(row: dict[str, Any]) -> str:
        folded = {name.casefold(): value for name, value in row.items()}
        return repr([folded.get(name) for name in key])

    def ordered(rows: list[dict[str, Any]]) -> list[list[Any]]:
        by_key = sorted(rows, key=partition)
        return [[row[name] for name in sorted(row, key=str.casefold)] for row in by_key]

    return is_same(ordered(found), ordered(expected))


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(0, marks=pytest.mark.long),
        *(pytest.param(part, marks=pytest.mark.nightly) for part in range(1, PARTS)),
    ],
)
def test_a_job_finds_what_the_search_finds(part: int) -> None:
    """Every case of a part that can be a stream is answered by a job as the standard does."""
    cases = [case for case in CASES[part::PARTS] if runs_on_a_stream(case)]
    assert len(cases) > 50
    wrong = []
    for case in cases:
        try:
            wrong.append(problem_of(case))
        except Exception as error:
            error.add_note(case.id)
            raise
    told = [problem for problem in wrong if problem is not None]
    assert not told, "\n".join(told)


CLAUSE = """
    MATCH_RECOGNIZE (
        PARTITION BY user ORDER BY ts
        MEASURES FIRST(price) AS first, COUNT(B.*) AS bs, CLASSIFIER() AS last
        PATTERN (A B+ C) WITHIN INTERVAL '1' SECOND
        DEFINE A AS name = 'a', B AS name = 'b', C AS name = 'c'
    )
"""


CLAUSES_THAT_FAIL = {
    "condition": CLAUSE.replace("name = 'c'", "10 / (price - 2) > 0 AND name = 'c'"),
    "measure": CLAUSE.replace("FIRST(price) AS first", "10 / FIRST(price) AS first"),
}


def test_partition_by_is_the_key_and_measures_are_the_output() -> None:
    job = job_of(rule(CLAUSE))
    mine, others = letters("abbc", 10, every_ms=4), letters("abxc", 11, user="v", every_ms=4)
    for pair in zip(mine, others, strict=True):
        job.batch(pair)
    job.advance(2_000)
    (row,) = job.rows_of("match")
    assert row.key == '["u"]'
    assert from_json(row.output or "") == {"user": "u", "first": 0, "bs": 2, "last": "C"}


def test_a_job_says_which_version_runs_in_python_and_why() -> None:
    by_row = CLAUSE.replace("name = 'b'", "name = 'b' AND NEXT(price) >= 0")
    job = job_of(rule(CLAUSE), rule(by_row).model_copy(update={"id": "by-row"}))
    job.batch(letters("ab", 10))
    reasons = {each.processor_id: each.interpreted_reason for each in job.job_status.versions}
    assert reasons.pop("by-row").startswith("a clause that is searched for row by row")
    assert list(reasons.values()) == [""]


def test_a_match_that_ran_out_of_time_is_a_timeout() -> None:
    job = job_of(rule(CLAUSE))
    job.batch(letters("abb", 10), until_ms=2_000)
    (row,) = job.rows_of("timeout")
    assert row.end_ms == 1_010
    assert {n: len(of) for n, of in from_json(row.events or "").items()} == {"A": 1, "B": 2}


def test_a_timeout_that_a_row_decides_is_no_match() -> None:
    """The last row waits for the one behind it, which comes when the time is over already."""
    job = job_of(rule(CLAUSE.replace("name = 'b'", "name = 'b' AND NEXT(price) >= 0")))
    job.batch(letters("ab", 10))
    job.batch(letters("x", 5_000), until_ms=9_000)
    assert [row.kind for row in job.rows] == ["timeout"]


@pytest.mark.parametrize("on_update", ["drop", "drain"])
def test_a_replaced_version_finishes_what_it_has_begun_if_it_drains(on_update: str) -> None:
    job = job_of(rule(CLAUSE, on_update=on_update))
    job.batch(letters("ab", 10))
    job.publish(rule(CLAUSE.replace("'a'", "'z'"), 2, on_update=on_update))
    job.batch(letters("bcabc", 20))
    job.restart()
    job.advance(5_000)
    found = [(row.version, from_json(row.output or "")["bs"]) for row in job.rows_of("match")]
    assert found == ([(1, 2)] if on_update == "drain" else [])


@pytest.mark.parametrize("failing", CLAUSES_THAT_FAIL)
def test_a_clause_that_fails_on_a_row_is_quarantined_alone(failing: str) -> None:
    job = job_of(rule(CLAUSES_THAT_FAIL[failing]), rule(CLAUSE, name="good"))
    job.batch(letters("abc", 10))
    job.batch(letters("abc", 20), until_ms=5_000)
    assert len(job.rows_of("match", "good")) == 2
    (error,) = job.rows_of("error", "rows")
    assert "division by zero" in (error.error or "")


def test_a_key_that_is_done_leaves_no_state() -> None:
    job = job_of(rule(CLAUSE))
    job.batch([each for user in "stuvwxyz" for each in letters("abx", 10, user=user)])
    job.advance(5_000)
    assert sum(status.keys for status in job.statuses.values()) == 0
