"""Large documents of every shape are refused soon, with a short answer that says why."""

from typing import Any

import pytest

from contract.service.tokens import Role
from tests.api.documents import STREAM, processor_document
from tests.api.running import ServiceUnderTest

LONG = " OR ".join(["amount > 1"] * 700)
UNKNOWN = " OR ".join(f"acton{number} = 1" for number in range(600))
MOST_BYTES = 300_000


def pattern(*steps: dict[str, Any]) -> dict[str, Any]:
    first, *others = steps
    return {"steps": [first, *({"contiguity": "followed_by"} | each for each in others)]}


def steps(count: int, **keys: Any) -> dict[str, Any]:
    return pattern(*({"name": f"s{index}"} | keys for index in range(count)))


@pytest.mark.parametrize(
    ("changes", "pointer", "told"),
    [
        ({"pattern": steps(190, where=LONG)}, "/pattern", "all names and conditions together"),
        ({"pattern": steps(190, until=LONG)}, "/pattern", "all names and conditions together"),
        (
            {"pattern": steps(20, where={"all_of": [LONG, {"any_of": [LONG]}]})},
            "/pattern",
            "all names and conditions together",
        ),
        ({"pattern": pattern({"name": "x" * 10**6})}, "/pattern", "all names and conditions"),
        ({"pattern": steps(190, where=UNKNOWN)}, "/pattern", "all names and conditions together"),
        ({"pattern": steps(20_000)}, "/pattern", "20000 steps; the limit is 200."),
        ({"key_by": [LONG] * 20}, "/key_by", "in key_by and select together; the limit is 50000."),
        ({"select": {f"c{n}": LONG for n in range(150)}}, "/select", "in key_by and select"),
        ({"select": {"x" * 10**6: "fail.user"}}, "/select", "in key_by and select together"),
        ({f"k{n}": 1 for n in range(100_000)}, "", "more problems"),
        ({"tags": ["a b"] * 150_000}, "/tags", "does not fit"),
        ({"description": "x" * 10**6}, "/description", "does not fit"),
        ({"limits": {"events_per_key": 2**62}}, "/limits/events_per_key", "does not fit"),
        ({"examples": [{"event": []}] * 60_000}, "/examples", "does not fit"),
        ({"examples": [{"events": [{}] * 100_000}]}, "/examples/0/events", "does not fit"),
    ],
)
def test_a_large_document_is_refused_with_its_limit(
    with_stream: ServiceUnderTest, changes: dict[str, Any], pointer: str, told: str
) -> None:
    answer = with_stream.client.post("/v1/validate", json=processor_document(**changes))
    assert answer.status_code == 422
    assert len(answer.content) < MOST_BYTES
    assert any(
        flaw["pointer"] == pointer and told in flaw["detail"] for flaw in answer.json()["errors"]
    )


@pytest.mark.long
def test_thousands_of_mistakes_are_told_in_part(with_stream: ServiceUnderTest) -> None:
    document = processor_document(pattern=steps(10, where=UNKNOWN))
    answer = with_stream.client.post("/v1/validate", json=document)
    assert answer.status_code == 422
    assert len(answer.content) < MOST_BYTES
    flaws = answer.json()["errors"]
    assert len(flaws) == 101
    assert flaws[-1]["detail"] == "there are 100 more problems."


def test_a_mistake_in_a_long_line_is_shown_with_what_is_around_it(
    with_stream: ServiceUnderTest,
) -> None:
    half = " OR ".join(["amount > 1"] * 300)
    where = f"{half} OR acton = 'fail' OR {half}"
    document = processor_document(pattern=pattern({"name": "a", "where": where}))
    (flaw,) = with_stream.client.post("/v1/validate", json=document).json()["errors"]
    line, carets = flaw["snippet"].split("\n")
    assert line.startswith("  …")
    assert line.endswith("…")
    assert len(line) < 500
    assert line[carets.index("^") : carets.rindex("^") + 1] == "acton"
    assert where[flaw["column"] - 1 :].startswith("acton")


def test_examples_of_which_only_a_number_is_told_are_not_run(
    with_stream: ServiceUnderTest,
) -> None:
    document = processor_document(tags=["a b"] * 50, **{f"k{n}": 1 for n in range(60)})
    document["examples"] = [{"events": 1}] * 10
    with_stream.post("/v1/validate", Role.ADMIN, document, expect=422)


def test_a_draft_with_thousands_of_wrong_keys_is_told_in_part(
    with_stream: ServiceUnderTest,
) -> None:
    text = "".join(f"{number}: 1\n" for number in range(11_000))
    answer = with_stream.client.post("/v1/drafts/check", json={"text": text}).json()
    assert len(answer["problems"]) == 20


def test_a_document_too_long_for_a_draft_is_not_written_as_text(
    with_stream: ServiceUnderTest,
) -> None:
    body = {"document": {"steps": [{"name": "x"}] * 50_000}, "format": "yaml"}
    (flaw,) = with_stream.post("/v1/drafts/text", Role.ADMIN, body, expect=422)["errors"]
    assert flaw["pointer"] == "/document"
    assert "the limit of a draft is 100000" in flaw["detail"]


def test_columns_that_are_nested_too_deeply_are_refused(service: ServiceUnderTest) -> None:
    nested = f"ts TIMESTAMP, a {'STRUCT<a:' * 2_000}INT{'>' * 2_000}"
    answer = service.client.post("/v1/streams", json=STREAM | {"schema": nested})
    assert answer.status_code == 422
    assert "nested too deeply" in answer.text
