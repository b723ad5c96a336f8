"""What Flink refuses is refused, at the moment Flink refuses it; everything else is accepted."""

import json
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


def of_phase(*phases: str | None) -> list[object]:
    records = [each for each in RECORDS if each["expected"].get("error_phase") in phases]
    return [pytest.param(each["pattern"], id=each["id"]) for each in records]


@pytest.mark.parametrize("document", of_phase("build"))
def test_the_builder_refuses_at_once_what_flinks_builder_refuses(document: dict[str, Any]) -> None:
    with pytest.raises(PatternError):
        replayed(document)


@pytest.mark.parametrize("document", of_phase("compile"))
def test_validation_refuses_what_flinks_compiler_refuses(document: dict[str, Any]) -> None:
    pattern = replayed(document)
    with pytest.raises(PatternError):
        pattern.validate()


@pytest.mark.parametrize("document", of_phase("build", "compile"))
def test_a_document_that_flink_refuses_is_refused_with_path_and_remedy(
    document: dict[str, Any],
) -> None:
    with pytest.raises(PatternError) as refusal:
        Pattern.from_document(document, flink_quirks=True)
    assert all(problem.path and problem.remedy for problem in refusal.value.problems)


def test_every_pattern_that_flink_runs_is_accepted_with_quirks_by_document_and_by_builder() -> None:
    accepted = [each for each in RECORDS if each["expected"].get("error_phase") in {None, "run"}]
    assert len(accepted) > 1900
    for record in accepted:
        pattern = Pattern.from_document(record["pattern"], flink_quirks=True)
        assert replayed(record["pattern"]).validate() == pattern, record["id"]
