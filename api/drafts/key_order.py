"""The order in which people write the keys of a processor; the store keeps them by alphabet."""

from collections.abc import Mapping
from typing import Any, Final

_DOCUMENT: Final = (
    *("id", "stream", "description", "owner", "severity", "tags", "effective_from"),
    *("effective_until", "key_by", "pattern", "select", "function", "on_update", "limits"),
    "examples",
)
_PATTERN: Final = (
    *("name", "group", "steps", "contiguity", "subtype", "where", "times", "from", "to"),
    *("times_within", "times_within_ms", "inner", "greedy", "optional", "until", "within"),
    *("within_ms", "within_previous", "within_type", "after_match_skip", "strategy", "step"),
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
