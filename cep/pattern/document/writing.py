"""Pattern tree → document, as a mapping, YAML or JSON; `reading` reads it back."""

from dataclasses import replace
from typing import Any

from cep.expression import Expression
from cep.expression.parameters import Parameter
from cep.pattern.document.yaml_writing import yaml_text
from cep.pattern.durations import duration_text
from cep.pattern.parameters import parameters_document
from cep.pattern.problems import PatternError, Problem
from cep.pattern.row_patterns import KEY
from cep.pattern.tree import (
    AllOf,
    AnyOf,
    Condition,
    Element,
    Group,
    InnerContiguity,
    PatternTree,
    PythonCondition,
    SignedCondition,
    SkipStrategy,
    Step,
    Subtype,
    Times,
    Window,
    WithinType,
)
from cep.row_pattern.clause import Query


def document_of(tree: PatternTree | Query) -> dict[str, Any]:
    """Return the document of a tree, with the shortest form of everything and no defaults.

    Raises:
        PatternError: the tree holds Python code that is not signed.
    """
    if isinstance(tree, Query):
        # As its author wrote it, with comments.
        return _parameters(tree.parameters) | {KEY: tree.clause.text}
    writer = _Writer()
    document = writer.document(tree)
    if writer.problems:
        raise PatternError(writer.problems)
    return document


def yaml_of(tree: PatternTree | Query) -> str:
    """Return the document of a tree as YAML; else as `document_of`."""
    return yaml_text([document_of(tree)])


def _parameters(parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    return {"parameters": parameters_document(parameters)} if parameters else {}


class _Writer:
    """Writes elements, collecting what a document cannot contain."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def document(self, tree: PatternTree) -> dict[str, Any]:
        # The window of the whole pattern is a key beside its steps, a second one is on the last
        # step.
        whole, *others = tree.elements[-1].within or (None,)
        last = replace(tree.elements[-1], within=tuple(others))
        document = _parameters(tree.parameters)
        document |= {"steps": self._elements((*tree.elements[:-1], last), "steps")}
        document |= _within(() if whole is None else (whole,))
        if tree.after_match_skip != SkipStrategy():
            document["after_match_skip"] = _skip(tree.after_match_skip)
        if tree.flink_quirks:
            document["flink_quirks"] = True
        return document

    def _elements(self, elements: tuple[Step | Group, ...], path: str) -> list[dict[str, Any]]:
        return [
            self._element(element, f"{path}[{index}]") for index, element in enumerate(elements)
        ]

    def _element(self, element: Step | Group, path: str) -> dict[str, Any]:
        document: dict[str, Any] = {}
        if isinstance(element, Step):
            document["name"] = element.name
        if element.contiguity is not None:
            document["contiguity"] = element.contiguity.value
        match element:
            case Step(where=where, subtype=subtype):
                if where is not None:
                    document["where"] = self._condition(where, f"{path}.where")
                if subtype is not None:
                    document["subtype"] = self._subtype(subtype, f"{path}.subtype")
            case Group(elements=elements):
                document["group"] = {"steps": self._elements(elements, f"{path}.group.steps")}
        document |= _quantifier(element)
        if element.until is not None:
            document["until"] = self._condition(element.until, f"{path}.until")
        return document | _within(element.within)

    def _condition(self, condition: Condition, path: str) -> str | dict[str, Any] | None:
        match condition:
            case Expression(text=text):
                return text
            case SignedCondition(code=code):
                return {"python": code.to_document()}
            case PythonCondition():
                message = "a Python callable, which a document cannot hold."
                remedy = "Write the condition in SQL, or sign it: `sign_code`."
                self.problems.append(Problem(path, message, remedy))
                return None
            case AllOf(conditions=parts):
                return {"all_of": self._conditions(parts, path)}
            case AnyOf(conditions=parts):
                return {"any_of": self._conditions(parts, path)}

    def _conditions(self, parts: tuple[Condition, ...], path: str) -> list[Any]:
        # A callable has the path of the whole condition, because there is no document yet.
        return [self._condition(part, path) for part in parts]

    def _subtype(self, subtype: Subtype, path: str) -> str | dict[str, str]:
        if subtype.python_type is not None:
            message = f"the Python class {subtype.name}, which a document cannot hold."
            remedy = "Name the value of the field that tells the type instead."
            self.problems.append(Problem(path, message, remedy))
        if subtype.field == "type":
            return subtype.name
        return {"field": subtype.field, "name": subtype.name}


def _quantifier(element: Element) -> dict[str, Any]:
    document: dict[str, Any] = {}
    if element.times is not None:
        document["times"] = _times(element.times)
    if element.times_within_ms is not None:
        document["times_within"] = duration_text(element.times_within_ms)
    if element.inner is not InnerContiguity.RELAXED:
        document["inner"] = element.inner.value
    if element.greedy:
        document["greedy"] = True
    if element.optional:
        document["optional"] = True
    return document


def _times(times: Times) -> int | dict[str, int | None]:
    if times.minimum == times.maximum:
        return times.minimum
    return {"from": times.minimum, "to": times.maximum}


def _within(windows: tuple[Window, ...]) -> dict[str, str]:
    if not windows:
        return {}
    first, *others = windows
    document = {"within": duration_text(first.duration_ms)}
    if others:
        document["within_previous"] = duration_text(others[0].duration_ms)
    elif first.type is not WithinType.FIRST_AND_LAST:
        document["within_type"] = first.type.value
    return document


def _skip(skip: SkipStrategy) -> dict[str, Any]:
    document: dict[str, Any] = {"strategy": skip.kind.value}
    if skip.step is not None:
        document["step"] = skip.step
    if skip.throw_on_miss:
        document["throw_on_miss"] = True
    return document
