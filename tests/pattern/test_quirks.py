"""What Flink accepts and then mangles is refused, unless the pattern accepts Flink's quirks."""

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest

from cep.pattern import Pattern, PatternError
from cep.pattern.tree import Step, WithinType
from cep.pattern.validation.quirk_rules import quirk_problems
from cep.pattern.validation.validate import problems
from tests.conformance.cases import VECTORS

PATTERNS: dict[str, Any] = {
    record["id"]: record["pattern"]
    for file in ("subtleties", "docs", "flink_bugs")
    for record in map(json.loads, (VECTORS / f"{file}.jsonl").read_text("utf-8").splitlines())
}

MANGLED = {
    "subtle/prev/quantified-step-ignored": "within_ms",
    "subtle/prev/loop-step-ignored": "within_ms",
    "subtle/prev/on-group-ignored": "within_ms",
    "subtle/prev/optional-step": "steps[1].within_ms",
    "subtle/prev/optional-step-lost-after-ignore": "steps[1].within_ms",
    "subtle/prev/times2-window-first-gap": "steps[1].times_within_ms",
    "subtle/prev/times3-window": "steps[1].times_within_ms",
    "subtle/prev/times3-window-first-step": "steps[0].times_within_ms",
    "subtle/prev/loop-window": "steps[1].times_within_ms",
    "subtle/prev/loop-window-first-step": "steps[0].times_within_ms",
    "subtle/prev/times-or-more-window": "steps[1].times_within_ms",
    "subtle/prev/times-range-window": "steps[1].times_within_ms",
    "subtle/prev/times-range-window-survivor": "steps[1].times_within_ms",
    "subtle/prev/times-window-on-group": "steps[1].times_within_ms",
    "subtle/within/in-group-last-step-ignored": "steps[1].group.steps[1].within_ms",
    "subtle/accepted/not-followed-by-last-in-group": "steps[1].group.steps[1].contiguity",
    "subtle/accepted/not-followed-by-last-in-middle-group": "steps[0].group.steps[1].contiguity",
    "subtle/accepted/optional-last-in-middle-group-then-not": "steps[1].contiguity",
    "subtle/accepted/name-with-colon": "steps[0].name",
    "subtle/accepted/two-names-colon-collide": "steps[0].name",
    "subtle/accepted/empty-name": "steps[0].name",
    "subtle/accepted/step-named-GroupPattern": "steps[0].name",
    "subtle/accepted/skip-to-GroupPattern": "after_match_skip.step",
    "subtle/accepted/skip-to-not-step": "after_match_skip.step",
}


@pytest.mark.parametrize("case", MANGLED)
def test_what_flink_mangles_is_refused_where_it_stands(case: str) -> None:
    with pytest.raises(PatternError) as refusal:
        Pattern.from_document(PATTERNS[case])
    assert refusal.value.problems[0].path == MANGLED[case]
    assert "flink_quirks" in refusal.value.problems[0].remedy
    assert Pattern.from_document(PATTERNS[case], flink_quirks=True).tree.flink_quirks


ORDINARY = [
    case for case in PATTERNS if case not in MANGLED and case.startswith(("doc/", "subtle/"))
]


def test_what_flink_runs_as_it_reads_needs_no_quirks() -> None:
    assert len(ORDINARY) > 200
    found = {case: problems(Pattern.from_document(PATTERNS[case]).tree) for case in ORDINARY}
    assert {case: each for case, each in found.items() if each != ()} == {}


@pytest.mark.parametrize(
    "case", ["bug/unbounded-nullable-group", "bug/not-then-greedy-optional-until"]
)
def test_what_crashes_flink_needs_quirks(case: str) -> None:
    with pytest.raises(PatternError, match=r"Flink (crashes|loops for ever)"):
        Pattern.from_document(PATTERNS[case])
    assert Pattern.from_document(PATTERNS[case], flink_quirks=True).tree.flink_quirks


@pytest.mark.long
def test_in_flinks_answers_an_accepted_gap_window_always_holds_and_a_refused_one_does_not() -> None:
    held = broken = 0
    for line in (VECTORS / "fuzz_visible.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        if record["expected"].get("error_phase") in {"build", "compile"}:
            continue
        tree = Pattern.from_document(record["pattern"], flink_quirks=True).tree
        refused = {problem.path for problem in quirk_problems(tree)}
        times_ms = {event["id"]: event["ts"] for event in record["events"]}
        for index, step in enumerate(tree.elements):
            window_ms = step.window_ms(WithinType.PREVIOUS_AND_CURRENT)
            if not window_ms or not isinstance(step, Step):
                continue
            for gap_ms in gaps_ms(record, step.name, times_ms):
                if f"steps[{index}].within" in refused:
                    broken += gap_ms >= window_ms
                else:
                    assert gap_ms < window_ms, record["id"]
                    held += 1
    assert held > 0
    assert broken > 0


def gaps_ms(record: Any, name: str, times_ms: dict[int, int]) -> Iterator[int]:
    """Yield, for every match, the time between a step's first event and the one before."""
    order = list(times_ms)
    for match in record["expected"]["matches"]:
        ids = sorted(chain.from_iterable(match["steps"].values()), key=order.index)
        for first in match["steps"].get(name, [])[:1]:
            if position := ids.index(first):
                yield times_ms[first] - times_ms[ids[position - 1]]


GAP = (5, "previous_and_current")


@pytest.mark.parametrize(
    "pattern",
    [
        Pattern.begin("a").one_or_more().next("b").within(*GAP),
        Pattern.begin("a").followed_by("b").optional().followed_by("c").within(*GAP),
        Pattern.begin("a").times(1, 2).followed_by("b").within(*GAP),
        Pattern.begin("a").followed_by("n").not_next("m").followed_by("c").within(*GAP),
        Pattern.begin("a").within(*GAP).followed_by("b"),
        Pattern.begin("a").not_followed_by("n").within(*GAP).followed_by("b"),
        Pattern.begin(Pattern.begin("a").followed_by("b").one_or_more())
        .followed_by("c")
        .within(*GAP),
        Pattern.begin("x").followed_by(Pattern.begin("a").within(*GAP).next("b")).one_or_more(),
        Pattern.begin("a").within(5).not_followed_by("n"),
    ],
    ids=str,
)
def test_a_window_that_flink_enforces_in_part_only_is_refused(pattern: Pattern) -> None:
    with pytest.raises(PatternError, match="flink_quirks"):
        pattern.validate()
    assert pattern.flink_quirks().validate().tree.elements == pattern.tree.elements


@pytest.mark.parametrize(
    "pattern",
    [
        Pattern.begin("a").followed_by("b").within(*GAP),
        Pattern.begin("a").times(3).followed_by("b").within(*GAP),
        Pattern.begin("a").not_followed_by("n").followed_by("b").within(*GAP),
        Pattern.begin("x").next(Pattern.begin("a").within(*GAP).next("b").within(*GAP)).times(2),
        Pattern.begin("a").followed_by("b").not_followed_by("n").within(*GAP),
        Pattern.begin("x").next(Pattern.begin("a").not_followed_by("b")).within(5),
    ],
    ids=str,
)
def test_a_window_that_flink_enforces_is_accepted(pattern: Pattern) -> None:
    assert pattern.validate() is pattern
