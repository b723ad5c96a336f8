"""Ids and lines that compiled code makes are those of one match after the other."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.compiling import is_available
from processor_runtime.output.events.unusable_events import EARLIEST_MS, LATEST_MS
from processor_runtime.output.match_ids import MatchIds, find_digest, rule_digest
from processor_runtime.output.match_tables import Matches, RuleVersions
from processor_runtime.output.row_columns import RowLines
from processor_runtime.output.row_plan import RowPlan

pytestmark = pytest.mark.skipif(not is_available(), reason="numba is not installed")

EPOCH: Final = 7
FINDERS: Final = [("p", 1), ("o'é", 12)]
TIMES_MS: Final = st.integers(EARLIEST_MS, LATEST_MS)
TEXTS: Final = st.text(st.characters(codec="utf-8"), max_size=20)

Match = tuple[str, int, int, str]
"""Its key, when it begins and ends, and its events."""


def plan_of(matches: list[Match], finds: list[tuple[int, int]]) -> RowPlan:
    """Return the rows of finds, each told by the places of its finder and of its match."""
    keys = [json.dumps([key], ensure_ascii=False) for key, *_ in matches]
    finders = RuleVersions(
        pa.array([processor for processor, _ in FINDERS], pa.string()),
        pa.array([version for _, version in FINDERS], pa.int32()),
    )
    table = Matches(
        np.arange(len(matches)),
        pa.array(keys, pa.string()),
        np.array([match[1] for match in matches], np.int64),
        np.array([match[2] for match in matches], np.int64),
        pa.array([json.dumps({"a": [match[3]]}) for match in matches], pa.string()),
    )
    of_finder, of_match = np.array(finds, np.int64).reshape(-1, 2).T
    outputs = pa.array([None, '{"n":1}'], pa.string())
    return RowPlan(finders, table, outputs, of_finder, of_match, of_match % 2, of_match)


@given(
    st.lists(st.tuples(TEXTS, TIMES_MS, TIMES_MS, TEXTS | st.just("x" * 3_000)), min_size=1),
    st.data(),
)
def test_ids_and_lines_are_those_of_one_match_after_the_other(
    matches: list[Match], data: st.DataObject
) -> None:
    places = st.tuples(st.integers(0, len(FINDERS) - 1), st.integers(0, len(matches) - 1))
    finds = data.draw(st.lists(places, min_size=1))
    plan = plan_of(matches, finds)
    one_by_one, together = MatchIds(), MatchIds()
    for _ in range(2):  # what comes again, comes with other ids
        chunks = list(plan.rows(EPOCH, together, as_lines=True))
        lines = [
            json.loads(line)
            for chunk in chunks
            if isinstance(chunk, RowLines)
            for line in chunk.text.split(b"\n")
        ]
        assert len(lines) == len(finds)
        for line, (finder, place) in zip(lines, finds, strict=True):
            key, start_ms, end_ms, event = matches[place]
            written, events = plan.matches.keys[place].as_py(), plan.matches.events[place].as_py()
            of_rule = rule_digest(*FINDERS[finder], "match")
            of_find = find_digest(f"{start_ms},{end_ms},{written}{events}".encode())
            assert line["match_id"] == one_by_one.match_id(of_rule, of_find)
            assert (line["processor_id"], line["version"]) == FINDERS[finder]
            assert (line["key"], line["events"], line["epoch"]) == ([key], {"a": [event]}, EPOCH)
            assert (line["start_ms"], line["end_ms"]) == (start_ms, end_ms)
            assert (line["start_time"], line["end_time"]) == (spelled(start_ms), spelled(end_ms))
            assert line.get("output") == ({"n": 1} if place % 2 else None)


def spelled(time_ms: int) -> str:
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=time_ms)
    return time.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def test_times_beyond_the_year_9999_are_left_to_spark() -> None:
    plan = plan_of([("k", 0, LATEST_MS + 1, "e")], [(0, 0)])
    (rows,) = plan.rows(EPOCH, MatchIds(), as_lines=True)
    assert not isinstance(rows, RowLines)
    assert [row.end_ms for row in rows] == [LATEST_MS + 1]


def test_all_arrays_are_of_one_sort_for_compiled_code() -> None:
    from processor_runtime.output.compiled.joining import join_octets  # noqa: PLC0415 - as above
    from processor_runtime.output.compiled.match_lines import lines_of  # noqa: PLC0415 - an extra

    plan = plan_of([("k", 0, 1, "e")] * 3, [(0, 0), (1, 2), (0, 1)])
    list(plan.rows(EPOCH, MatchIds(), as_lines=True))
    functions: list[Any] = [join_octets, lines_of]
    assert [len(function.signatures) for function in functions] == [1, 1]
