"""The expression as a value: its text, and the tree the parser made of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from cep.expression.parsing.parser import parse
from cep.expression.tree import And, Node, Or


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed SQL expression; two are equal when their texts are. Make one with `parse`."""

    text: str
    root: Node = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the expression in a text.

        Raises:
            ExpressionError: if it is not an expression; with line, column and a hint.
        """
        return cls(text, parse(text))

    @classmethod
    def all_of(cls, expressions: Sequence[Self]) -> Self:
        """Return the expression that is true where all of the given ones are.

        Raises:
            ExpressionTooLarge: if the text would become too long or too deep.
        """
        return cls._joined(expressions, "AND", And)

    @classmethod
    def any_of(cls, expressions: Sequence[Self]) -> Self:
        """Return the expression that is true where any of the given ones is.

        Raises:
            ExpressionTooLarge: if the text would become too long or too deep.
        """
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
            )
        )

    def __str__(self) -> str:
        return self.text
