"""The conformance cases: vectors on disk, read into frozen dataclasses.

The start of the conformance suite; the format is described in `README.md` beside this module.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.conformance.outcome import Failure, Match, Outcome, StepIds, TimedOut

VECTORS = Path(__file__).parent / "vectors"

ANSWERED = ("docs", "flink_tests", "subtleties", "rejected", "fuzz_visible")
"""Files whose expected outcome is the specification."""

FLINK_BUGS = "flink_bugs"
"""Cases on which Flink crashes or answers by accident: only an orderly end is asked for."""

_FAILURE_OF_PHASE = {
    None: None,
    "build": Failure.REFUSED,
    "compile": Failure.REFUSED,
    "run": Failure.ABORTED,
}


@dataclass(frozen=True, slots=True)
class Case:
    """One pattern, the events it runs over, and what Flink made of them."""

    id: str
    pattern: Mapping[str, Any]
    events: tuple[Mapping[str, Any], ...]
    final_watermark_ms: int | None
    expected: Outcome
    note: str | None


@cache
def load(file: str) -> tuple[Case, ...]:
    """Return the cases of one vector file, named without its suffix, in file order."""
    lines = (VECTORS / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(_case(json.loads(line)) for line in lines)


def _case(record: Mapping[str, Any]) -> Case:
    return Case(
        id=record["id"],
        pattern=record["pattern"],
        events=tuple(record["events"]),
        final_watermark_ms=record.get("final_watermark"),
        expected=_outcome(record["expected"]),
        note=record.get("note"),
    )


def _outcome(expected: Mapping[str, Any]) -> Outcome:
    return Outcome(
        matches=tuple(
            Match(_step_ids(match["steps"]), _at_id(match["at_event"]))
            for match in expected["matches"]
        ),
        timed_out=tuple(
            TimedOut(_step_ids(partial["steps"]), partial["timeout_ts"], _at_id(partial["at"]))
            for partial in expected["timed_out"]
        ),
        failure=_FAILURE_OF_PHASE[expected.get("error_phase")],
        open_partial_matches=expected.get("open_partial_matches"),
        held_back_matches=expected.get("held_back_matches"),
        open_after_watermark=expected.get("open_after_watermark"),
    )


def _step_ids(steps: Mapping[str, list[int]]) -> StepIds:
    return tuple(sorted((name, tuple(ids)) for name, ids in steps.items()))


def _at_id(at: int | str) -> int | None:
    return None if at == "final_watermark" else int(at)
