"""YAML and JSON text: plain data, and the line and column of every key in it.

The first stage of reading a document that came as text. Duplicate keys are refused, and so are YAML
aliases, with which a few lines can expand to gigabytes.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import yaml

from cep.pattern.document.scalar_places import ScalarPlace
from cep.pattern.problems import PatternError, Problem

_ITEM: Final = re.compile(r"\[(\d+)\]\.?")
_TOO_DEEP: Final = Problem("", "nested too deeply to be read.", "Use fewer groups in groups.")


@dataclass(frozen=True, slots=True)
class Mark:
    """The position of a key or list item, from 1; `text` is that of its value, if that is text."""

    line: int
    column: int
    text: ScalarPlace | None = None

    def inside(self, line: int | None, column: int | None) -> tuple[int, int]:
        """Return the place in the source of a line and column of the text, all from 1.

        It is that of the key where the value is no text, or its characters cannot be found again.
        """
        if self.text is None or line is None:
            return self.line, self.column
        return self.text.of_line(line, column or 1) or (self.line, self.column)


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document as plain data; `marks` maps paths such as `steps[0].where` to places."""

    data: Any
    marks: Mapping[str, Mark] = field(default_factory=dict)

    def mark(self, path: str) -> Mark | None:
        """Return the place of a path, or of the nearest enclosing key in the text."""
        while path not in self.marks:
            if not path:
                return None
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.marks[path]


def read_yaml_text(text: str) -> SourceDocument:
    """Return the data and the places of a YAML document.

    Raises:
        PatternError: it is not YAML, has a key twice, or uses aliases.
    """
    with _refusing():
        return _source(_Loader.compose_one(text))


def read_yaml_documents(text: str) -> list[SourceDocument]:
    """Return the data and the places of all YAML documents in a text; empty ones are left out.

    A time without quotes is text, as it is in JSON.

    Raises:
        PatternError: it is not YAML, has a key twice, or uses aliases.
    """
    with _refusing():
        return [_source(node) for node in _TextTimesLoader.compose_all(text)]


def items_of(source: SourceDocument) -> Iterator[SourceDocument]:
    """Yield the items of a list as documents, each with its places; or the one document."""
    if not isinstance(source.data, list):
        yield source
        return
    marks: list[dict[str, Mark]] = [{} for _ in source.data]
    for path, mark in source.marks.items():
        if found := _ITEM.match(path):
            marks[int(found[1])][path[found.end() :]] = mark
    for item, places in zip(source.data, marks, strict=True):
        yield SourceDocument(item, places)


def read_json_text(text: str) -> SourceDocument:
    """Return the data and the places of a JSON document.

    Raises:
        PatternError: it is not JSON, or has a key twice.
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        problem = Problem("", f"not JSON: {error.msg}.", "", error.lineno, error.colno)
        raise PatternError([problem]) from None
    except ValueError as error:  # a number of too many digits
        raise PatternError([Problem("", f"not JSON: {error}.", "")]) from None
    except RecursionError:
        raise PatternError([_TOO_DEEP]) from None
    # JSON is YAML except for tabs and a few characters in strings; spaces instead keep all places.
    same_places = "".join(
        character if character.isprintable() or character in "\r\n" else " " for character in text
    )
    return SourceDocument(data, read_yaml_text(same_places).marks)


@contextmanager
def _refusing() -> Iterator[None]:
    """Convert the errors of PyYAML to `PatternError`."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        raise PatternError([_yaml_problem(error)]) from None
    except (yaml.YAMLError, ValueError) as error:  # such as a control character, or a 32nd of May
        raise PatternError([Problem("", f"not YAML: {error}.", "")]) from None
    except (AttributeError, LookupError, TypeError):
        # PyYAML fails in other ways on tags that do not fit their value: `!!int [1]`.
        message = "a YAML tag does not fit its value."
        raise PatternError([Problem("", message, "Leave tags such as !!int out.")]) from None
    except RecursionError:
        raise PatternError([_TOO_DEEP]) from None


def _source(node: yaml.Node) -> SourceDocument:
    # The loader that composed the node has set the tags that decide its type.
    return SourceDocument(yaml.SafeLoader("").construct_document(node), dict(_marks(node, "")))


class _Loader(yaml.SafeLoader):
    @classmethod
    def compose_one(cls, text: str) -> yaml.Node:
        loader = cls(text)
        node = loader.get_single_node()
        if node is None:
            raise yaml.MarkedYAMLError(
                problem="the document is empty", problem_mark=loader.get_mark()
            )
        return node

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(
                problem="aliases are not allowed; write the value again",
                problem_mark=self.peek_event().start_mark,  # type: ignore[no-untyped-call] # PyYAML's stubs
            )
        return super().compose_node(parent, index)


class _TextTimesLoader(_Loader):
    """Keeps a time as the text that was written, as in JSON."""

    yaml_implicit_resolvers: ClassVar = {  # type: ignore[misc] # PyYAML's stubs
        first: [(tag, form) for tag, form in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    @classmethod
    def compose_all(cls, text: str) -> Iterator[yaml.Node]:
        loader = cls(text)
        while loader.check_node():
            node = loader.get_node()
            if node is not None and node.value:
                yield node


def _marks(node: yaml.Node, path: str) -> Iterator[tuple[str, Mark]]:
    match node:
        case yaml.MappingNode():
            seen = set()
            for key, value in node.value:
                name = str(key.value)
                if name in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"the key '{name}' is given twice", problem_mark=key.start_mark
                    )
                seen.add(name)
                child = f"{path}.{name}" if path else name
                yield child, _mark(key, value)
                yield from _marks(value, child)
        case yaml.SequenceNode():
            for index, item in enumerate(node.value):
                yield f"{path}[{index}]", _mark(item, item)
                yield from _marks(item, f"{path}[{index}]")
        case _:
            return


def _mark(key: yaml.Node, value: yaml.Node) -> Mark:
    start = key.start_mark
    return Mark(start.line + 1, start.column + 1, ScalarPlace.of(value))


def _yaml_problem(error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    reasons = ", ".join(filter(None, (error.context, error.problem)))
    if mark is None:
        return Problem("", f"not YAML: {reasons}.", "")
    return Problem("", f"{reasons}.", "", mark.line + 1, mark.column + 1)
