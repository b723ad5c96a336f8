"""The printed form of a pattern → calls on the builder, with nothing evaluated.

Python's own parser makes a syntax tree of the text; only chains of the builder's calls with literal
arguments are read from it, everything else is refused with its place.
"""

import ast
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from textwrap import shorten
from typing import Any, Final

from cep.pattern.problems import PatternError, Problem, did_you_mean

LONGEST_TEXT: Final = 200_000

_FIRST_CALLS: Final = {
    "Pattern": ("begin",),
    "AfterMatchSkip": ("no_skip", "to_next", "past_last_event", "to_first", "to_last"),
}
_LATER_CALLS: Final = {
    "Pattern": (
        *("next", "followed_by", "followed_by_any", "not_next", "not_followed_by"),
        *("where", "or_where", "until", "subtype"),
        *("times", "times_or_more", "one_or_more", "optional", "greedy"),
        *("consecutive", "allow_combinations", "within", "after_match", "flink_quirks"),
    ),
    "AfterMatchSkip": (),
}


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a chain, such as `.times(2, 3)`, and the place of its name in the text, from 1.

    An argument is a literal or a `Chain`.
    """

    name: str
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Chain:
    """A name from which calls start, and the calls in order."""

    root: str
    calls: tuple[Call, ...]


def read_chain(text: str) -> Chain:
    """Return the calls that a printed pattern consists of.

    Raises:
        PatternError: the text is not a chain of calls; with line and column.
    """
    if len(text) > LONGEST_TEXT:
        message = f"a text of {len(text)} characters; the limit is {LONGEST_TEXT}."
        raise PatternError([Problem("", message, "Split the pattern.")])
    # In brackets, so that lines may begin with a dot.
    source = f"({text}\n)"
    try:
        chain = _Reader(source).chain(ast.parse(source, mode="eval").body)
    except UnicodeEncodeError as error:  # half of a surrogate pair
        raise PatternError([Problem("", f"not text: {error}.", "")]) from None
    except SyntaxError as error:
        line, column = error.lineno or 1, error.offset or 1
        column -= line == 1  # for the bracket
        raise PatternError([Problem("", f"{error.msg}.", "", line, max(column, 1))]) from None
    except (RecursionError, MemoryError):
        message = "nested too deeply."
        raise PatternError([Problem("", message, "")]) from None
    if chain.root != "Pattern":
        raise PatternError([Problem("", f"{chain.root} is no pattern.", "Start with Pattern.")])
    return chain


def built(chain: Chain, roots: Mapping[str, type]) -> Any:
    """Return the result of the calls of a chain, with the classes for the names it begins with.

    Raises:
        PatternError: a call does not exist in this form, or the builder refuses it.
    """
    value: Any = roots[chain.root]
    for call in chain.calls:
        method = getattr(value, call.name)
        arguments = [_built_argument(argument, roots) for argument in call.arguments]
        named = {name: _built_argument(argument, roots) for name, argument in call.named.items()}
        try:
            inspect.signature(method).bind(*arguments, **named)
            value = method(*arguments, **named)
        except TypeError as error:
            message = f"{call.name} cannot be called like this: {error}."
            raise PatternError([Problem("", message, "", call.line, call.column)]) from None
        except PatternError as error:
            raise PatternError(
                replace(problem, line=call.line, column=call.column) for problem in error.problems
            ) from None
    return value


def _built_argument(argument: Any, roots: Mapping[str, type]) -> Any:
    return built(argument, roots) if isinstance(argument, Chain) else argument


class _Reader:
    """Reads chains from the syntax tree of one text."""

    def __init__(self, source: str):
        self._lines = re.split("\r\n|\r|\n", source)  # the line ends that Python knows

    def chain(self, node: ast.expr) -> Chain:
        """Return the chain in an expression, read from its last call to its first."""
        calls: list[Call] = []
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            calls.append(self._call(node, node.func))
            node = node.func.value
        if not isinstance(node, ast.Name) or node.id not in _FIRST_CALLS or not calls:
            raise self._refusal(node, 'Write a chain such as Pattern.begin("a").next("b").')
        calls.reverse()
        for index, call in enumerate(calls):
            known = (_LATER_CALLS if index else _FIRST_CALLS)[node.id]
            if call.name not in known:
                message = f"{node.id} has no {call.name} here."
                remedy = did_you_mean(call.name, known)
                raise PatternError([Problem("", message, remedy, call.line, call.column)])
        return Chain(node.id, tuple(calls))

    def _call(self, node: ast.Call, function: ast.Attribute) -> Call:
        arguments = tuple(map(self._argument, node.args))
        named = {keyword.arg or "**": self._argument(keyword.value) for keyword in node.keywords}
        line, column = self._place(function.end_lineno, function.end_col_offset)
        return Call(function.attr, arguments, named, line, column - len(function.attr))

    def _literal(self, node: ast.Dict) -> Any:
        """Return a mapping of constants, such as declared parameters."""
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError):
            remedy = "Write constants only; Python code cannot be read back."
            raise self._refusal(node, remedy) from None

    def _argument(self, node: ast.expr) -> Any:
        match node:
            case ast.Call():
                return self.chain(node)
            case ast.Constant(value=str() | int() as value):
                return value
            case ast.Dict():
                return self._literal(node)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
                return -value
            case _:
                raise self._refusal(
                    node, "Write a text or a number; Python code cannot be read back."
                )

    def _refusal(self, node: ast.expr, remedy: str) -> PatternError:
        code = shorten(ast.unparse(node), width=40, placeholder="…")
        place = self._place(node.lineno, node.col_offset)
        return PatternError([Problem("", f"'{code}' is not part of a pattern.", remedy, *place)])

    def _place(self, line: int | None, byte_offset: int | None) -> tuple[int, int]:
        """Return line and column in the text, from 1, for a place in the bracketed source."""
        row, offset = line or 1, byte_offset or 0
        before = self._lines[row - 1].encode()[:offset].decode()
        return row, len(before) + (0 if row == 1 else 1)
