"""What is wrong with a document or with options, in words: where, what, and how to mend it."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from pydantic import BaseModel, ValidationError

from cep.file_trouble import file_trouble
from cep.pattern import Problem
from cep.pattern.document.text import SourceDocument
from cep.pattern.problems import path_of, shape_problem

HIDDEN: Final = "***"
"""What stands in the place of a secret."""


def problem_text(
    error: ValidationError, model: type[BaseModel], text: SourceDocument | None = None
) -> str:
    """Return everything that pydantic found wrong, one problem a line; values are not repeated.

    Args:
        error: what validating `model` raised.
        model: the model, whose keys are suggested for unknown ones.
        text: the places of the keys, if the document came from a file.
    """
    return "\n".join(placed(_problems(error, model), text))


def placed(problems: Iterable[Problem], text: SourceDocument | None) -> Iterator[str]:
    """Yield problems as text, each with its line and column in the file if these are known."""
    for problem in problems:
        mark = text.mark(problem.path) if text is not None else None
        if mark is None:
            yield str(problem)
        else:
            # So far the place is that inside an expression or clause.
            line, column = mark.inside(problem.line, problem.column)
            yield str(replace(problem, line=line, column=column))


def first_line(error: BaseException) -> str:
    """Return the kind of an error and the first line of what it says; of a file which, why and how.

    An error of the system is words instead of a number and a class, and which file is before them.
    """
    if isinstance(error, OSError) and error.filename is not None:
        return f"{_path_text(error.filename)}: {file_trouble(error)}"
    said = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _path_text(path: object) -> str:
    return os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else str(path)


def masked(text: str, secrets: Iterable[str]) -> str:
    """Return a text with three stars in the place of every secret.

    The longest go first: of one that holds another nothing is left to read.
    """
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def _problems(error: ValidationError, model: type[BaseModel]) -> Iterator[Problem]:
    keys = [field.alias or name for name, field in model.model_fields.items()]
    for details in error.errors(include_url=False, include_input=False):
        *around, _ = details["loc"] or ("",)
        # Keys of a part of the document are not those of the model.
        yield shape_problem(details, path_of(details["loc"]), () if around else keys)
