"""Document → pattern tree: every problem of the document at once, with its path and place.

Shape is checked by the models of `document`, conditions are parsed, then `validation` has its say.
"""

import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from cep.expression import ExpressionError
from cep.pattern.conditions import both, condition_of, either, expression_problem
from cep.pattern.document.schema import (
    FORM_TAGS,
    AllOfDocument,
    AnyOfDocument,
    ConditionDocument,
    GroupDocument,
    PatternDocument,
    PythonDocument,
    SequenceDocument,
    SkipDocument,
    StepDocument,
    SubtypeDocument,
    TimesRangeDocument,
    WindowDocument,
)
from cep.pattern.document.text import SourceDocument, read_json_text, read_yaml_text
from cep.pattern.problems import PatternError, Problem, did_you_mean, type_remedy
from cep.pattern.tree import (
    Condition,
    Group,
    PatternTree,
    SignedCondition,
    SkipStrategy,
    Step,
    Subtype,
    Times,
    Window,
    WithinType,
)
from cep.pattern.validation.validate import problems
from cep.signing.code import SignedCode

_MODELS: Final[Mapping[str, type[BaseModel]]] = {
    "<step>": StepDocument,
    "<group>": GroupDocument,
    "<range>": TimesRangeDocument,
    "<field>": SubtypeDocument,
    "<python>": PythonDocument,
    "<all_of>": AllOfDocument,
    "<any_of>": AnyOfDocument,
    "python": SignedCode,
    "group": SequenceDocument,
    "after_match_skip": SkipDocument,
}
_KEYS: Final = {model.__name__: list(model.model_fields) for model in _MODELS.values()}


def read_document(document: Mapping[str, Any], *, flink_quirks: bool | None = None) -> PatternTree:
    """Return the valid pattern tree that a parsed document describes.

    Args:
        document: what a JSON or YAML parser returned.
        flink_quirks: overrides the key of that name in the document.

    Raises:
        PatternError: with every problem of the document.
    """
    return _read(SourceDocument(document), flink_quirks=flink_quirks)


def read_yaml(text: str, *, flink_quirks: bool | None = None) -> PatternTree:
    """Return the valid pattern tree that a YAML document describes.

    Raises:
        PatternError: with every problem of the document, each with line and column.
    """
    return _read(read_yaml_text(text), flink_quirks=flink_quirks)


def read_json(text: str, *, flink_quirks: bool | None = None) -> PatternTree:
    """Return the valid pattern tree that a JSON document describes.

    Raises:
        PatternError: with every problem of the document, each with line and column.
    """
    return _read(read_json_text(text), flink_quirks=flink_quirks)


def _read(source: SourceDocument, *, flink_quirks: bool | None) -> PatternTree:
    try:
        document = PatternDocument.model_validate(source.data)
    except ValidationError as error:
        shape_problems = [_shape_problem(details) for details in error.errors()]
        raise PatternError(_placed(shape_problems, source)) from None
    reader = _TreeReader()
    tree = reader.tree(document)
    if flink_quirks is not None:
        tree = replace(tree, flink_quirks=flink_quirks)
    found = [*reader.problems, *problems(tree)]
    if found:
        raise PatternError(_placed(found, source))
    return tree


