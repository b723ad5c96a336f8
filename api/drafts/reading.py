"""From the text of a draft to data, and from flaws in the data back to places in the text.

text ─► read_draft ─► data ─► checks ─► flaws ─► placed ─► line and column
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from api.web.json_bodies import MAXIMUM_DEPTH
from api.web.problems import escaped, unescaped
from cep.definition.rule_files import FileDocument, Inside
from cep.pattern import PatternError
from cep.pattern.document.text import SourceDocument, read_json_text, read_yaml_documents
from contract.service.drafts import Draft, DraftProblem
from contract.service.problems import Flaw

_INTEGER_LIMIT = 2**63
_MOST_TOLD = 20


class Unreadable(Exception):
    """A draft is no document; `problems` says why."""

    def __init__(self, problems: Iterable[DraftProblem]) -> None:
        super().__init__()
        self.problems = list(problems)


@dataclass(frozen=True, slots=True)
class ReadDraft:
    """A draft as data, and where in its text everything stands."""

    data: dict[str, Any]
    source: SourceDocument

    def problems(self, errors: Iterable[Flaw], warnings: Iterable[Flaw]) -> list[DraftProblem]:
        """Return flaws of the data with their places in the text, in the order of its lines.

        Each names the key it is about, since an editor shows the line and not the pointer.
        """
        found = [self._problem(flaw, "error") for flaw in self.placed(errors)]
        found += [self._problem(flaw, "warning") for flaw in self.placed(warnings)]
        return sorted(found, key=lambda problem: (problem.line or 0, problem.column or 0))

    def placed(self, flaws: Iterable[Flaw]) -> list[Flaw]:
        """Return flaws of the data with their places in the text."""
        document = FileDocument(Path("draft"), self.source)
        return [_placed(document, flaw) for flaw in flaws]

    def _problem(self, flaw: Flaw, severity: str) -> DraftProblem:
        length = flaw.snippet.count("^") or None
        named = {"severity": severity, "length": length, "detail": _named(flaw)}
        return DraftProblem.model_validate(flaw.model_dump() | named)


def read_draft(draft: Draft) -> ReadDraft:
    """Return the one document in the text.

    Raises:
        Unreadable: it is not YAML (or JSON), not one mapping, or holds what JSON cannot.
    """
    try:
        is_json = draft.format == "json"
        sources = [read_json_text(draft.text)] if is_json else read_yaml_documents(draft.text)
    except PatternError as error:
        raise Unreadable(
            DraftProblem(
                severity="error",
                pointer="",
                detail=problem.message,
                remedy=problem.remedy,
                line=problem.line,
                column=problem.column,
            )
            for problem in error.problems
        ) from None
    if len(sources) != 1:
        detail = "There are several documents." if sources else "The text is empty."
        raise Unreadable([_whole(detail, "Write one document with id, stream and pattern.")])
    (source,) = sources
    if not isinstance(source.data, dict):
        raise Unreadable([_whole("It is no mapping.", "Begin with keys such as id and pattern.")])
    if flaws := list(islice(_unfit(source.data), _MOST_TOLD)):
        raise Unreadable(ReadDraft(source.data, source).problems(flaws, ()))
    return ReadDraft(source.data, source)


def _placed(document: FileDocument, flaw: Flaw) -> Flaw:
    inside = Inside(flaw.line, flaw.column, flaw.snippet) if flaw.line is not None else None
    place = document.problem(document.path_of_pointer(flaw.pointer), flaw.detail, inside=inside)
    return flaw.model_copy(update={"line": place.line, "column": place.column})


def _named(flaw: Flaw) -> str:
    """Return what is wrong with the key in front, such as `key_by[0]`."""
    key = ""
    for part in reversed(flaw.pointer.split("/")[1:]):
        is_index = part.isdecimal()
        key = f"[{part}]{key}" if is_index else f"{unescaped(part)}{key}"
        if not is_index:
            break
    return f"{key}: {flaw.detail}" if key else flaw.detail


def _whole(detail: str, remedy: str) -> DraftProblem:
    return DraftProblem(
        severity="error", pointer="", detail=detail, remedy=remedy, line=1, column=1
    )


def _unfit(data: Any) -> Iterator[Flaw]:
    """Yield what YAML can hold and a JSON document of the service cannot."""
    todo: list[tuple[str, int, Any]] = [("", 0, data)]
    while todo:
        pointer, depth, value = todo.pop()
        if depth > MAXIMUM_DEPTH:
            yield Flaw(pointer="", detail="It is nested too deeply.", remedy="Flatten it.")
            return
        match value:
            case Mapping():
                for key, inner in value.items():
                    if not isinstance(key, str) or not _is_text(key):
                        detail = f"The key {key!r} is no text."
                        yield Flaw(pointer=pointer, detail=detail, remedy="Put it in quotes.")
                    else:
                        todo.append((f"{pointer}/{escaped(key)}", depth + 1, inner))
            case list():
                todo += [
                    (f"{pointer}/{index}", depth + 1, each) for index, each in enumerate(value)
                ]
            case _ if not _is_plain(value):
                detail = "This value cannot be stored."
                yield Flaw(pointer=pointer, detail=detail, remedy="Use a text, or a number.")
            case _:
                pass


def _is_plain(value: Any) -> bool:
    match value:
        case None | bool():
            return True
        case int():
            return abs(value) < _INTEGER_LIMIT
        case float():
            return math.isfinite(value)
        case str():
            return _is_text(value)
        case _:
            return False


def _is_text(text: str) -> bool:
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
