"""The corpus of windows, answered by DuckDB and by brute force: as rules, alone and in a job."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.conformance.run import cases_of, main
from tests.conformance.windows.cases import expected, is_sayable
from tests.conformance.windows.job import alerts_of_job, is_right

VISIBLE = Path(__file__).parent / "vectors" / "visible.jsonl.gz"
SAYABLE = {
    "window_value": 160,
    "window_condition": 110,
    "threshold": 110,
    "first_seen": 39,
    "replaced": 9,
    "sets": 30,
    "tumbling": 8,
}
"""How many cases of each construct the product has words for."""


def sayable_cases() -> Iterator[Mapping[str, Any]]:
    return filter(is_sayable, cases_of(VISIBLE))


@pytest.mark.parametrize("construct", SAYABLE)
def test_a_rule_alerts_where_the_corpus_says(construct: str) -> None:
    cases = [case for case in sayable_cases() if case["construct"] == construct]
    assert len(cases) == SAYABLE[construct]
    assert [case["id"] for case in cases if not is_right(case)] == []


GATE = 6
"""One of so many cases runs in a job for each change, all of them at night."""


@pytest.mark.parametrize(
    "part",
    [pytest.param(n, marks=pytest.mark.nightly if n else pytest.mark.long) for n in range(GATE)],
)
def test_a_job_alerts_there_too_whatever_its_batches(part: int) -> None:
    differing = [
        case["id"]
        for number, case in enumerate(sayable_cases())
        if number % GATE == part and alerts_of_job(case, Random(number)) != expected(case)  # noqa: S311 - the same batches always
    ]
    assert differing == []


def test_the_runner_names_what_is_not_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = list(cases_of(VISIBLE))[:2]
    (number, _), *rest = cases[1]["expected"]
    wrong = cases[1] | {"id": "mine", "expected": [[number, 12_345], *rest]}
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, (cases[0], wrong))))
    assert main(["windows", str(tmp_path / "cases.jsonl")]) == 1
    assert capsys.readouterr().out.splitlines() == ["mine", "1 of 2 right"]
