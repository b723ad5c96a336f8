"""What a worker can do: each task takes and gives what JSON can hold.

No task loads Python code: the service verifies the signature of code and never runs it, and a
worker is a part of the service.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from api.trials.row_samples import sample_rows
from api.trials.samples import sample_events
from api.trials.trial import run_trial
from cep.expression import Schema
from cep.matching.examples import WrittenExamples, run_examples
from cep.trials.explanation import explained
from cep.trials.key_history import KeyHistory, KeySpan
from cep.trials.lists import WrittenList, read_lists
from cep.trials.near_misses import Wanted, why_no_match
from cep.trials.reports import SampleEvents
from cep.trials.rule import WrittenRule, read_rule


def trial(rule: Mapping[str, Any], events: list[dict[str, Any]], *, let_time_pass: bool) -> bytes:
    """Return the report of a trial.

    Raises:
        Unfit: the events do not fit the stream, or cannot be matched.
    """
    report = run_trial(read_rule(WrittenRule.of_json(rule)), events, let_time_pass=let_time_pass)
    return report.model_dump_json().encode()


def samples(rule: Mapping[str, Any], begin_ms: int) -> bytes:
    """Return made-up events that might match."""
    read = read_rule(WrittenRule.of_json(rule))
    query = read.pattern.query
    events = sample_events(read, begin_ms) if query is None else sample_rows(read, query, begin_ms)
    return SampleEvents(events=events).model_dump_json().encode()


def examples(
    written: Mapping[str, Any], schema: str, lists: Sequence[Mapping[str, Any]] = ()
) -> bytes:
    """Return a list of the problems of examples; `lists` are there if the rule names them."""
    columns = Schema.from_ddl(schema, read_lists(WrittenList(**each) for each in lists))
    found = run_examples(WrittenExamples.of_json(written), columns)
    return json.dumps([asdict(problem) for problem in found]).encode()


def why(rule: Mapping[str, Any], events: list[dict[str, Any]], wanted: Mapping[str, Any]) -> bytes:
    """Return the report of why a rule finds no match in events.

    Raises:
        Unfit: the events do not fit the stream, or cannot be matched.
    """
    report = why_no_match(read_rule(WrittenRule.of_json(rule)), events, Wanted(**wanted))
    return report.model_dump_json().encode()


def why_in_span(
    rule: Mapping[str, Any], history: Mapping[str, Any], span: Mapping[str, Any], attempts: int
) -> bytes:
    """Return the report of why a rule finds no match for a key in a span.

    Raises:
        Unfit: the events do not fit the stream, or cannot be matched.
    """
    read = read_rule(WrittenRule.of_json(rule))
    report = explained(read, KeyHistory(**history), KeySpan(**span), attempts)
    return report.model_dump_json().encode()


TASKS: Final[Mapping[str, Callable[..., bytes]]] = {
    "trial": trial,
    "samples": samples,
    "examples": examples,
    "why": why,
    "why_in_span": why_in_span,
}
