"""Large documents of every shape are refused soon, with a short answer that says why."""

from typing import Any

import pytest

from contract.service.tokens import Role
from tests.api.documents import STREAM, processor_document
from tests.api.running import Service

LONG = " OR ".join(["amount > 1"] * 700)
UNKNOWN = " OR ".join(f"acton{number} = 1" for number in range(600))
ANY_OF = {"any_of": [LONG]}
MOST_BYTES = 300_000


def pattern(*steps: dict[str, Any]) -> dict[str, Any]:
    first, *others = steps
    return {"steps": [first, *({"contiguity": "followed_by"} | each for each in others)]}


def steps(count: int, **keys: Any) -> dict[str, Any]:
    return pattern(*({"name": f"s{index}"} | keys for index in range(count)))


def flaws_of(service: Service, **changes: Any) -> Any:
    """Return what is told of a document, which must be refused with a short answer."""
    answer = service.send("POST", "/v1/validate", processor_document(**changes))
    assert (answer.status_code, len(answer.content) < MOST_BYTES) == (422, True)
    return answer.json()["errors"]


TOGETHER = "all names and conditions together"
EXPRESSIONS = "in key_by and select together"


def test_a_large_document_is_refused_with_its_limit(with_stream: Service) -> None:
    for changes, pointer, told in (
        ({"pattern": steps(190, where=LONG)}, "/pattern", TOGETHER),
        ({"pattern": steps(190, until=LONG)}, "/pattern", TOGETHER),
        ({"pattern": steps(20, where={"all_of": [LONG, ANY_OF]})}, "/pattern", TOGETHER),
        ({"pattern": pattern({"name": "x" * 10**6})}, "/pattern", TOGETHER),
        ({"pattern": steps(190, where=UNKNOWN)}, "/pattern", TOGETHER),
        ({"pattern": steps(20_000)}, "/pattern", "20000 steps; the limit is 200."),
        ({"key_by": [LONG] * 20}, "/key_by", f"{EXPRESSIONS}; the limit is 50000."),
        ({"select": {f"c{n}": LONG for n in range(150)}}, "/select", EXPRESSIONS),
        ({"select": {"x" * 10**6: "fail.user"}}, "/select", EXPRESSIONS),
        ({f"k{n}": 1 for n in range(100_000)}, "", "more problems"),
        ({"tags": ["a b"] * 150_000}, "/tags", "does not fit"),
        ({"description": "x" * 10**6}, "/description", "does not fit"),
        ({"limits": {"events_per_key": 2**62}}, "/limits/events_per_key", "does not fit"),
        ({"examples": [{"event": []}] * 60_000}, "/examples", "does not fit"),
        ({"examples": [{"events": [{}] * 100_000}]}, "/examples/0/events", "does not fit"),
    ):
        flaws = flaws_of(with_stream, **changes)
        assert any(flaw["pointer"] == pointer and told in flaw["detail"] for flaw in flaws)


@pytest.mark.long
def test_thousands_of_mistakes_are_told_in_part(with_stream: Service) -> None:
    flaws = flaws_of(with_stream, pattern=steps(10, where=UNKNOWN))
    assert len(flaws) == 101
    assert flaws[-1]["detail"] == "there are 100 more problems."


def test_a_mistake_in_a_long_line_is_shown_with_what_is_around_it_and_examples_not_run(
    with_stream: Service,
) -> None:
    half = " OR ".join(["amount > 1"] * 300)
    where = f"{half} OR acton = 'fail' OR {half}"
    (flaw,) = flaws_of(with_stream, pattern=pattern({"name": "a", "where": where}))
    line, carets = flaw["snippet"].split("\n")
    assert (line[:3], line[-1], len(line) < 500) == ("  …", "…", True)
    assert line[carets.index("^") : carets.rindex("^") + 1] == "acton"
    assert where[flaw["column"] - 1 :].startswith("acton")
    unknown = {f"k{n}": 1 for n in range(60)}
    assert flaws_of(with_stream, tags=["a b"] * 50, examples=[{"events": 1}] * 10, **unknown)


def test_a_draft_that_is_too_long_is_told_in_part_or_not_written(with_stream: Service) -> None:
    text = "".join(f"{number}: 1\n" for number in range(11_000))
    answer = with_stream.post("/v1/drafts/check", Role.ADMIN, {"text": text})
    assert len(answer["problems"]) == 20
    body = {"document": {"steps": [{"name": "x"}] * 50_000}, "format": "yaml"}
    (flaw,) = with_stream.post("/v1/drafts/text", Role.ADMIN, body, expect=422)["errors"]
    assert flaw["pointer"] == "/document"
    assert "the limit of a draft is 100000" in flaw["detail"]


def test_columns_that_are_nested_too_deeply_are_refused(service: Service) -> None:
    nested = f"ts TIMESTAMP, a {'STRUCT<a:' * 2_000}INT{'>' * 2_000}"
    answer = service.post("/v1/streams", Role.ADMIN, STREAM | {"schema": nested}, expect=422)
    assert "nested too deeply" in str(answer)
