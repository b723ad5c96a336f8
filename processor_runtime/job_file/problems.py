"""What pydantic found wrong with a job file → problems with their path, line and column."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from cep.pattern import Problem
from cep.pattern.document.text import SourceDocument
from cep.pattern.problems import did_you_mean, type_remedy

ROOT = "job file"


class JobFileError(ValueError):
    """A job file cannot be used; `problems` holds every reason, in the order of their lines."""

    def __init__(self, path: Path, problems: list[Problem]) -> None:
        self.path = path
        self.problems = tuple(
            sorted(problems, key=lambda problem: (problem.line or 0, problem.column or 0))
        )
        super().__init__("\n".join(f"{path}: {problem}" for problem in self.problems))


def placed_in(document: SourceDocument, problem: Problem) -> Problem:
    """Return a problem with the line and column of its path, unless it has some already."""
    path = problem.path or ROOT
    mark = document.mark(problem.path)
    if problem.line is not None or mark is None:
        return replace(problem, path=path)
    return replace(problem, path=path, line=mark.line, column=mark.column)


def validation_problems(
    error: ValidationError, model: type[BaseModel], data: Any, written: Mapping[str, str]
) -> Iterator[Problem]:
    """Yield everything that pydantic found wrong, without lines and columns.

    `error`: what validating `model` raised. `model`: the model, whose keys are suggested for
    unknown ones. `written`: values that came from the environment, by path, as they are written in
    the file; no problem repeats such a value.
    """
    for details in error.errors(include_url=False):
        path, value = _found_at(details["loc"], data, is_missing=details["type"] == "missing")
        path, message, remedy = _explained(details, path, model)
        if path in written and isinstance(value, str) and value:
            message = message.replace(value, written[path])
            remedy = remedy.replace(value, written[path])
        yield Problem(path, message, remedy)


def _explained(  # noqa: PLR0911 - one line per kind of error
    details: ErrorDetails, path: str, model: type[BaseModel]
) -> tuple[str, str, str]:
    """Return the path of a problem, what it is, and the remedy."""
    context = details.get("ctx", {})
    location = details["loc"]
    match details["type"]:
        case "missing":
            return path, "missing.", "Add it."
        case "extra_forbidden":
            known = _keys(location[:-1], model)
            return path, "unknown key.", did_you_mean(str(location[-1]), known)
        case "union_tag_not_found":
            return _below(path, "type"), "missing.", "Add it."
        case "union_tag_invalid":
            known = [each.strip("' ") for each in context["expected_tags"].split(",")]
            message = f"'{context['tag']}' is not known."
            return _below(path, "type"), message, did_you_mean(context["tag"], known)
        case "literal_error":
            return path, "does not fit.", f"Write {context['expected']}."
        case "string_pattern_mismatch":
            form = f"It has the form {context['pattern']}"
            return path, "does not fit.", f"{_description(location, model)} {form}".lstrip()
        case "value_error":
            message = str(context["error"]).rstrip(".") + "."
            # The message of a model about one of its keys begins with that key.
            key, colon, rest = message.partition(": ")
            if colon and key in _keys(location, model):
                return _below(path, key), rest, ""
            return path, message, ""
        case _:
            return path, "does not fit.", type_remedy(details)


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _found_at(location: tuple[int | str, ...], data: Any, *, is_missing: bool) -> tuple[str, Any]:
    """Return the path in the file of a location in the models, and the value there.

    Locations also contain names of types, which are not keys of the file. The last key of a missing
    value is not in the file either, but belongs to its path.
    """
    path, value = "", data
    for position, key in enumerate(location):
        is_wanted = is_missing and position == len(location) - 1
        if isinstance(value, dict) and (key in value or is_wanted):
            path, value = _below(path, str(key)), value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            path, value = f"{path}[{key}]", value[key]
    return path, value


def _keys(location: tuple[int | str, ...], model: type[BaseModel]) -> list[str]:
    """Return the keys that the model at a location has."""
    return list(_fields(location, model))


def _description(location: tuple[int | str, ...], model: type[BaseModel]) -> str:
    """Return what the key at a location is for."""
    field = _fields(location[:-1], model).get(str(location[-1]))
    return (field.description if field is not None else None) or ""


def _fields(location: tuple[int | str, ...], model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of the model at a location, by key."""
    models = [model]
    for key in location:
        if isinstance(key, int):
            continue
        typed = [
            each
            for each in models
            if len(models) > 1 and key in get_args(each.model_fields["type"].annotation)
        ]
        models = typed or [
            inner
            for each in models
            for name, field in each.model_fields.items()
            if key == (field.alias or name)
            for inner in _models_in(field.annotation)
        ]
    return {
        field.alias or name: field for each in models for name, field in each.model_fields.items()
    }


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
