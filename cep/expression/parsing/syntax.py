r"""Text to sqlglot's tree: the lexical rules, the limits, and clear syntax errors.

First step of the pipeline; `parser` translates the tree further. Quoted texts are those of the SQL
standard, not of Spark: a backslash is a character like any other, so that `'C:\new'` is a path, and
a text in double quotes is refused because it is a name. Comments are refused because sqlglot would
move them.
"""

import re
from itertools import pairwise

from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from cep.expression.errors import ExpressionError, ExpressionTooLarge, problem_at
from cep.expression.parsing.dialect import ExpressionDialect
from cep.expression.parsing.foreign import NO_CLOCK, UNEXPECTED, foreign_operator
from cep.expression.tree import Span

MAX_TEXT_LENGTH = 10_000
MAX_BRACKET_DEPTH = 24  # sqlglot needs some twenty Python frames for each


def too_large(text: str, what: str, given: int, limit: int) -> ExpressionTooLarge:
    """Return the error for a text that exceeds a limit; `given` is its count."""
    message = f"the expression has {given} {what}, at most {limit} are allowed"
    problem = problem_at(text[:80], (0, 1), message, "split it into several conditions or steps")
    return ExpressionTooLarge(problem, given=given, limit=limit)


def read_sql(text: str) -> exp.Expr:
    """Return sqlglot's tree of the one expression in a text.

    Raises:
        ExpressionTooLarge: if it is too long, or its brackets are nested too deeply.
        ExpressionError: if it is not an SQL expression.
    """
    if len(text) > MAX_TEXT_LENGTH:
        raise too_large(text, "characters", len(text), MAX_TEXT_LENGTH)
    dialect = ExpressionDialect()
    try:
        tokens = dialect.tokenize(text)
        _check_tokens(text, tokens)
        parsed = dialect.parser().parse_into(exp.Condition, tokens, text)
    except ParseError as error:
        raise _syntax_error(text, error) from None
    except SqlglotError:
        raise refusal(
            text, _unclosed(text), "a quote is never closed", "a quote inside a text is doubled: ''"
        ) from None
    if len(parsed) != 1 or parsed[0] is None:
        raise refusal(text, (0, len(text)), "this is not one expression")
    return parsed[0]


def refusal(text: str, span: Span, message: str, hint: str = "") -> ExpressionError:
    """Return the error that points at a stretch of the text."""
    return ExpressionError(problem_at(text, span, message, hint))


def _unclosed(text: str) -> Span:
    """Return the place of the quote that is never closed."""
    closed = re.compile(
        r"'(?:\\.|''|[^'\\])*'|`(?:``|[^`])*`|\"(?:\\.|[^\"\\])*\"|[^'`\"]", re.DOTALL
    )
    position = 0
    while match := closed.match(text, position):
        position = match.end()
    return position, position + 1


def foreign_refusal(text: str) -> ExpressionError | None:
    """Return the error for the first operator of another language, if there is one."""
    found = foreign_operator(text)
    if found is None:
        return None
    span, written, hint = found
    is_opening = span[0] == len(text) - len(text.lstrip()) and written.isalpha()
    message = "does not begin a condition" if is_opening else "is no operator of SQL"
    return refusal(text, span, f"{written} {message}", hint)


_WORDS = {"GT": ">", "GTE": ">=", "LT": "<", "LTE": "<=", "EQ": "=", "NEQ": "<>"}


def _syntax_error(text: str, error: ParseError) -> ExpressionError:
    """Translate an error of sqlglot about its classes into a plain one with a place in the text."""
    if foreign := foreign_refusal(text):
        return foreign
    (first, *_) = error.errors
    highlight = str(first.get("highlight") or "")
    line, column = int(first.get("line") or 1), int(first.get("col") or 1)
    lines = text.split("\n")
    end = sum(len(above) + 1 for above in lines[: line - 1]) + column
    span = (max(0, end - len(highlight)), end)
    description = str(first.get("description"))
    if missing := re.match(
        r"Required keyword: '\w+' missing for <class '[\w.]+\.(\w+)'>", description
    ):
        what = _WORDS.get(missing[1], missing[1].upper())
        return refusal(text, span, f"something is missing beside {what}")
    if description.startswith("Invalid expression"):
        hint = UNEXPECTED.get(highlight, "is an operator missing before it?")
        return refusal(text, span, f"unexpected {highlight}", hint)
    return refusal(text, span, description[:1].lower() + description[1:])


def _check_tokens(text: str, tokens: list[Token]) -> None:
    """Refuse text that the parser would skip or misread, or that needs too deep a stack."""
    if not tokens:
        raise refusal(text, (0, 1), "the expression is empty", "write a condition, or TRUE")
    depth = deepest = 0
    for before, token in pairwise([tokens[0], *tokens]):
        span = (token.start, token.end + 1)
        if token.comments:
            raise refusal(text, span, "comments are not allowed in an expression")
        if token.token_type is TokenType.SEMICOLON:
            raise refusal(text, span, "this is not one expression", "remove the semicolon")
        if token.token_type is TokenType.SELECT and before.token_type is not TokenType.DOT:
            raise refusal(text, span, "SELECT is not part of the language", "write a condition")
        if token.token_type in _CURRENT_TIMES and before.token_type is not TokenType.DOT:
            raise refusal(text, span, f"there is no {token.text.upper()}", NO_CLOCK)
        if token.token_type is TokenType.STRING and text[token.start] == '"':
            name = token.text
            hint = f"write '{name}' for a text, `{name}` for a column"
            raise refusal(text, span, "double quotes are ambiguous", hint)
        depth += token.token_type in {TokenType.L_PAREN, TokenType.CASE}
        depth -= token.token_type in {TokenType.R_PAREN, TokenType.END}
        deepest = max(deepest, depth)
    if deepest > MAX_BRACKET_DEPTH:
        raise too_large(text, "levels of brackets", deepest, MAX_BRACKET_DEPTH)


_CURRENT_TIMES = {
    TokenType.CURRENT_DATE,
    TokenType.CURRENT_DATETIME,
    TokenType.CURRENT_TIME,
    TokenType.CURRENT_TIMESTAMP,
}
