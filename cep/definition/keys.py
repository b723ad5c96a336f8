"""The key of a rule: what is written as `key_by`, or PARTITION BY of its clause; its values.

Between a document and the code that groups events by key.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from cep.pattern import Pattern
from cep.pattern.row_patterns import implied_key


def listed_key(key_by: Any) -> Any:
    """Return a key as a list; one column or expression may be written as it is."""
    return [key_by] if isinstance(key_by, str) else key_by


def written_key(key_by: Sequence[str] | None, pattern: Pattern) -> Sequence[str] | None:
    """Return the expressions of the key of a rule; `None` for one global key."""
    if key_by or pattern.query is None:
        return key_by
    return implied_key(pattern.query) or None


def with_key(definition: Mapping[str, Any], pattern: Pattern) -> dict[str, Any]:
    """Return a definition in which the key is said where definitions say it."""
    key_by = written_key(definition.get("key_by"), pattern)
    return dict(definition) if key_by is None else {**definition, "key_by": list(key_by)}


def without_implied_key(definition: Mapping[str, Any], pattern: Pattern) -> dict[str, Any]:
    """Return a valid definition as people write it: PARTITION BY of a clause is its key."""
    is_implied = pattern.query is not None
    return {key: value for key, value in definition.items() if not (is_implied and key == "key_by")}


def key_text(values: Sequence[Any]) -> str:
    """Return the values of a key, as JSON has them, as one text, the one lists of matches have."""
    return ", ".join(value if isinstance(value, str) else json.dumps(value) for value in values)
