"""The brute-force matcher against Flink's own answers: what it covers, it must get right."""

from collections import Counter

import pytest

from tests.brute_force.conditions import holds
from tests.brute_force.matcher import Match, Trial, in_time
from tests.brute_force.skipping import emitted_matches, waiting_paths
from tests.brute_force.subset import OutsideSubset, flat_pattern
from tests.conformance.cases import Case, load

COVERED = {"docs": 83, "flink_tests": 210, "subtleties": 110, "fuzz_visible": 865}
"""How many vectors of each file brute force answers; of 89, 263, 153 and 1455 without an error."""


@pytest.mark.parametrize("file", COVERED)
def test_every_covered_vector_has_the_matches_of_flink(file: str) -> None:
    covered, wrong = 0, []
    for case in load(file):
        try:
            trial = _trial(case)
            matches = emitted_matches(trial)
        except OutsideSubset:
            continue
        covered += 1
        expected = Counter((match.steps, match.at_id) for match in case.expected.matches)
        if Counter(_by_id(case, match) for match in matches) != expected:
            wrong.append(case.id)
        # every open run of Flink is a path with what it waits for, so skipping can rely on them
        if trial.pattern.skip == "no_skip" and not trial.pattern.final_nots:
            assert _open_count(trial) == case.expected.open_partial_matches, case.id
    assert not wrong
    assert covered == COVERED[file]


def _trial(case: Case) -> Trial:
    times_ms = [event["ts"] for event in case.events]
    if case.expected.failure or times_ms != sorted(times_ms):
        raise OutsideSubset("no answer, or time that goes back")
    return Trial(flat_pattern(case.pattern), case.events, holds, case.final_watermark_ms)


def _by_id(case: Case, match: Match) -> tuple[object, int | None]:
    ids = [event["id"] for event in case.events]
    steps = {name: tuple(ids[p] for p in positions) for name, positions in match.steps.items()}
    return tuple(sorted(steps.items())), None if match.at is None else ids[match.at]


def _open_count(trial: Trial) -> int:
    """Return the open runs after the last event: a run that just took one waits for all at once."""
    last = len(trial.events) - 1
    return len(
        {
            (waiting.path, None if waiting.path.taken[-1] == last else waiting.slot)
            for waiting in waiting_paths(trial)
            if waiting.first <= last <= waiting.last
            and in_time(trial, waiting.path, waiting.slot, trial.time_ms(last))
        }
    )
