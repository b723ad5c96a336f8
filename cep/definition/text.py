"""Documents as text: keys in the order in which people write them, in YAML or JSON.

The store keeps keys by alphabet; what people are shown, what they compare and what is written to
files comes through here.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

_DOCUMENT: Final = (
    *("id", "stream", "paused", "description", "owner", "severity", "tags", "effective_from"),
    *("effective_until", "key_by", "pattern", "select", "function", "alert", "on_update"),
    *("limits", "examples"),
)
_PATTERN: Final = (
    *("parameters", "name", "group", "steps", "contiguity", "subtype", "where", "times"),
    *("from", "to"),
    *("times_within", "times_within_ms", "inner", "greedy", "optional", "until", "within"),
    *("within_ms", "within_previous", "within_type", "after_match_skip", "strategy", "step"),
    *("type", "value", "min", "max", "values", "description"),
)
_EXAMPLE: Final = ("name", "events", "matches", "timed_out", "final_watermark_ms")


def in_usual_order(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a processor document with its keys in the usual order; unknown ones come last."""
    ordered = _by(_DOCUMENT, document)
    if "pattern" in ordered:
        ordered["pattern"] = _pattern(ordered["pattern"])
    if isinstance(examples := ordered.get("examples"), list):
        ordered["examples"] = [
            _by(_EXAMPLE, example) if isinstance(example, Mapping) else example
            for example in examples
        ]
    return ordered


def in_order_of(value: Any, other: Any) -> Any:
    """Return a value with its keys in the order that another value has; the rest comes last."""
    match value, other:
        case Mapping(), Mapping():
            return {
                key: in_order_of(value[key], other.get(key)) for key in _by(tuple(other), value)
            }
        case list(), list():
            others = [*other, *[None] * len(value)]
            return [in_order_of(*pair) for pair in zip(value, others, strict=False)]
        case _:
            return value


def json_text(documents: Sequence[Mapping[str, Any]]) -> str:
    """Return one document, or a list of several, as indented JSON, keys in the order they have."""
    one_or_all = documents[0] if len(documents) == 1 else documents
    return json.dumps(one_or_all, indent=2, ensure_ascii=False) + "\n"


def _pattern(value: Any) -> Any:
    match value:
        case Mapping():
            return {key: _pattern(inner) for key, inner in _by(_PATTERN, value).items()}
        case list():
            return [_pattern(inner) for inner in value]
        case _:
            return value


def _by(order: tuple[str, ...], mapping: Mapping[str, Any]) -> dict[str, Any]:
    known = {key: mapping[key] for key in order if key in mapping}
    return known | dict(mapping)
