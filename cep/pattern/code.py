"""Python conditions of a pattern: signed for a document, verified and loaded for a run, or listed.

PythonCondition ──signed──► SignedCondition ──document──► the same ──loaded──► PythonCondition
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import ModuleType

from cep.pattern.problems import PatternError, Problem
from cep.pattern.tree import (
    AllOf,
    AnyOf,
    Condition,
    Group,
    PatternTree,
    PythonCondition,
    SignedCondition,
    Step,
)
from cep.pattern.validation.places import places
from cep.row_pattern.clause import Query
from cep.signing.code import CodePlace, CodeRefused, CodeUse, SignedCode, sign, verify_and_load
from cep.signing.keys import SigningKeys


def signed(
    tree: PatternTree,
    keys: SigningKeys,
    modules: Sequence[ModuleType] = (),
    place: CodePlace | None = None,
) -> PatternTree:
    """Return a tree with its callables as signed code, for one rule if its place is given.

    Raises:
        PatternError: a callable cannot be pickled, is too large, or the key wants a place.
    """

    def sign_one(condition: Condition) -> Condition:
        if not isinstance(condition, PythonCondition):
            return condition
        code = sign(condition.function, keys.newest, CodeUse.CONDITION, modules, place=place)
        return SignedCondition(code)

    return _Rewriter(sign_one).tree(tree)


def loaded(
    tree: PatternTree, keys: SigningKeys | None, place: CodePlace | None = None
) -> PatternTree:
    """Return a tree with its signed code verified and loaded.

    Raises:
        PatternError: code is refused.
    """

    def load_one(condition: Condition) -> Condition:
        if not isinstance(condition, SignedCondition):
            return condition
        function = verify_and_load(condition.code, keys, CodeUse.CONDITION, place)
        if not callable(function):
            raise CodeRefused(f"{condition} is no callable")
        return PythonCondition(function)

    return _Rewriter(load_one).tree(tree)


def signed_codes(tree: PatternTree | Query) -> Iterator[tuple[str, SignedCode]]:
    """Yield the signed code of every condition with its path in the document."""
    if isinstance(tree, Query):
        return
    for place in places(tree):
        element = place.element
        if isinstance(element, Step):
            yield from _codes(element.where, f"{place.path}.where")
        yield from _codes(element.until, f"{place.path}.until")


def _codes(condition: Condition | None, path: str) -> Iterator[tuple[str, SignedCode]]:
    match condition:
        case SignedCondition(code=code):
            yield f"{path}.python", code
        case AllOf(conditions=parts):
            for index, part in enumerate(parts):
                yield from _codes(part, f"{path}.all_of[{index}]")
        case AnyOf(conditions=parts):
            for index, part in enumerate(parts):
                yield from _codes(part, f"{path}.any_of[{index}]")
        case _:
            return


class _Rewriter:
    """Rewrites every condition of a tree that is not composed of others, collecting refusals."""

    def __init__(self, rewrite: Callable[[Condition], Condition]) -> None:
        self._rewrite = rewrite
        self._problems: list[Problem] = []

    def tree(self, tree: PatternTree) -> PatternTree:
        rewritten = replace(tree, elements=self._elements(tree.elements, "steps"))
        if self._problems:
            raise PatternError(self._problems)
        return rewritten

    def _elements(self, elements: tuple[Step | Group, ...], path: str) -> tuple[Step | Group, ...]:
        return tuple(
            self._element(element, f"{path}[{index}]") for index, element in enumerate(elements)
        )

    def _element(self, element: Step | Group, path: str) -> Step | Group:
        match element:
            case Step(where=where):
                rewritten: Step | Group = replace(
                    element, where=self._condition(where, f"{path}.where")
                )
            case Group(elements=inner):
                rewritten = replace(element, elements=self._elements(inner, f"{path}.group.steps"))
        return replace(rewritten, until=self._condition(element.until, f"{path}.until"))

    def _condition(self, condition: Condition | None, path: str) -> Condition | None:
        if condition is None:
            return None
        try:
            return self._rewritten(condition)
        except CodeRefused as refusal:
            self._problems.append(Problem(path, f"{refusal}.", ""))
            return None

    def _rewritten(self, condition: Condition) -> Condition:
        match condition:
            case AllOf(conditions=parts):
                return AllOf(tuple(map(self._rewritten, parts)))
            case AnyOf(conditions=parts):
                return AnyOf(tuple(map(self._rewritten, parts)))
            case _:
                return self._rewrite(condition)
