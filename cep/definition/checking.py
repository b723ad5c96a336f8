"""Whether a definition can run on a stream: its pattern, and every expression in it.

The rule service checks before it publishes, and a job checks again what it has found: files and
tables have no service in front of them, and a job may be older than the service.
"""

from collections.abc import Iterator

from cep.definition.document import ProcessorContent
from cep.expression import Expression, ExpressionError, Schema, check, key_problem
from cep.expression import Problem as ExpressionProblem
from cep.pattern import Pattern, PatternError, Problem


def content_problems(content: ProcessorContent, schema: Schema) -> Iterator[Problem]:
    """Yield everything that is wrong with a definition on a stream of this schema."""
    try:
        pattern = Pattern.from_document(content.pattern).validate(schema)
    except PatternError as error:
        yield from (_inside("pattern", problem) for problem in error.problems)
        return
    for (key, part), problem in expression_problems(content, schema, pattern):
        path = f"{key}[{part}]" if isinstance(part, int) else f"{key}.{part}"
        yield _of_expression(path, problem)


def expression_problems(
    content: ProcessorContent, schema: Schema, pattern: Pattern | None
) -> Iterator[tuple[tuple[str, int | str], ExpressionProblem]]:
    """Yield what is wrong with the keys and output columns of a definition, each with its place.

    Args:
        content: the definition.
        schema: the columns of its stream.
        pattern: its pattern, whose steps the output columns name; `None` leaves those unchecked.
    """
    for index, text in enumerate(content.key_by or ()):
        for problem in _problems(text, schema, []) or _key_problems(text, schema):
            yield ("key_by", index), problem
    if pattern is None:
        return
    steps = [step.name for step in pattern.tree.steps() if not step.is_negative]
    for name, text in (content.select or {}).items():
        for problem in _problems(text, schema, steps):
            yield ("select", name), problem


def _problems(text: str, schema: Schema, steps: list[str]) -> list[ExpressionProblem]:
    try:
        expression = Expression.parse(text)
    except ExpressionError as error:
        return [error.problem]
    # A key is made of one event; where there are steps no event stands alone, and only once that is
    # clear do the types of columns matter.
    problems = check(expression, schema=schema, steps=steps, allow_columns=not steps)
    return problems or check(expression, schema=schema, steps=steps)


def _key_problems(text: str, schema: Schema) -> list[ExpressionProblem]:
    problem = key_problem(Expression.parse(text), schema)
    return [] if problem is None else [problem]


def _of_expression(path: str, problem: ExpressionProblem) -> Problem:
    return Problem(
        path, f"{problem.message}.", problem.hint, problem.line, problem.column, problem.snippet
    )


def _inside(path: str, problem: Problem) -> Problem:
    whole = f"{path}.{problem.path}" if problem.path else path
    return Problem(
        whole, problem.message, problem.remedy, problem.line, problem.column, problem.snippet
    )
