"""Runs the examples of a document: a rule whose own examples fail is not published.

CheckedDefinition ──► examples_to_run ──► run_examples ──► expected and not found, or not so
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pydantic import TypeAdapter

from cep.definition.checking import CheckedDefinition
from cep.definition.document import Example
from cep.definition.keys import listed_key, written_key
from cep.definition.parameters import with_parameters_in_pattern
from cep.events.order import EventTime
from cep.expression import EvaluationError, Expression, Schema, compile_scalar, resolve
from cep.matching.find_matches import MatchResult, find_matches
from cep.nfa.errors import MatchingError
from cep.nfa.limits import Limits
from cep.pattern import Pattern, Problem
from cep.pattern.code import signed_codes

MAXIMUM_EVENTS: Final = 2_000

_LIMITS: Final = Limits(partial_matches=2_000, events=10_000)
_SHOWN: Final = 3
# A path of nothing is that of problems which are counted and not reported one by one.
_NEEDED: Final = re.compile(r"(pattern|key_by|examples)\b|$")
_EXAMPLES: Final = TypeAdapter(list[Example])


@dataclass(frozen=True, slots=True)
class WrittenExamples:
    """Examples and what they are run on, as data: plain values that JSON can hold.

    `pattern`, `key_by` and `examples` are those of a document; the pattern is valid.
    """

    pattern: Mapping[str, Any]
    key_by: Sequence[str]
    examples: Sequence[Mapping[str, Any]]
    time: EventTime

    @classmethod
    def of_json(cls, written: Mapping[str, Any]) -> "WrittenExamples":
        """Return what JSON has made of some."""
        return cls(**{**written, "time": EventTime.of_json(written["time"])})


def example_problems(
    document: Mapping[str, Any], checked: CheckedDefinition[Any], time: EventTime, schema: Schema
) -> list[Problem]:
    """Return how the examples of a document differ from what its pattern finds.

    They are run if nothing is wrong with the pattern, the keys and themselves, whatever is wrong
    with other parts; for the schema see `run_examples`.
    """
    written, problems = examples_to_run(document, checked, time)
    return problems if written is None else run_examples(written, schema)


def examples_to_run(
    document: Mapping[str, Any], checked: CheckedDefinition[Any], time: EventTime
) -> tuple[WrittenExamples | None, list[Problem]]:
    """Return the examples that can be run, or why they cannot; see `example_problems`."""
    if checked.pattern is None or any(_NEEDED.match(each.path) for each in checked.problems):
        return None, []
    given = document.get("examples") or []
    if unfit := _unfit(given, checked.pattern):
        return None, [unfit]
    if not given:
        return None, []
    keys = written_key(listed_key(document.get("key_by")), checked.pattern) or []
    pattern = with_parameters_in_pattern(document)["pattern"]
    return WrittenExamples(pattern, keys, given, time), []


def run_examples(written: WrittenExamples, schema: Schema) -> list[Problem]:
    """Return how examples differ from what their pattern finds.

    What that takes is bounded for one key only: who runs examples of others, bounds it. A pattern
    that names lists cannot be run without their values in the schema.
    """
    pattern = Pattern.from_document(written.pattern)
    if pattern.list_names and not schema.lists:
        names = ", ".join(pattern.list_names)
        message = f"the values of the lists it names are not known here: {names}."
        return [Problem("examples", message, "Let the rule service check it, which has the lists.")]
    find = partial(
        find_matches,
        pattern,
        time_field=written.time.column,
        key_by=_key_function(written.key_by, schema) if written.key_by else None,
        order_by=written.time.order(schema),
        require_order=True,
        limits=_LIMITS,
        schema=schema,
        warn=False,
    )
    return [
        problem
        for index, example in enumerate(_EXAMPLES.validate_python(written.examples))
        for problem in _problems(example, f"examples[{index}]", find)
    ]


def _unfit(examples: Sequence[Mapping[str, Any]], pattern: Pattern) -> Problem | None:
    """Return why examples cannot be run at all."""
    count = sum(len(example["events"]) for example in examples)
    if count > MAXIMUM_EVENTS:
        message = f"{count} events; the limit is {MAXIMUM_EVENTS}."
        return Problem("examples", message, "Keep examples small; use a backtest for more.")
    if examples and any(signed_codes(pattern.form)):
        return Problem(
            "examples",
            "the pattern has Python conditions, which are not run for a check.",
            "Take the examples out, and check them before you publish: `find_matches`.",
        )
    return None


def _problems(example: Example, path: str, find: Callable[..., MatchResult]) -> Iterator[Problem]:
    try:
        result = find(example.events, final_watermark_ms=example.final_watermark_ms)
    except (MatchingError, EvaluationError) as error:
        yield Problem(f"{path}.events", f"{error}", "Mend the events.")
        return
    yield from _difference(f"{path}.matches", example.matches, _positions(result.matches, example))
    if example.timed_out is not None:
        found = _positions(result.timed_out, example)
        yield from _difference(f"{path}.timed_out", example.timed_out, found)


def _positions(found: Iterable[Any], example: Example) -> list[dict[str, list[int]]]:
    position_of = {id(event): index for index, event in enumerate(example.events)}
    return [
        {name: [position_of[id(event)] for event in events] for name, events in match.steps.items()}
        for match in found
    ]


def _difference(
    path: str, expected: list[dict[str, list[int]]], found: list[dict[str, list[int]]]
) -> Iterator[Problem]:
    wanted, given = Counter(map(_text, expected)), Counter(map(_text, found))
    if missing := list((wanted - given).elements()):
        yield Problem(
            path,
            f"Expected and not found: {_listed(missing)}.",
            f"Found: {_listed(list(given.elements())) or 'nothing'}.",
        )
    if surplus := list((given - wanted).elements()):
        yield Problem(
            path,
            f"Found and not expected: {_listed(surplus)}.",
            "Change the pattern, or add it to the example.",
        )


def _text(match: dict[str, list[int]]) -> str:
    return json.dumps(match, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _listed(texts: list[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more


def _key_function(key_by: Sequence[str], schema: Schema) -> Callable[[Mapping[str, Any]], str]:
    columns = [compile_scalar(resolve(Expression.parse(text), (), schema)) for text in key_by]

    def key(event: Mapping[str, Any]) -> str:
        return json.dumps([column(event, ()) for column in columns], default=str)

    return key
