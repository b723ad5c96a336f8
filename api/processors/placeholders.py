"""Does a rule still look for the value that the editor puts into the conditions of a new one?

Such a rule is well-formed, so the editor can draw and try it, and matches nothing that was meant.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from cep.pattern.problems import Problem

PLACEHOLDER: Final = "'change me'"


def placeholder_problems(document: Mapping[str, Any]) -> list[Problem]:
    """Return a problem for each text of a rule's pattern and output that holds the placeholder."""
    message = f"the value {PLACEHOLDER} is the one that a new rule begins with."
    remedy = "Write the value that events have there."
    texts = [each for name in ("pattern", "select") for each in _texts(name, document.get(name))]
    return [Problem(path, message, remedy) for path, text in texts if PLACEHOLDER in text]


def _texts(path: str, value: Any) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield path, value
        case list():
            for index, each in enumerate(value):
                yield from _texts(f"{path}[{index}]", each)
        case Mapping():
            for key, each in value.items():
                yield from _texts(f"{path}.{key}", each)
        case _:
            pass
