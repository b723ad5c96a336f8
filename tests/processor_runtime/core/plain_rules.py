"""Patterns and selects of rules about whose matches nothing, or not much, is decided."""

from collections.abc import Sequence

from tests.letters import Document, followed, sequence, with_step

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
AB = sequence("ab", within_ms=20)
PATTERNS: Sequence[Document] = [
    AB,
    AB | {"after_match_skip": {"strategy": "skip_past_last_event"}},
    with_step(AB, 0, times={"from": 1, "to": None}),
    with_step(sequence("acb", within_ms=20), 1, optional=True),
    # Of the shape of the first one, with other names.
    followed(('b "', "name = 'a'"), ("a", "name = 'b'"), within_ms=20),
    with_step(AB, 1, where="name = 'b' AND price > 0"),
]
MORE: Sequence[Document] = [
    {},
    {"alert": {"suppress": {"for": "10 seconds", "at_most": 1}}},
    {"alert": {"budget": {"at_most": 2, "for": "1 hour"}}},
]
