"""What people write who come from other languages, each with the answer that mends it."""

from pathlib import Path

import pytest
import yaml

from cep.expression import Schema
from cep.pattern import Pattern, PatternError

SCHEMA = Schema.from_ddl(
    "user STRING, action STRING, x INT, a INT, b INT, at TIMESTAMP, day DATE, ok BOOLEAN, "
    "tags ARRAY<STRING>, geo STRUCT<lat: DOUBLE>"
)
MISTAKES: dict[str, dict[str, str]] = yaml.safe_load(
    Path(__file__).with_name("typical_mistakes.yaml").read_text(encoding="utf-8")
)


def test_each_mistake_in_a_condition_is_told_with_its_remedy() -> None:
    wrong = {}
    for text, remedy in MISTAKES["conditions"].items():
        with pytest.raises(PatternError) as refusal:
            Pattern.begin("a").where(text).validate(SCHEMA)
        if remedy.lower() not in str(refusal.value).lower():
            wrong[text] = str(refusal.value)
    assert wrong == {}


def test_each_condition_that_is_rarely_meant_is_warned_of_with_its_remedy() -> None:
    wrong = {}
    for text, remedy in MISTAKES["accepted"].items():
        clause = f"MATCH_RECOGNIZE (ORDER BY at MEASURES A.x AS x PATTERN (A) DEFINE A AS {text})"
        for pattern in (Pattern.begin("a").where(text), Pattern.from_sql(clause)):
            told = [str(warning) for warning in pattern.validate(SCHEMA).warnings()]
            if not any(remedy in each for each in told):
                wrong[text] = told
    assert wrong == {}


@pytest.mark.parametrize("text", ["LIKE '%a*'", "LIKE '5*_'", "RLIKE '5%'", "IS NULL"])
def test_what_is_meant_is_not_warned_of(text: str) -> None:
    assert not Pattern.begin("a").where(f"user {text}").warnings()


def test_each_mistake_in_a_document_is_told_with_its_remedy() -> None:
    wrong = {}
    for text, remedy in MISTAKES["documents"].items():
        with pytest.raises(PatternError) as refusal:
            Pattern.from_yaml(text)
        if remedy.lower() not in str(refusal.value).lower():
            wrong[text] = str(refusal.value)
    assert wrong == {}
