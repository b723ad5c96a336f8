"""Lists of a stream in files: a document with `list`, and its values beside it or in it.

    lists/vip.yaml ──► checked_list ──► ListDocument ──given──► GivenList, read when it is needed
    lists/vip.csv  ──┘

Only names and digests of contents stay in memory: a folder may hold many lists of a million values.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)

from cep.definition.document import StreamName
from cep.definition.given_lists import GivenList, UnreadableList, read_list_file
from cep.definition.rule_files import FileDocument, FileProblem, read_documents
from cep.list_content import LONGEST_VALUE, ListType, list_content, list_values, written_value
from cep.pattern.document.files import SUFFIXES
from cep.pattern.problems import path_of, shape_problem

MOST_WRITTEN = 10_000
"""So many values stand in a document; more come from a file."""

ListName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="The name of the list: letters, digits, dot, hyphen, underscore.",
        examples=["vip"],
    ),
]
WrittenValue = Annotated[StrictStr, Field(max_length=LONGEST_VALUE)] | StrictInt | date


class ListFile(BaseModel):
    """A list of a stream as files have it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"list": "vip", "stream": "logins", "file": "vip.csv"}]},
    )

    name: ListName = Field(alias="list")
    stream: StreamName
    data_type: ListType = Field(
        alias="type",
        default="STRING",
        description="The type of its values. It stays as it is.",
        examples=["BIGINT"],
    )
    description: str = Field(
        default="",
        max_length=10_000,
        pattern=r"^[^\x00]*$",
        description="What it is for.",
        examples=["Accounts that are watched."],
    )
    file: str | None = Field(
        default=None,
        min_length=1,
        max_length=1_000,
        description="CSV beside this file, one value on each line.",
        examples=["vip.csv"],
    )
    values: list[WrittenValue] | None = Field(
        default=None,
        max_length=MOST_WRITTEN,
        description="The values, where they are few.",
        examples=[["eve", "mallory"]],
    )

    @model_validator(mode="after")
    def _is_one_source(self) -> Self:
        if self.file is not None and self.values is not None:
            raise ValueError("values and file exclude each other; keep one of them")
        path = PurePosixPath(self.file or "")
        if path.is_absolute() or ".." in path.parts:
            raise ValueError("file names a file beside this one, without .. in its path")
        return self


@dataclass(frozen=True, slots=True)
class ListDocument:
    """A list from its document; `digest` names its content, `None` if it says no values."""

    place: FileDocument
    document: ListFile
    digest: str | None
    count: int

    @property
    def name(self) -> str:
        """Its name."""
        return self.document.name

    @property
    def stream(self) -> str:
        """The stream it is of."""
        return self.document.stream

    @property
    def data_type(self) -> ListType:
        """The type of its values."""
        return self.document.data_type

    def given(self) -> GivenList | None:
        """Return the list with its values, read again; `None` if it says none.

        Raises:
            UnreadableList: its file cannot be read, or is another one by now.
        """
        found = read_list(self.place.file, self.document)
        if found is not None and found.digest != self.digest:
            raise UnreadableList(_source(self.place.file, self.document), "it has just changed")
        return found


@dataclass(frozen=True, slots=True)
class CheckedList:
    """A document of a list, and what is wrong with it: then there is no list."""

    found: ListDocument | None
    problems: tuple[FileProblem, ...] = ()


def is_list(data: Mapping[str, Any]) -> bool:
    """Whether a document is that of a list."""
    return "list" in data and not {"pattern", "id", "schema"} & data.keys()


def checked_list(place: FileDocument) -> CheckedList:
    """Return the list in a document, its values read once to see that they are right."""
    checked, _ = _read(place)
    return checked


def given_in(place: FileDocument) -> GivenList | None:
    """Return the list in a document with its values; `None` if it says none.

    Raises:
        ValueError: the document, or its file, is faulty; says where.
    """
    checked, given = _read(place)
    if checked.problems:
        raise ValueError("\n".join(map(str, checked.problems)))
    return given


def _read(place: FileDocument) -> tuple[CheckedList, GivenList | None]:
    try:
        document = ListFile.model_validate(place.data)
    except ValidationError as error:
        keys = [field.alias or name for name, field in ListFile.model_fields.items()]
        problems = (shape_problem(each, path_of(each["loc"]), keys) for each in error.errors())
        return CheckedList(None, tuple(map(place.in_file, problems))), None
    try:
        given = read_list(place.file, document)
    except UnreadableList as error:
        if document.file is None:
            return CheckedList(None, (place.problem("values", error.told),)), None
        problem = FileProblem(error.path, error.told, line=error.line, document=place)
        return CheckedList(None, (problem,)), None
    if given is None:
        return CheckedList(ListDocument(place, document, None, 0)), None
    count = len(list_values(given.data_type, given.content))
    return CheckedList(ListDocument(place, document, given.digest, count)), given


def lists_beside(paths: Iterable[Path]) -> list[FileDocument]:
    """Return the documents of lists beside files: in the same folder, or in its folder `lists`."""
    folders = dict.fromkeys(path.parent for path in paths if path.is_file())
    both = (each for folder in folders for each in (folder, folder / "lists") if each.is_dir())
    files = (
        file
        for folder in both
        for file in sorted(folder.iterdir())
        if file.suffix.lower() in SUFFIXES and file.is_file() and not file.name.startswith(".")
    )
    documents, _ = read_documents(files)
    return [each for each in documents if is_list(each.data)]


def lists_at_hand(
    names: Iterable[str],
    stream: str | None,
    documents: Iterable[FileDocument],
    given: Mapping[str, GivenList],
    read: Callable[[FileDocument], GivenList | None] = given_in,
) -> dict[str, GivenList]:
    """Return the lists that a rule names, as far as there are values for them.

    Those `given` by name count first, then the first document of a list of that name in `stream`.
    `read` is `given_in`, or what keeps what that has read.

    Raises:
        ValueError: the document of one of them, or its file, is faulty; says where.
    """
    wanted = set(names)
    found = {name: each for name, each in given.items() if name in wanted}
    for place in documents:
        name = place.data.get("list")
        is_wanted = isinstance(name, str) and name in wanted and name not in found
        if not is_wanted or not is_list(place.data) or place.data.get("stream") != stream:
            continue
        if (values := read(place)) is not None:
            found[values.name] = values
    return found


def read_list(file: Path, document: ListFile) -> GivenList | None:
    """Return the list in the document of a file, with its values; `None` if it says none.

    Raises:
        UnreadableList: they cannot be read, or are wrong; says where.
    """
    source = _source(file, document)
    if document.file is not None:
        content = read_list_file(source, document.data_type)
    elif document.values is not None:
        try:
            written = [written_value(document.data_type, str(each)) for each in document.values]
            content = list_content(written)
        except ValueError as error:
            raise UnreadableList(file, f"{error}") from None
    else:
        return None
    return GivenList(document.name, document.data_type, content)


def _source(file: Path, document: ListFile) -> Path:
    return file if document.file is None else file.parent / document.file
