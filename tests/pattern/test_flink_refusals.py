"""What Flink refuses is refused, at the moment Flink refuses it; everything else is accepted."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from cep.pattern import Pattern, PatternError
from tests.conformance.cases import VECTORS
from tests.pattern.builder_replay import replayed

FILES = ("docs", "flink_tests", "subtleties", "rejected", "fuzz_visible")
RECORDS = [
    json.loads(line)
    for file in FILES
    for line in (VECTORS / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()
]


def of_phase(*phases: str | None) -> dict[str, dict[str, Any]]:
    """Return the patterns of the cases that end in one of these phases, by the id of the case."""
    found = {
        each["id"]: each["pattern"]
        for each in RECORDS
        if each["expected"].get("error_phase") in phases
    }
    assert found
    return found


def refusal_of(call: Callable[[], object]) -> PatternError | None:
    try:
        call()
    except PatternError as refusal:
        return refusal
    return None


def test_the_builder_refuses_at_once_what_flinks_builder_refuses() -> None:
    cases = of_phase("build").items()
    assert [name for name, each in cases if refusal_of(partial(replayed, each)) is None] == []


def test_validation_refuses_what_flinks_compiler_refuses() -> None:
    cases = of_phase("compile").items()
    assert [name for name, each in cases if refusal_of(replayed(each).validate) is None] == []


def test_documents_that_flink_refuses_are_refused_with_path_and_remedy() -> None:
    accepted, unhelpful = [], []
    for name, document in of_phase("build", "compile").items():
        refusal = refusal_of(partial(Pattern.from_document, document, flink_quirks=True))
        if refusal is None:
            accepted.append(name)
        elif not all(problem.path and problem.remedy for problem in refusal.problems):
            unhelpful.append(name)
    assert (accepted, unhelpful) == ([], [])


@pytest.mark.long
def test_every_pattern_that_flink_runs_is_accepted_with_quirks_by_document_and_by_builder() -> None:
    accepted = [each for each in RECORDS if each["expected"].get("error_phase") in {None, "run"}]
    assert len(accepted) > 1900
    for record in accepted:
        pattern = Pattern.from_document(record["pattern"], flink_quirks=True)
        assert replayed(record["pattern"]).validate() == pattern, record["id"]
