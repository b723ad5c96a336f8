"""What is wrong with a document or with options, in words: where, what, and how to mend it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from cep.pattern import Problem
from cep.pattern.document.text import SourceDocument
from cep.pattern.problems import did_you_mean, type_remedy


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
        elif mark.text is not None and problem.line == 1 and problem.column is not None:
            # So far the place is that inside an expression.
            line, column = mark.text
            yield str(replace(problem, line=line, column=column + problem.column - 1))
        else:
            yield str(replace(problem, line=mark.line, column=mark.column))


def first_line(error: BaseException) -> str:
    """Return the kind of an error and the first line of what it says."""
    said = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _problems(error: ValidationError, model: type[BaseModel]) -> Iterator[Problem]:
    for details in error.errors(include_url=False, include_input=False):
        path = "".join(
            f"[{key}]" if isinstance(key, int) else f".{key}" for key in details["loc"]
        ).lstrip(".")
        match details["type"]:
            case "missing":
                yield Problem(path, "missing.", "Add it.")
            case "extra_forbidden":
                yield Problem(path, "unknown key.", _near_key(details, model))
            case "value_error":
                yield Problem(path, f"{details['ctx']['error']}".rstrip(".") + ".", "")
            case _:
                yield Problem(path, "does not fit.", type_remedy(details))


def _near_key(details: ErrorDetails, model: type[BaseModel]) -> str:
    *around, key = details["loc"]
    if around:
        return ""  # of a part of the document: its keys are not those of the model
    known = [field.alias or name for name, field in model.model_fields.items()]
    return did_you_mean(re.sub(r"\W", "_", str(key)), known)
