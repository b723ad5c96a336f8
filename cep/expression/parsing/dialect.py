"""Spark's SQL for sqlglot, reduced to what the parser can translate without loss.

sqlglot's own tree drops arguments it does not support (`FIRST(x, 1)` becomes `FIRST(x)`) and
rewrites functions between dialects. Here every function call is kept as written: a name and its
arguments, which the table in `functions` then checks. Only `CASE`, `CAST`, `TRY_CAST` and `EXTRACT`
have their own grammar.
"""

import re
from typing import Any, ClassVar, Final

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

from cep.expression.parsing.windows import read_over

_PARAMETER_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _parameter(parser: Any) -> exp.Expr | None:
    """Return the parameter `:name`, whose name may be a keyword; `None` if that is no name."""
    colon, name = parser._prev, parser._curr  # noqa: SLF001 - how sqlglot's own are written
    if name is None or not _PARAMETER_NAME.fullmatch(name.text):
        return None
    if (name.start, name.end) != (colon.end + 1, colon.end + len(name.text)):  # apart, or quoted
        return None
    parser._advance()  # noqa: SLF001 - likewise
    placeholder = exp.Placeholder(this=name.text)
    placeholder.update_positions(name)
    return placeholder


class ExpressionDialect(Spark):
    """Spark 4's lexical rules, without rewriting functions."""

    class Tokenizer(Spark.Tokenizer):
        """In a text a doubled quote is one quote, and a backslash a backslash: the SQL standard."""

        STRING_ESCAPES: ClassVar[list[str]] = ["'"]

    class Parser(SparkParser):
        """Knows no function by name, and keeps the position of every constant in the text."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: SparkParser.FUNCTION_PARSERS[name] for name in ("CAST", "EXTRACT", "TRY_CAST")
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            "CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"]
        }

        def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:  # noqa: FBT001, FBT002, ARG002 - of sqlglot
            return read_over(self, this)

        PLACEHOLDER_PARSERS: ClassVar[dict[Any, Any]] = {TokenType.COLON: _parameter}
        PRIMARY_PARSERS: ClassVar[dict[Any, Any]] = {
            **SparkParser.PRIMARY_PARSERS,
            TokenType.NULL: lambda parser, token: parser.expression(exp.Null(), token),
            TokenType.TRUE: lambda parser, token: parser.expression(exp.Boolean(this=True), token),
            TokenType.FALSE: lambda parser, token: parser.expression(
                exp.Boolean(this=False), token
            ),
        }
