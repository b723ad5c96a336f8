"""What the conformance cases run on: from a case's inputs to its outcome.

Between `cases` and `outcome`; another engine runs the same suite by offering one such function.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from cep.matching.find_matches import MatchResult
from cep.nfa.errors import LimitExceeded, SkipTargetMissing
from cep.pattern import PatternError
from percept import Pattern, find_matches
from tests.conformance.outcome import Failure, Match, Outcome, StepIds, TimedOut

Event = Mapping[str, Any]


def find_matches_outcome(
    document: Mapping[str, Any], events: Sequence[Event], final_watermark_ms: int | None
) -> Outcome:
    """Return the outcome of `cep.find_matches`, with Flink's quirks accepted as Flink does."""
    try:
        pattern = Pattern.from_document(document, flink_quirks=True)
    except PatternError:
        return Outcome(failure=Failure.REFUSED)
    try:
        result = find_matches(
            pattern,
            events,
            time_field="ts",
            final_watermark_ms=final_watermark_ms,
            warn=False,
        )
    except SkipTargetMissing as missing:
        return _outcome(missing.partial_result, events, Failure.ABORTED)
    except LimitExceeded:
        return Outcome(failure=Failure.LIMITED)
    return _outcome(result, events, None)


def _outcome(result: MatchResult, events: Sequence[Event], failure: Failure | None) -> Outcome:
    def at_id(index: int | None) -> int | None:
        return None if index is None else events[index]["id"]

    return Outcome(
        matches=tuple(Match(_step_ids(match.steps), at_id(match.at)) for match in result.matches),
        timed_out=tuple(
            TimedOut(_step_ids(partial.steps), partial.timeout_ms, at_id(partial.at))
            for partial in result.timed_out
        ),
        failure=failure,
        open_partial_matches=result.open_partial_matches,
        held_back_matches=result.held_back_matches,
        open_after_watermark=result.open_after_watermark,
    )


def _step_ids(steps: Mapping[str, Sequence[Event]]) -> StepIds:
    return tuple(
        sorted((name, tuple(event["id"] for event in events)) for name, events in steps.items())
    )
