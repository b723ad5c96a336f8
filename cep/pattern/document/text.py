"""YAML and JSON text: plain data, and the line and column of every key in it.

The first stage of reading a document that came as text. libyaml reads it, in time linear in its
length. Duplicate keys are refused, and so are depth beyond a limit and YAML aliases, with which a
few lines can expand to gigabytes; and what YAML 1.1 alone takes for a number or a truth value.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import yaml
from yaml.cyaml import CSafeLoader

from cep.pattern.document.scalar_places import ScalarPlace
from cep.pattern.problems import PatternError, Problem

_ITEM: Final = re.compile(r"\[(\d+)\]\.?")
_TOO_DEEP: Final = Problem(
    "", "nested too deeply to be read.", "Use fewer groups in groups, and shorter keys."
)
_MAXIMUM_DEPTH: Final = 100
_PATHS_PER_CHARACTER: Final = 100
_CONVERTED: Final = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "bool"))
_ONLY_IN_YAML_1_1: Final = re.compile(
    r"yes|no|on|off|[-+]?0[0-9_]+|[-+]?0b[01_]+|.*[_:].*", re.IGNORECASE
)
"""Truth values and numbers that are texts, or other numbers, to newer versions and to most people:
a country NO, a code 0042, a time 12:30."""
_LONGEST_NUMBER: Final = 4_300
_SURROGATE: Final = re.compile(r"\\(?:u[dD][89a-fA-F][0-9a-fA-F]{2}|.)")


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
        PatternError: it is not YAML, has a key twice, uses aliases, or a value that YAML changes.
    """
    with _refusing(text):
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            raise yaml.YAMLError("the document is empty")
        return _source(loader, node)


def read_yaml_documents(text: str) -> list[SourceDocument]:
    """Return the data and the places of all YAML documents in a text; empty ones are left out.

    A time without quotes is text, as it is in JSON.

    Raises:
        PatternError: it is not YAML, has a key twice, or uses aliases.
    """
    with _refusing(text):
        loader = _TextTimesLoader(text)
        sources = []
        while loader.check_node():
            node = loader.get_node()
            if node is not None and node.value:
                sources.append(_source(loader, node))
        return sources


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
    same_places = _SURROGATE.sub(_private_character, same_places)
    return SourceDocument(data, read_yaml_text(same_places).marks)


@contextmanager
def _refusing(text: str) -> Iterator[None]:
    """Convert the errors of PyYAML to `PatternError`."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        raise PatternError([_yaml_problem(error, text)]) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # Such as a control character, a 32nd of May, or a number that is too large.
        raise PatternError([Problem("", f"not YAML: {error}.", "")]) from None
    except (AttributeError, LookupError, TypeError):
        # PyYAML fails in other ways on tags that do not fit their value: `!!int [1]`.
        message = "a YAML tag does not fit its value."
        raise PatternError([Problem("", message, "Leave tags such as !!int out.")]) from None
    except RecursionError:
        raise PatternError([_TOO_DEEP]) from None


def _private_character(escape: re.Match[str]) -> str:
    """Return an escape that YAML has for each half of a pair of surrogates, which it has not."""
    written = escape[0]
    if len(written) == 2:  # noqa: PLR2004 - such as `\\n`
        return written
    return f"\\uE{int(written[3], 16) - 8}{written[4:]}"


class _Loader(CSafeLoader):
    """Composes nodes up to a depth: libyaml's recursion in C would end the process beyond it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text.removeprefix("\ufeff")  # libyaml does not count it
        self._depth = 0

    def descend_resolver(self, current_node: yaml.Node | None, current_index: Any) -> None:
        """Called by libyaml's composer before each node."""
        del current_node, current_index
        self._depth += 1
        if self._depth > _MAXIMUM_DEPTH:
            raise RecursionError

    def ascend_resolver(self) -> None:
        """Called by libyaml's composer after each node."""
        self._depth -= 1