class _TreeReader:
    """Builds the tree of a well-shaped document, collecting what is wrong with its values."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def tree(self, document: PatternDocument) -> PatternTree:
        elements = self._elements(document.steps, "steps")
        last = elements[-1]
        windows = (*last.within, *self._windows(document, ""))
        elements = (*elements[:-1], replace(last, within=_in_order(windows)))
        skip = document.after_match_skip
        return PatternTree(
            elements=elements,
            after_match_skip=SkipStrategy(skip.strategy, skip.step, skip.throw_on_miss)
            if skip
            else SkipStrategy(),
            flink_quirks=document.flink_quirks,
        )

    def _elements(
        self, documents: Iterable[StepDocument | GroupDocument], path: str
    ) -> tuple[Step | Group, ...]:
        return tuple(
            self._element(document, f"{path}[{index}]") for index, document in enumerate(documents)
        )

    def _element(self, document: StepDocument | GroupDocument, path: str) -> Step | Group:
        element: Step | Group
        if isinstance(document, GroupDocument):
            element = Group(elements=self._elements(document.group.steps, f"{path}.group.steps"))
        else:
            element = Step(
                name=document.name,
                where=self._condition(document.where, f"{path}.where"),
                subtype=_subtype(document.subtype),
            )
        return replace(
            element,
            contiguity=document.contiguity,
            times=_times(document.times),
            times_within_ms=self._either(
                _join(path, "times_within"), document.times_within, document.times_within_ms
            ),
            inner=document.inner,
            greedy=document.greedy,
            optional=document.optional,
            until=self._condition(document.until, f"{path}.until"),
            within=_in_order(self._windows(document, path)),
        )

    def _windows(self, document: WindowDocument, path: str) -> Iterator[Window]:
        duration_ms = self._either(_join(path, "within"), document.within, document.within_ms)
        if duration_ms is not None:
            yield Window(duration_ms, document.within_type or WithinType.FIRST_AND_LAST)
        elif document.within_type is not None:
            message = "a type of window without a window."
            self.problems.append(Problem(_join(path, "within_type"), message, "Add within."))
        if isinstance(document, StepDocument | GroupDocument) and (
            document.within_previous is not None
        ):
            yield Window(document.within_previous, WithinType.PREVIOUS_AND_CURRENT)

    def _either(self, path: str, with_unit_ms: int | None, in_ms: int | None) -> int | None:
        """Return the duration that was given with a unit or in milliseconds."""
        if with_unit_ms is not None and in_ms is not None:
            self.problems.append(Problem(path, "given with and without unit.", "Keep one."))
        return in_ms if with_unit_ms is None else with_unit_ms

    def _condition(self, document: ConditionDocument | None, path: str) -> Condition | None:
        match document:
            case None:
                return None
            case PythonDocument(python=code):
                return SignedCondition(code)
            case AllOfDocument(all_of=parts):
                return self._joined(both, parts, f"{path}.all_of")
            case AnyOfDocument(any_of=parts):
                return self._joined(either, parts, f"{path}.any_of")
            case str():
                return self._sql_condition(document, path)

    def _sql_condition(self, sql: str, path: str) -> Condition | None:
        try:
            return condition_of(sql)
        except ExpressionError as error:
            self.problems.append(expression_problem(error, path))
            return None

    def _joined(
        self,
        join: Callable[[Condition | None, Condition], Condition],
        documents: Iterable[ConditionDocument],
        path: str,
    ) -> Condition | None:
        """Return conditions joined one after the other, as the builder joins them."""
        joined: Condition | None = None
        for index, document in enumerate(documents):
            condition = self._condition(document, f"{path}[{index}]")
            joined = joined if condition is None else join(joined, condition)
        return joined


def _times(times: int | TimesRangeDocument | None) -> Times | None:
    match times:
        case None:
            return None
        case int():
            return Times(times, times)
        case TimesRangeDocument():
            return Times(times.minimum, times.maximum)


def _subtype(subtype: str | SubtypeDocument | None) -> Subtype | None:
    match subtype:
        case None:
            return None
        case str():
            return Subtype(subtype)
        case SubtypeDocument():
            return Subtype(subtype.name, subtype.field)


def _in_order(windows: Iterable[Window]) -> tuple[Window, ...]:
    return tuple(sorted(windows, key=lambda window: window.type))


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _placed(found: Iterable[Problem], source: SourceDocument) -> Iterator[Problem]:
    """Yield the problems with the keys as they were written and, for text, their place."""
    for problem in found:
        path = _written_path(problem.path, source)
        mark = source.mark(path)
        if mark is None:
            yield replace(problem, path=path)
        elif mark.text is not None and problem.line == 1 and problem.column is not None:
            # So far the place is that inside a condition.
            line, column = mark.text
            yield replace(problem, path=path, line=line, column=column + problem.column - 1)
        else:
            yield replace(problem, path=path, line=mark.line, column=mark.column)


def _written_path(path: str, source: SourceDocument) -> str:
    """Return the path under which a window was written: with another key, or for the pattern."""
    if not path.endswith("within") or not isinstance(source.data, Mapping):
        return path
    element, _, key = path.rpartition(".")
    written = _at(source.data, element)
    for candidate in (key, f"{key}_ms", f"{key}_previous"):
        if candidate in written:
            return _join(element, candidate)
    return next((root for root in ("within", "within_ms") if root in source.data), path)


def _at(data: Any, path: str) -> Any:
    for key in re.findall(r"[^.\[\]]+", path):
        data = data[int(key)] if key.isdigit() else data[key]
    return data


# --- shape


def _shape_problem(details: ErrorDetails) -> Problem:  # noqa: PLR0911 - a table, one row a return
    """Return the problem that a pydantic error tells of."""
    keys = [key for key in details["loc"] if key not in FORM_TAGS]
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(".")
    given = reprlib.repr(details.get("input"))
    match details["type"]:
        case "missing":
            return Problem(path, "missing.", "Add it.")
        case "extra_forbidden":
            return _unknown_key(path, str(keys[-1]), _model_at(details["loc"]))
        case "value_error":
            return Problem(path, str(details["ctx"]["error"]), "")
        case "enum":
            known = re.findall(r"'(\w+)'", details["ctx"]["expected"])
            return Problem(path, f"{given} is not known.", did_you_mean(given.strip("'"), known))
        case "too_short":
            return Problem(path, "empty.", "Add a step." if keys[-1] == "steps" else "Add one.")
        case "recursion_loop" | "recursion_depth_exceeded":
            return Problem("", "nested too deeply.", "Use fewer groups in groups.")
        case "model_type" if details["ctx"]["class_name"] in _KEYS:
            keys_of_it = ", ".join(_KEYS[details["ctx"]["class_name"]])
            return Problem(path, f"{given} does not fit.", f"Write a mapping of {keys_of_it}.")
        case _:
            return Problem(path, f"{given} does not fit.", type_remedy(details))


def _model_at(location: tuple[int | str, ...]) -> type[BaseModel]:
    """Return the model of the mapping in which the last key of a location was found."""
    keys = (key for key in reversed(location[:-1]) if isinstance(key, str))
    models = (_MODELS[key] for key in keys if key in _MODELS)
    return next(models, PatternDocument)


def _unknown_key(path: str, key: str, model: type[BaseModel]) -> Problem:
    if model is GroupDocument and key in {"name", "where", "subtype"}:
        return Problem(path, f"a group has no {key}.", "Put it on a step in the group.")
    known = [field.alias or name for name, field in model.model_fields.items()]
    return Problem(path, "unknown key.", did_you_mean(key, known))
