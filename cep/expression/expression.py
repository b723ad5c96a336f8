"""The expression as a value: its text, and the tree the parser made of it.

A parameter, `:limit`, is a constant of the tree: nothing behind the parser knows that there are
any. Its value is no part of the text, so no value can change what the text means.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from cep.expression.parsing.parser import NO_CONSTANTS, Constants, Given, parse_with
from cep.expression.sql import to_sql
from cep.expression.tree import And, Node, Or


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed SQL expression; two are equal when their texts are, and the parameters in them.

    Make one with `parse`. `parameters` are those that the text names, by name.
    """

    text: str
    root: Node = field(compare=False, repr=False)
    parameters: tuple[tuple[str, Given], ...] = field(default=(), repr=False)

    @classmethod
    def parse(cls, text: str, constants: Constants = NO_CONSTANTS) -> Self:
        """Return the expression in a text, with the values of the parameters that it may name.

        Raises:
            ExpressionError: if it is not an expression; with line, column and a hint.
        """
        root, used = parse_with(text, constants)
        return cls(text, root, tuple(used.items()))

    @property
    def written_out(self) -> Self:
        """The same expression with constants in the place of its parameters."""
        return type(self)(to_sql(self.root), self.root) if self.parameters else self

    @classmethod
    def all_of(cls, expressions: Sequence[Self]) -> Self:
        """Return the expression that is true where all of the given ones are.

        Raises:
            ExpressionTooLarge: if the text would become too long or too deep.
        """
        return cls._joined(expressions, "AND", And)

    @classmethod
    def any_of(cls, expressions: Sequence[Self]) -> Self:
        """Return the expression that is true where any of the given ones is; else as `all_of`."""
        return cls._joined(expressions, "OR", Or)

    @classmethod
    def _joined(cls, expressions: Sequence[Self], operator: str, joined: type[And | Or]) -> Self:
        if len(expressions) == 1:
            return expressions[0]
        # Operands joined by the same operator need no brackets, which would count against the
        # depth.
        return cls.parse(
            f" {operator} ".join(
                expression.text if isinstance(expression.root, joined) else f"({expression.text})"
                for expression in expressions
            ),
            dict(each for expression in expressions for each in expression.parameters),
        )

    def __str__(self) -> str:
        return self.text