class _TextTimesLoader(_Loader):
    """Keeps a time as the text that was written, as in JSON."""

    yaml_implicit_resolvers: ClassVar = {  # type: ignore[misc] # PyYAML's stubs
        first: [(tag, form) for tag, form in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _source(loader: _Loader, node: yaml.Node) -> SourceDocument:
    places = _Places(loader.text)
    places.add(node, "")  # first: it refuses aliases
    return SourceDocument(loader.construct_document(node), places.marks)


class _Places:
    """Finds the places of all keys and items, by path; each node may be met once."""

    def __init__(self, text: str) -> None:
        self.marks: dict[str, Mark] = {}
        self._text = text
        self._left = len(text) * _PATHS_PER_CHARACTER
        self._met: set[int] = set()

    def add(self, node: yaml.Node, path: str) -> None:
        """Add all that is in a node."""
        if id(node) in self._met:
            raise _alias_refused(self._text)
        self._met.add(id(node))
        match node:
            case yaml.MappingNode():
                seen = set()
                for key, value in node.value:
                    if not isinstance(key, yaml.ScalarNode):
                        problem = "a key is one text, no list or mapping"
                        raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
                    name = str(key.value)
                    if name in seen:
                        problem = f"the key '{name}' is given twice"
                        raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
                    seen.add(name)
                    self.add(key, path)
                    self._add_child(f"{path}.{name}" if path else name, key, value)
            case yaml.SequenceNode():
                for index, item in enumerate(node.value):
                    self._add_child(f"{path}[{index}]", item, item)
            case yaml.ScalarNode(tag=tag) if tag in _CONVERTED:
                _check_converted(node)
            case _:
                return

    def _add_child(self, path: str, key: yaml.Node, value: yaml.Node) -> None:
        # A long key in front of many items would be copied for each of them.
        self._left -= len(path)
        if self._left < 0:
            raise RecursionError
        start = key.start_mark
        place = ScalarPlace.of(value, self._text)
        self.marks[path] = Mark(start.line + 1, start.column + 1, place)
        self.add(value, path)


def _check_converted(node: yaml.ScalarNode) -> None:
    """Refuse what takes too long to convert, and what is converted by YAML 1.1 alone."""
    problem, written = "", node.value
    if len(written) > _LONGEST_NUMBER:  # 1:59:59 and so on takes quadratic time
        problem = f"a number has more than {_LONGEST_NUMBER} characters"
    elif not node.style and _ONLY_IN_YAML_1_1.fullmatch(written):
        read = json.dumps(yaml.load(written, Loader=CSafeLoader))
        problem = f"YAML reads {written} as {read}; quote it, or write {read}"
    if problem:
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def _alias_refused(text: str) -> yaml.MarkedYAMLError:
    events = yaml.parse(text, Loader=CSafeLoader)
    first = next(event for event in events if isinstance(event, yaml.AliasEvent))
    problem = "aliases are not allowed; write the value again"
    return yaml.MarkedYAMLError(problem=problem, problem_mark=first.start_mark)  # type: ignore[arg-type] # PyYAML stubs


_YAML_REMEDIES: Final = {
    "block sequence entries are not allowed": "Begin a list on a line of its own.",
    "mapping values are not allowed": "Put a text with ': ' in quotes, and a key on its own line.",
    "did not find expected key": "Indent keys alike, and put a text with quotes in quotes, whole.",
    "expected '-' indicator": "Indent the keys of an item as its first key.",
    "unexpected end of stream": "Close the quote.",
    "expected ',' or": "Put a comma between two, and close the bracket.",
    "cannot start any token": "Put the text in quotes.",
    "undefined alias": "Put the text in quotes.",
    "constructor for the tag": "Put the text in quotes.",
    "another document": "Leave one of them, behind one `---`.",
}
"""By the words of libyaml."""


def _yaml_problem(error: yaml.MarkedYAMLError, text: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    reasons = ", ".join(filter(None, (error.context, error.problem)))
    if mark is None:
        return Problem("", f"not YAML: {reasons}.", "")
    line, column = mark.line + 1, mark.column + 1
    lines = text.split("\n")
    if line > len(lines):  # libyaml ends every text with a line break
        line, column = len(lines), len(lines[-1]) + 1
    remedy = next((told for words, told in _YAML_REMEDIES.items() if words in reasons), "")
    if "\t" in lines[line - 1][: column + 1]:
        remedy = "Indent with spaces, not with tabs."
    return Problem("", f"{reasons}.", remedy, line, column)
