"""Documents → what is wanted: their shape, patterns and expressions checked without the service.

Every problem of every file is found, not only the first.
"""

import reprlib
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from api.gitops.documents import FileDocument, FileProblem, Inside
from api.streams.schemas import StreamDocument
from cep.definition.document import ProcessorDocument, ProcessorLabels
from cep.expression import Expression, ExpressionError, Schema, check
from cep.pattern import Pattern, PatternError
from cep.pattern.problems import did_you_mean, type_remedy

LABELS: Final = frozenset(ProcessorLabels.model_fields)

Shape = TypeVar("Shape", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class WantedStream:
    """A stream as its file says."""

    place: FileDocument
    document: StreamDocument
    schema: Schema

    @property
    def stream(self) -> str:
        """Its name."""
        return self.document.name


@dataclass(frozen=True, slots=True)
class WantedVersion:
    """One version of a processor as one document says; `paused` is `None` if it does not say."""

    place: FileDocument
    document: ProcessorDocument
    pattern: Pattern
    paused: bool | None

    @property
    def content(self) -> dict[str, Any]:
        """What makes it a version, in one spelling."""
        return content_of(self.document, self.pattern)


@dataclass(frozen=True, slots=True)
class WantedProcessor:
    """A processor as its documents say: at most one for now, then those for later, by time.

    Labels, and whether it is paused, may stand in any of them.
    """

    versions: tuple[WantedVersion, ...]

    @property
    def id(self) -> str:
        """Its id."""
        return self.versions[0].document.id

    @property
    def stream(self) -> str:
        """The stream it watches."""
        return self.versions[0].document.stream

    @property
    def paused(self) -> bool | None:
        """Whether it shall be paused; `None` = as it is now."""
        said = [version.paused for version in self.versions if version.paused is not None]
        return any(said) if said else None

    @property
    def labels(self) -> dict[str, Any]:
        """What makes no version."""
        given: dict[str, Any] = {}
        for version in reversed(self.versions):
            given |= labels_of(version.document, version.document.model_fields_set)
        return labels_of(ProcessorLabels()) | given

    def body(self, version: WantedVersion) -> dict[str, Any]:
        """Return a version as it is sent: as it was written, with all labels."""
        content = {
            key: value
            for key, value in version.place.data.items()
            if key != "paused" and key not in LABELS
        }
        return content | self.labels


@dataclass(frozen=True, slots=True)
class Wanted:
    """Everything the files say."""

    streams: tuple[WantedStream, ...]
    processors: tuple[WantedProcessor, ...]


def check_documents(
    documents: Iterable[FileDocument], stream: str | None
) -> tuple[Wanted, list[FileProblem]]:
    """Return what documents want, and everything that is wrong with them.

    Args:
        documents: from all files.
        stream: leave out what belongs to another stream.
    """
    problems: list[FileProblem] = []
    streams: dict[str, WantedStream] = {}
    versions: dict[str, list[WantedVersion]] = {}
    for place in documents:
        try:
            wanted = _wanted(place)
        except _Refused as refused:
            problems += refused.problems
            continue
        if isinstance(wanted, WantedVersion):
            versions.setdefault(wanted.document.id, []).append(wanted)
        elif streams.setdefault(wanted.stream, wanted) is not wanted:
            other = streams[wanted.stream].place.file
            problems.append(place.problem("name", f"'{wanted.stream}' is also in {other}"))
    for each in versions.values():
        each.sort(key=_begin)
        problems += _version_problems(each)
    processors = [WantedProcessor(tuple(each)) for each in versions.values()]
    return Wanted(
        tuple(each for each in streams.values() if stream in {None, each.stream}),
        tuple(each for each in processors if stream in {None, each.stream}),
    ), problems


def expression_problems(version: WantedVersion, schema: Schema) -> Iterator[FileProblem]:
    """Yield what is wrong with the conditions and expressions of a version on such events."""
    place, document = version.place, version.document
    try:
        version.pattern.validate(schema)
    except PatternError as error:
        yield from _pattern_problems(place, error)
    steps = [step.name for step in version.pattern.tree.steps() if not step.is_negative]
    keys = {f"key_by[{index}]": text for index, text in enumerate(document.key_by or ())}
    columns = {f"select.{name}": text for name, text in (document.select or {}).items()}
    for texts, known_steps in ((keys, []), (columns, steps)):
        for path, text in texts.items():
            try:
                found = check(Expression.parse(text), schema=schema, steps=known_steps)
            except ExpressionError as error:
                found = [error.problem]
            for each in found:
                inside = Inside(each.line, each.column, each.snippet)
                yield place.problem(path, each.message, each.hint, inside)


def content_of(document: ProcessorDocument, pattern: Pattern) -> dict[str, Any]:
    """Return what makes a version, in one spelling, in the order in which people write it."""
    written = document.model_dump(mode="json", exclude_defaults=True, exclude=set(LABELS))
    return {
        key: pattern.to_document() if key == "pattern" else written[key]
        for key in _ORDER
        if key in written
    }


def labels_of(document: ProcessorLabels, keys: AbstractSet[str] = LABELS) -> dict[str, Any]:
    """Return those of these keys that make no version; tags in order, each once."""
    labels = document.model_dump(mode="json", include=set(LABELS & keys))
    return labels | ({"tags": sorted(set(document.tags))} if "tags" in labels else {})


_ORDER: Final = (
    *("id", "stream", "severity", "effective_from", "effective_until", "pattern"),
    *("key_by", "select", "function", "on_update", "limits", "examples"),
)


class _Refused(Exception):
    def __init__(self, problems: Iterable[FileProblem]) -> None:
        super().__init__()
        self.problems = tuple(problems)


def _begin(version: WantedVersion) -> tuple[bool, int]:
    begin_ms = version.document.effective_from
    return begin_ms is not None, begin_ms or 0


def _version_problems(versions: list[WantedVersion]) -> Iterator[FileProblem]:
    for earlier, later in pairwise(versions):
        place, name = later.place, later.document.id
        if earlier.document.stream != later.document.stream:
            told = (
                f"'{name}' is also of stream '{earlier.document.stream}', in {earlier.place.file}"
            )
            yield place.problem("stream", told, "Choose another id.")
        elif _begin(earlier) == _begin(later):
            told = f"'{name}' is also in {earlier.place.file}, with the same effective_from"
            yield place.problem("id", told, "Keep one, or change when it begins.")


def _wanted(place: FileDocument) -> WantedStream | WantedVersion:
    if "pattern" in place.data or "id" in place.data:
        return _wanted_version(place)
    if "schema" in place.data or "name" in place.data:
        return _wanted_stream(place)
    told = "neither a processor (id, stream, pattern) nor a stream (name, schema)."
    raise _Refused([place.problem("", told)])


def _wanted_stream(place: FileDocument) -> WantedStream:
    document = _shaped(StreamDocument, place, place.data)
    try:
        return WantedStream(place, document, Schema.from_ddl(document.ddl))
    except ExpressionError as error:
        inside = Inside(error.line, error.column, error.snippet)
        raise _Refused([place.problem("schema", error.message, error.hint, inside)]) from None


def _wanted_version(place: FileDocument) -> WantedVersion:
    data = dict(place.data)
    paused = data.pop("paused", None)
    if not isinstance(paused, bool | None):
        raise _Refused([place.problem("paused", "is true or false; left out = as it is now.")])
    document = _shaped(ProcessorDocument, place, data)
    try:
        pattern = Pattern.from_document(document.pattern)
    except PatternError as error:
        raise _Refused(_pattern_problems(place, error)) from None
    return WantedVersion(place, document, pattern, paused)


def _shaped(model: type[Shape], place: FileDocument, data: dict[str, Any]) -> Shape:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise _Refused(_shape_problem(model, place, each) for each in error.errors()) from None


def _shape_problem(
    model: type[BaseModel], place: FileDocument, details: ErrorDetails
) -> FileProblem:
    *parents, key = details["loc"]
    path = _path(details["loc"])
    match details["type"]:
        case "missing":
            return place.problem(path, "missing", "Add it.")
        case "extra_forbidden" if not parents:
            known = [field.alias or name for name, field in model.model_fields.items()]
            return place.problem(path, "unknown key", did_you_mean(str(key), [*known, "paused"]))
        case "extra_forbidden":
            return place.problem(path, "unknown key")
        case "value_error":
            return place.problem(path, str(details["ctx"]["error"]))
        case _:
            given = reprlib.repr(details.get("input"))
            return place.problem(path, f"{given} does not fit", type_remedy(details))


def _pattern_problems(place: FileDocument, error: PatternError) -> list[FileProblem]:
    return [
        place.problem(
            f"pattern.{each.path}" if each.path else "pattern",
            each.message,
            each.remedy,
            Inside(each.line, each.column, each.snippet),
        )
        for each in error.problems
    ]


def _path(location: tuple[int | str, ...]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in location).lstrip(
        "."
    )
