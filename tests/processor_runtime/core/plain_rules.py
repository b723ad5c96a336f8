"""Patterns and selects of rules about whose matches nothing, or not much, is decided."""

from collections.abc import Sequence

from tests.processor_runtime.core.published import Document, sequence

SELECTS: Sequence[dict[str, str]] = [
    {},
    {"key": "a.user", "price": "b.price"},
    {"key": "a.user", "price": "b.price "},
    {"one": "1"},
    {"one": "1.0"},
    {"one": "TRUE"},
    {"sum": "SUM(a.price)", "part": "10 / (b.price - 2)"},  # fails where the price is 2
    {"text": "CONCAT(a.name, b.user)"},
    {"first": "FIRST(a.ts)", "last": "a.ts", '"odd"': "FIRST(b.name)"},
]
PATTERNS: Sequence[Document] = [
    sequence(["a", "b"], within_ms=20),
    sequence(["a", "b"], within_ms=20, after_match_skip={"strategy": "skip_past_last_event"}),
    {
        "steps": [
            {"name": "a", "where": "name = 'a'", "times": {"from": 1, "to": None}},
            {"name": "b", "contiguity": "followed_by", "where": "name = 'b'"},
        ],
        "within_ms": 20,
    },
    {
        "steps": [
            {"name": "a", "where": "name = 'a'"},
            {"name": "c", "contiguity": "followed_by", "where": "name = 'c'", "optional": True},
            {"name": "b", "contiguity": "followed_by", "where": "name = 'b'"},
        ],
        "within_ms": 20,
    },
    # Of the shape of the first one, with other names.
    {
        "steps": [
            {"name": 'b "', "where": "name = 'a'"},
            {"name": "a", "contiguity": "followed_by", "where": "name = 'b'"},
        ],
        "within_ms": 20,
    },
    {
        "steps": [
            {"name": "a", "where": "name = 'a'"},
            {"name": "b", "contiguity": "followed_by", "where": "name = 'b' AND price > 0"},
        ],
        "within_ms": 20,
    },
]
MORE: Sequence[Document] = [
    {},
    {"alert": {"suppress": {"for": "10 seconds", "at_most": 1}}},
    {"alert": {"budget": {"at_most": 2, "for": "1 hour"}}},
]
