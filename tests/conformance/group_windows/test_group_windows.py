"""Windows between the repetitions of groups, as Flink CEP 2.3.0 answered them.

`events.txt` holds 20 random sequences, `sequence id time_ms letter` a line. `flink.txt` is what
Flink found in them by four patterns: `pattern M|T sequence step=ids;… [@timeout_ms]`, sorted.
Flink enforces such a window only on loops that it builds after another loop: those that stand
earlier in the pattern or inside another.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from cep.pattern import PatternError
from percept import Pattern, find_matches

HERE = Path(__file__).parent
LOOP: dict[str, Any] = {"times": {"from": 1, "to": None}, "times_within_ms": 20}


def step(name: str) -> dict[str, Any]:
    return {"name": name, "where": f"name = '{name}'"}


def group(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"group": {"steps": list(steps)}, **more}


def then(element: dict[str, Any]) -> dict[str, Any]:
    return {**element, "contiguity": "followed_by"}


TWO = [group(step("a"), **LOOP), then(group(step("b"), **LOOP)), then(step("c"))]
PATTERNS: dict[str, dict[str, Any]] = {
    "two": {"steps": TWO},
    "twowithin": {"steps": TWO, "within_ms": 60},
    "inloop": {
        "steps": [group(group(step("a"), **LOOP), then(step("b")), **LOOP), then(step("c"))]
    },
    "intimes": {
        "steps": [
            group(group(step("a"), **LOOP), times=2, times_within_ms=20),
            then(step("c")),
        ]
    },
}


def line(pattern: str, kind: str, sequence: int, steps: Mapping[str, Sequence[Any]]) -> str:
    ids = {name: "".join(f"{event['id']}," for event in steps[name]) for name in sorted(steps)}
    taken = "".join(f"{name}={each};" for name, each in ids.items())
    return f"{pattern} {kind} {sequence} {taken}"


@pytest.mark.parametrize("name", PATTERNS)
def test_matches_and_timeouts_are_those_of_flink(name: str) -> None:
    sequences: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for text in (HERE / "events.txt").read_text().splitlines():
        sequence, number, time_ms, letter = text.split()
        sequences[int(sequence)].append({"id": number, "ts": int(time_ms), "name": letter})
    pattern = Pattern.from_document(PATTERNS[name], flink_quirks=True)
    found: Counter[str] = Counter()
    for sequence_id, events in sequences.items():
        result = find_matches(
            pattern, events, time_field="ts", final_watermark_ms=10**9, warn=False
        )
        found.update(line(name, "M", sequence_id, match.steps) for match in result.matches)
        found.update(
            f"{line(name, 'T', sequence_id, partial.steps)} @{partial.timeout_ms}"
            for partial in result.timed_out
        )
    answered = (HERE / "flink.txt").read_text().splitlines()
    assert found == Counter(text for text in answered if text.startswith(f"{name} "))


# As Flink's `NFACompiler.checkPatternWindowTimes` decides them.
@pytest.mark.parametrize(
    ("steps", "is_refused"),
    [
        pytest.param(TWO, True, id="two loops"),
        pytest.param([*TWO[:1], then(step("c"))], False, id="one loop"),
        pytest.param(PATTERNS["inloop"]["steps"], True, id="a loop in a loop"),
        pytest.param(PATTERNS["intimes"]["steps"], True, id="a loop in a repeated group"),
        pytest.param(
            [group(step("a"), times=3, times_within_ms=20), then(step("c"))], False, id="no loop"
        ),
        pytest.param([step("x"), then(group(step("a"), **LOOP))], False, id="one loop at the end"),
    ],
)
def test_a_window_between_loops_longer_than_the_pattern_is_refused_where_flink_enforces_it(
    steps: list[dict[str, Any]],
    is_refused: bool,  # noqa: FBT001 - a parameter of cases
) -> None:
    document = {"steps": steps, "within_ms": 10}
    if is_refused:
        with pytest.raises(PatternError, match="longer than the window of the pattern, 10 ms"):
            Pattern.from_document(document, flink_quirks=True)
    else:
        assert Pattern.from_document(document, flink_quirks=True).tree.elements
