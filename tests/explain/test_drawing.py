"""What the dashboard draws of a clause, as data."""

import json

from cep.explain.drawing import row_drawing
from cep.row_pattern.parsing.clauses import read_query
from tests.row_pattern.cases import load


def test_every_kind_of_part_is_there() -> None:
    query = read_query(
        "MATCH_RECOGNIZE (ORDER BY ts ALL ROWS PER MATCH AFTER MATCH SKIP TO FIRST b PATTERN "
        "(^ a+? (b | {- \"x\" -}){2,3} PERMUTE(c, a) $) WITHIN INTERVAL '90' SECOND "
        "SUBSET u = (a, b) DEFINE a AS v>1)"
    )
    drawing = row_drawing(query.clause)
    a = {"kind": "variable", "name": "A", "condition": "v > 1"}
    others = {name: {"kind": "variable", "name": name, "condition": ""} for name in ("B", "C", "x")}
    inner = {
        "kind": "alternation",
        "parts": [others["B"], {"kind": "exclusion", "inner": others["x"]}],
    }
    assert drawing["pattern"] == {
        "kind": "sequence",
        "parts": [
            {"kind": "partition_start"},
            _repetition(a, 1, None, "+?", is_reluctant=True),
            _repetition(inner, 2, 3, "{2,3}", is_reluctant=False),
            {"kind": "permutation", "parts": [others["C"], a]},
            {"kind": "partition_end"},
        ],
    }
    assert drawing["within"] == "1 minute 30 seconds"
    assert drawing["skip"] == {"to": "TO FIRST", "variable": "B"}
    assert drawing["output"] == "ALL ROWS PER MATCH SHOW EMPTY MATCHES"
    assert drawing["subsets"] == [{"name": "U", "members": ["A", "B"]}]
    assert drawing["text"].startswith("MATCH_RECOGNIZE (")


def _repetition(
    inner: object, minimum: int, maximum: int | None, quantifier: str, *, is_reluctant: bool
) -> dict[str, object]:
    bounds = {"minimum": minimum, "maximum": maximum, "is_reluctant": is_reluctant}
    return {"kind": "repetition", "inner": inner, "quantifier": quantifier} | bounds


def test_every_vector_can_be_drawn_as_json() -> None:
    for case in load("fuzz")[::10]:
        if case.error is None:
            drawn = row_drawing(read_query(case.query).clause)
            assert json.loads(json.dumps(drawn)) == drawn
