"""Replaces `${NAME}` in the values of a job file from the environment; `$${` means `${`.

Values that came from the environment may be secrets: their paths are kept, so that errors can show
the text that was written instead.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cep.pattern import Problem
from cep.pattern.document.text import SourceDocument

_REFERENCE: Final = re.compile(r"\$\$\{|\$\{([^}]*)\}?")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Substitution:
    """Data with values in place of variables.

    `written` maps the paths of changed values to the text in the file. `problems` are variables
    that are not set; values with such variables are not changed.
    """

    data: Any = field(repr=False)
    written: Mapping[str, str]
    problems: tuple[Problem, ...]


def substitute(document: SourceDocument, environment: Mapping[str, str]) -> Substitution:
    """Return the data of a document with the values of environment variables in it."""
    substituter = _Substituter(document, environment)
    data = substituter.walk(document.data, "")
    return Substitution(data, substituter.written, tuple(substituter.problems))


class _Substituter:
    def __init__(self, document: SourceDocument, environment: Mapping[str, str]) -> None:
        self._document = document
        self._environment = environment
        self.written: dict[str, str] = {}
        self.problems: list[Problem] = []

    def walk(self, data: Any, path: str) -> Any:
        """Return data with all its strings substituted; keys are not changed."""
        match data:
            case dict():
                start = f"{path}." if path else ""
                return {key: self.walk(value, f"{start}{key}") for key, value in data.items()}
            case list():
                return [self.walk(item, f"{path}[{index}]") for index, item in enumerate(data)]
            case str() if "${" in data:
                self.written[path] = data
                return _REFERENCE.sub(lambda found: self._value(found, path), data)
            case _:
                return data

    def _value(self, found: re.Match[str], path: str) -> str:
        name = found[1]
        if name is None:
            return "${"
        if not _NAME.fullmatch(name) or not found[0].endswith("}"):
            message = "${ begins the name of an environment variable, and this is none."
            remedy = "Write ${NAME}, or $${ for the characters themselves."
        elif name not in self._environment:
            message = f"the environment variable {name} is not set."
            remedy = "Set it where the job is started."
        else:
            return self._environment[name]
        line, column = self._place(path, found.start())
        self.problems.append(Problem(path, message, remedy, line, column))
        return found[0]

    def _place(self, path: str, offset: int) -> tuple[int | None, int | None]:
        mark = self._document.mark(path)
        if mark is None:
            return None, None
        found = None if mark.text is None else mark.text.of_offset(offset)
        return found or (mark.line, mark.column)
