"""What a worker can do: each task takes and gives what JSON can hold.

No task loads Python code: the service verifies the signature of code and never runs it, and a
worker is a part of the service.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

from api.trials.near_misses import Wanted, why_no_match
from api.trials.reports import SampleEvents
from api.trials.row_samples import sample_rows
from api.trials.rule import WrittenRule, read_rule
from api.trials.samples import sample_events
from api.trials.trial import run_trial
from cep.matching.examples import WrittenExamples, run_examples


def trial(rule: Mapping[str, Any], events: list[dict[str, Any]], *, let_time_pass: bool) -> bytes:
    """Return the report of a trial.

    Raises:
        Unfit: the events do not fit the stream, or cannot be matched.
    """
    report = run_trial(read_rule(WrittenRule(**rule)), events, let_time_pass=let_time_pass)
    return report.model_dump_json().encode()


def samples(rule: Mapping[str, Any], begin_ms: int) -> bytes:
    """Return made-up events that might match."""
    read = read_rule(WrittenRule(**rule))
    query = read.pattern.query
    events = sample_events(read, begin_ms) if query is None else sample_rows(read, query, begin_ms)
    return SampleEvents(events=events).model_dump_json().encode()


def examples(written: Mapping[str, Any]) -> bytes:
    """Return a list of the problems of examples."""
    found = run_examples(WrittenExamples(**written))
    return json.dumps([asdict(problem) for problem in found]).encode()


def why(rule: Mapping[str, Any], events: list[dict[str, Any]], wanted: Mapping[str, Any]) -> bytes:
    """Return the report of why a rule finds no match in events.

    Raises:
        Unfit: the events do not fit the stream, or cannot be matched.
    """
    report = why_no_match(read_rule(WrittenRule(**rule)), events, Wanted(**wanted))
    return report.model_dump_json().encode()


TASKS: Final[Mapping[str, Callable[..., bytes]]] = {
    "trial": trial,
    "samples": samples,
    "examples": examples,
    "why": why,
}
