"""One rule from a file, for commands that try a single one: a whole processor, or a pattern alone.

    text ──► documents ──► the rule that is meant ──► checked ──► FileRule

Whatever stands in front of a pattern in a document decides what is found, too: the key, the limits,
the output. A file may hold more than one rule, and documents of streams beside them.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from cep.definition.checking import check_definition
from cep.definition.document import ProcessorFile, ProcessorLimits
from cep.definition.given_lists import GivenList, named_lists
from cep.definition.keys import written_key
from cep.definition.list_documents import lists_at_hand, lists_beside
from cep.definition.parameters import unused_parameters
from cep.definition.rule_files import FileDocument, FileProblem, documents_in, read_documents
from cep.events.order import EventTime
from cep.expression import ExpressionError, Schema
from cep.expression.errors import near_name
from cep.file_trouble import file_trouble
from cep.nfa.limits import Limits
from cep.pattern import Pattern, PatternError, Problem
from cep.pattern.document.files import SUFFIXES

_WITHOUT_NAMES = {"id": "rule", "stream": "stream"}


class RuleRefused(ValueError):
    """A file holds no usable rule, or several; the message says where and why."""


@dataclass(frozen=True, slots=True)
class RuleStream:
    """The columns of the events of a rule, and what orders them."""

    schema: Schema
    time: EventTime


@dataclass(frozen=True, slots=True)
class FileRule:
    """A rule that can be run.

    `content` and `place` are `None` for a pattern alone; `definition` is the document at that place
    as it is checked. `documents` are all mappings of the file.
    """

    pattern: Pattern
    content: ProcessorFile | None
    documents: tuple[FileDocument, ...]
    place: FileDocument | None = None
    definition: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key_by(self) -> tuple[str, ...]:
        """Columns or expressions of its key; none = one global key, or nothing is said of it."""
        given = None if self.content is None else self.content.key_by
        return tuple(written_key(given, self.pattern) or ())

    def stream(self, source: Path) -> RuleStream | None:
        """Return the stream of the rule, if its document is at hand, in its file or beside it.

        Raises:
            RuleRefused: the document is faulty.
        """
        if self.content is None:
            return None
        beside = sorted(source.parent.iterdir()) if source.is_file() else []
        files = (file for file in beside if file.suffix.lower() in SUFFIXES and file.is_file())
        others = (each for file in files for each in read_documents([file])[0])
        for each in chain(self.documents, others):
            if "schema" in each.data and each.data.get("name") == self.content.stream:
                return _stream(each)
        return None

    def require_fit(self, stream: RuleStream) -> None:
        """Check the rule by the columns of its stream.

        Raises:
            RuleRefused: it does not fit them; says where and why.
        """
        if self.place is None:
            return
        checked = check_definition(self.definition, stream.schema, ProcessorFile)
        if checked.problems:
            raise RuleRefused("\n".join(str(self.place.in_file(each)) for each in checked.problems))

    def lists(self, source: Path, given: Mapping[str, GivenList]) -> tuple[GivenList, ...]:
        """Return the lists that the rule names, with their values.

        Those `given` by name count before documents beside the file of the rule, `source`.

        Raises:
            ValueError: some are not known, or the document of one, or its file, is faulty.
        """
        names = self.pattern.list_names
        documents = [*self.documents, *lists_beside([source])] if names else []
        stream = None if self.content is None else self.content.stream
        return named_lists(names, lists_at_hand(names, stream, documents, given))

    @property
    def limits(self) -> Limits:
        """What one key may hold."""
        said = (self.content and self.content.limits) or ProcessorLimits()
        given = {"partial_matches": said.partial_matches_per_key, "events": said.events_per_key}
        return Limits(**{name: most for name, most in given.items() if most is not None})


def read_text(source: str) -> str:
    """Return the text of a file, of standard input for `-`.

    Raises:
        RuleRefused: it cannot be read.
    """
    try:
        return sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RuleRefused(f"cannot read the rule {source}: {file_trouble(error)}") from None


def rule_of_text(
    text: str, source: str, *, rule_id: str | None = None, flink_quirks: bool = False
) -> FileRule:
    """Return the rule in a text of one document or several, YAML or JSON; `rule_id` says which.

    `source` is the file it is from, `-` for standard input.

    Raises:
        RuleRefused: there is none, or more than one, or something is wrong with it.
    """
    name = "standard input" if source == "-" else source
    try:
        documents = documents_in(text, Path(name))
        if len(documents) == 1 and _is_pattern(documents[0]) and rule_id is None:
            pattern = Pattern.from_yaml(text, flink_quirks=flink_quirks or None)
            _refuse(unused_parameters(pattern, {}))
            return FileRule(pattern, None, ())
    except PatternError as error:
        raise RuleRefused(f"{name}: {error}") from None
    place = _meant(documents, name, rule_id)
    return _checked(place, documents, flink_quirks=flink_quirks)


def _refuse(problems: Iterable[Problem]) -> None:
    if found := tuple(problems):
        raise PatternError(found)


def _is_pattern(document: FileDocument) -> bool:
    data = document.source.data
    return not isinstance(data, dict) or not {"pattern", "schema", "id", "list"} & data.keys()


def _meant(documents: Sequence[FileDocument], name: str, rule_id: str | None) -> FileDocument:
    rules = [
        each
        for each in documents
        if isinstance(each.source.data, dict) and {"pattern", "id"} & each.data.keys()
    ]
    ids = list(dict.fromkeys(str(each.data.get("id")) for each in rules))
    found = [each for each in rules if rule_id in (None, each.data.get("id"))]
    if not rules:
        raise RuleRefused(f"{name}: there is no rule in it, and no pattern")
    if not found:
        raise RuleRefused(f"{name}: there is no rule {rule_id} in it, but {', '.join(ids)}")
    if rule_id is None and len(ids) > 1:
        raise RuleRefused(
            f"{name}: there are several rules in it, say which with --rule: {', '.join(ids)}"
        )
    # Of several versions the one that is effective at once, if there is one.
    return next((each for each in found if each.data.get("effective_from") is None), found[0])


def _checked(
    place: FileDocument, documents: Sequence[FileDocument], *, flink_quirks: bool
) -> FileRule:
    # What a rule is called, and of what stream it is, does not decide what it finds.
    data: dict[str, Any] = _WITHOUT_NAMES | place.data
    if flink_quirks and isinstance(data.get("pattern"), dict):
        data["pattern"] = data["pattern"] | {"flink_quirks": True}
    checked = check_definition(data, None, ProcessorFile)
    if checked.problems or checked.content is None or checked.pattern is None:
        problems: list[FileProblem] = [place.in_file(each) for each in checked.problems]
        raise RuleRefused("\n".join(map(str, problems)))
    readable = (each for each in documents if isinstance(each.source.data, dict))
    return FileRule(checked.pattern, checked.content, tuple(readable), place, data)


def _stream(place: FileDocument) -> RuleStream:
    data = place.data
    column, order_by = data.get("event_time_column"), data.get("order_by") or []
    try:
        schema = Schema.from_ddl(f"{data['schema']}")
    except ExpressionError as error:
        raise RuleRefused(f"{place.problem('schema', f'{error}')}") from None
    names = [name for name, _ in schema.columns]
    named = [("event_time_column", column)]
    named += [
        ("order_by", name) for name in (order_by if isinstance(order_by, list) else [order_by])
    ]
    for path, name in named:
        if name not in names:
            problem = place.problem(
                path, f"The schema has no column {name}", near_name(f"{name}", names)
            )
            raise RuleRefused(f"{problem}")
    return RuleStream(schema, EventTime(f"{column}", tuple(order_by)))
