"""Files → documents: the content of a folder of YAML and JSON files, with the place of every key.

A file holds one document or many: YAML documents with `---` in between, or a list. A document with
`pattern` is a processor, one with `schema` is a stream.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from cep.file_trouble import file_trouble
from cep.pattern import PatternError, Problem
from cep.pattern.document.files import SUFFIXES
from cep.pattern.document.text import (
    Mark,
    SourceDocument,
    items_of,
    read_json_text,
    read_yaml_documents,
)

STANDARD_INPUT: Final = Path("-")
"""Stands for documents that come through a pipe."""


@dataclass(frozen=True, slots=True)
class FileProblem:
    """One problem in a file; `line` and `column` count from 1, `path` names the key.

    `document` is the one it is in, `None` if the file could not be read as documents.
    """

    file: Path
    message: str
    path: str = ""
    line: int | None = None
    column: int | None = None
    snippet: str = ""
    document: "FileDocument | None" = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        message = f"{place}: {f'{self.path}: ' if self.path else ''}{self.message}"
        return f"{message}\n{self.snippet}" if self.snippet else message


@dataclass(frozen=True, slots=True)
class Inside:
    """A place in a text that is itself a value of a document, such as a condition; from 1."""

    line: int | None
    column: int | None
    snippet: str


@dataclass(frozen=True, slots=True)
class FileDocument:
    """One document of a file."""

    file: Path
    source: SourceDocument

    @property
    def data(self) -> dict[str, Any]:
        """The document itself."""
        data: dict[str, Any] = self.source.data
        return data

    def problem(
        self, path: str, message: str, remedy: str = "", inside: Inside | None = None
    ) -> FileProblem:
        """Return a problem of this document with its place in the file.

        `path` is such as `pattern.steps[0].where`, of a key that is missing, too; `inside` where in
        the text there.
        """
        end = "" if message.endswith((".", "?", "!")) else "."
        text = f"{message}{end} {remedy[:1].upper()}{remedy[1:]}".rstrip()
        snippet = inside.snippet if inside else ""
        mark = self.source.mark(path) or self._first_mark()
        if mark is None:
            return FileProblem(self.file, text, path, snippet=snippet, document=self)
        where = (None, None) if inside is None else (inside.line, inside.column)
        line, column = mark.inside(*where)
        return FileProblem(self.file, text, path, line, column, snippet, self)

    def in_file(self, problem: Problem) -> FileProblem:
        """Return a problem of this document with its place in the file."""
        inside = Inside(problem.line, problem.column, problem.snippet)
        return self.problem(problem.path, problem.message, problem.remedy, inside)

    def _first_mark(self) -> Mark | None:
        return min(
            self.source.marks.values(), key=lambda mark: (mark.line, mark.column), default=None
        )

    def path_of_pointer(self, pointer: str) -> str:
        """Return the path of a JSON Pointer into this document (RFC 6901)."""
        path, data = "", self.source.data
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(data, list) and key.isdecimal():
                path += f"[{key}]"
                data = data[int(key)] if int(key) < len(data) else None
            else:
                path += f".{key}" if path else key
                data = data.get(key) if isinstance(data, Mapping) else None
        return path


def read_documents(paths: Iterable[Path]) -> tuple[list[FileDocument], list[FileProblem]]:
    """Return the documents of files, and of all files in folders, in the order of their names.

    A file that is named twice, as by itself and by its folder, is read once. `-` is standard input,
    whose documents are called those of the file `standard input` in the current folder.
    """
    files: dict[Path, Path] = {}
    problems: list[FileProblem] = []
    for path in paths:
        if path == STANDARD_INPUT:
            files.setdefault(path, path)
            continue
        if not path.exists():
            problems.append(FileProblem(path, "there is no such file or folder."))
        for file in _files(path):
            files.setdefault(file.resolve(), file)
    mappings = []
    for file in files.values():
        read, refused = _documents(file)
        problems += refused
        for document in read:
            if isinstance(document.source.data, dict):
                mappings.append(document)
            else:
                message = "a document is a mapping with keys such as id and pattern."
                problems.append(document.problem("", message))
    return mappings, problems


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return sorted(
        file
        for file in path.rglob("*")
        if file.suffix.lower() in SUFFIXES
        and file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )


def documents_in(text: str, file: Path) -> list[FileDocument]:
    """Return the documents in the text of a file, YAML or JSON, whatever they are.

    Invalid JSON is reported as such if the suffix of the file says so.

    Raises:
        PatternError: it is neither.
    """
    try:
        json.loads(text)
        is_json = True
    except (ValueError, RecursionError):  # YAML, or PyYAML says what is wrong
        is_json = file.suffix.lower() == ".json"
    sources = [read_json_text(text)] if is_json else read_yaml_documents(text)
    return [FileDocument(file, each) for source in sources for each in items_of(source)]


def _documents(file: Path) -> tuple[list[FileDocument], list[FileProblem]]:
    try:
        if file == STANDARD_INPUT:
            file, text = Path("standard input"), sys.stdin.read()
        else:
            text = file.read_text(encoding="utf-8")
        return documents_in(text, file), []
    except PatternError as error:
        return [], [
            FileProblem(file, each.message, each.path, each.line, each.column)
            for each in error.problems
        ]
    except (OSError, UnicodeDecodeError) as error:
        return [], [FileProblem(file, f"cannot be read: {file_trouble(error)}.")]
