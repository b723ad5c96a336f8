"""Which rows an output takes, and what it is called."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from processor_runtime.job_file.outputs import Output, are_plain_lines

OUTPUT: TypeAdapter[Output] = TypeAdapter(Output)


@pytest.mark.parametrize(
    ("kinds", "whole", "tags"),
    [
        (["match", "late"], {"match", "late"}, set()),
        (["side:a", "side:b c"], set(), {"a", "b c"}),
        (["side", "side:a"], {"side"}, set()),
        (["error", "timeout"], {"error", "timeout"}, set()),
    ],
)
def test_kinds_are_taken_whole_or_by_their_tag(
    kinds: list[str], whole: set[str], tags: set[str]
) -> None:
    output = OUTPUT.validate_python({"type": "console", "kinds": kinds})
    assert (set(output.row_kinds), set(output.side_tags)) == (whole, tags)


def test_matches_and_side_outputs_are_taken_by_default() -> None:
    for name, other in (("console", "side"), ("service", "shadow")):
        assert OUTPUT.validate_python({"type": name}).row_kinds == {"match", other, "group"}


@pytest.mark.parametrize("table", ["m; DROP TABLE m", 'm"', "a.b.c", "1m", ""])
def test_a_table_is_a_plain_name(table: str) -> None:
    with pytest.raises(ValidationError, match="table"):
        OUTPUT.validate_python({"type": "jdbc", "url": "sqlite:///f", "table": table})


@pytest.mark.parametrize(
    ("more", "are_plain"),
    [
        ([], True),
        ([{"type": "json", "path": "b", "options": {"compression": "gzip"}}], True),
        ([{"type": "json", "path": "b", "options": {"lineSep": "\r\n"}}], False),
        ([{"type": "json", "path": "b", "options": {"maxRecordsPerFile": "9"}}], False),
        ([{"type": "parquet", "path": "b"}], False),
        ([{"type": "console"}], False),
    ],
)
def test_lines_that_end_as_usual_are_plain(more: list[dict[str, Any]], are_plain: bool) -> None:  # noqa: FBT001 - a parameter
    outputs = [{"type": "json", "path": "a"}, *more]
    assert are_plain_lines(map(OUTPUT.validate_python, outputs)) is are_plain
