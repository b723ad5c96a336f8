"""Python conditions of a pattern: signed for a document, verified and loaded for a run, or listed.

PythonCondition ──signed──► SignedCondition ──document──► the same ──load_code──► PythonCondition
"""

from collections.abc import Callable, Iterator, Sequence
from types import ModuleType

from cep.pattern.conditions import python_condition, with_conditions
from cep.pattern.problems import PatternError, Problem
from cep.pattern.tree import (
    AllOf,
    AnyOf,
    Condition,
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

    return _rewritten(tree, sign_one)


def load_code(
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
        try:
            return python_condition(function)
        except TypeError as error:
            raise CodeRefused(str(error)) from None

    return _rewritten(tree, load_one)


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
        case AllOf(conditions=parts) | AnyOf(conditions=parts):
            key = "all_of" if isinstance(condition, AllOf) else "any_of"
            for index, part in enumerate(parts):
                yield from _codes(part, f"{path}.{key}[{index}]")
        case _:
            return


def _rewritten(tree: PatternTree, rewrite: Callable[[Condition], Condition]) -> PatternTree:
    problems: list[Problem] = []

    def rewrite_one(condition: Condition, path: str) -> Condition:
        try:
            return rewrite(condition)
        except CodeRefused as refusal:
            problems.append(Problem(path, f"{refusal}.", ""))
            return condition

    rewritten = with_conditions(tree, rewrite_one)
    if problems:
        raise PatternError(problems)
    return rewritten
