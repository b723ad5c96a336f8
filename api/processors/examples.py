"""Runs the examples in a document: a rule whose own examples fail is not published."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from api.web.problems import Flaw
from cep.definition.document import Example, ProcessorDocument
from cep.expression import EvaluationError, Expression, compile_scalar, resolve
from cep.matching.find_matches import find_matches
from cep.nfa.errors import MatchingError
from cep.nfa.limits import Limits
from cep.pattern import Pattern
from cep.pattern.code import signed_codes
from contract.canonical import canonical_json

MAXIMUM_EVENTS = 2_000

_LIMITS = Limits(partial_matches=2_000, events=10_000)
_SHOWN = 3


def example_flaws(
    document: ProcessorDocument, pattern: Pattern, event_time_column: str
) -> list[Flaw]:
    """Return how the examples of a document differ from what its pattern finds."""
    count = sum(len(example.events) for example in document.examples)
    if count > MAXIMUM_EVENTS:
        return [
            Flaw(
                pointer="/examples",
                detail=f"{count} events; the limit is {MAXIMUM_EVENTS}.",
                remedy="Keep examples small; use a backtest for more.",
            )
        ]
    if document.examples and any(signed_codes(pattern.tree)):
        return [
            Flaw(
                pointer="/examples",
                detail="The pattern has Python conditions, which the service does not run.",
                remedy="Take the examples out, and check them before you publish: `find_matches`.",
            )
        ]
    key_by = _key_function(document.key_by) if document.key_by else None
    return [
        flaw
        for index, example in enumerate(document.examples)
        for flaw in _flaws(example, f"/examples/{index}", pattern, event_time_column, key_by)
    ]


def _flaws(
    example: Example,
    pointer: str,
    pattern: Pattern,
    event_time_column: str,
    key_by: Callable[[Any], str] | None,
) -> Iterator[Flaw]:
    try:
        result = find_matches(
            pattern,
            example.events,
            time_field=event_time_column,
            final_watermark_ms=example.final_watermark_ms,
            key_by=key_by,
            require_order=True,
            limits=_LIMITS,
        )
    except (MatchingError, EvaluationError) as error:
        yield Flaw(pointer=f"{pointer}/events", detail=f"{error}", remedy="Mend the events.")
        return
    yield from _difference(
        f"{pointer}/matches", example.matches, _positions(result.matches, example)
    )
    if example.timed_out is not None:
        found = _positions(result.timed_out, example)
        yield from _difference(f"{pointer}/timed_out", example.timed_out, found)


def _positions(found: Iterable[Any], example: Example) -> list[dict[str, list[int]]]:
    position_of = {id(event): index for index, event in enumerate(example.events)}
    return [
        {name: [position_of[id(event)] for event in events] for name, events in match.steps.items()}
        for match in found
    ]


def _difference(
    pointer: str, expected: list[dict[str, list[int]]], found: list[dict[str, list[int]]]
) -> Iterator[Flaw]:
    wanted = Counter(map(canonical_json, expected))
    given = Counter(map(canonical_json, found))
    if missing := list((wanted - given).elements()):
        yield Flaw(
            pointer=pointer,
            detail=f"Expected and not found: {_listed(missing)}.",
            remedy=f"Found: {_listed(list(given.elements())) or 'nothing'}.",
        )
    if surplus := list((given - wanted).elements()):
        yield Flaw(
            pointer=pointer,
            detail=f"Found and not expected: {_listed(surplus)}.",
            remedy="Change the pattern, or add it to the example.",
        )


def _listed(texts: list[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more


def _key_function(key_by: list[str]) -> Callable[[Mapping[str, Any]], str]:
    columns = [compile_scalar(resolve(Expression.parse(text), ())) for text in key_by]

    def key(event: Mapping[str, Any]) -> str:
        return json.dumps([column(event, ()) for column in columns], default=str)

    return key
