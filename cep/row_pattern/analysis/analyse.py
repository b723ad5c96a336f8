"""The whole clause: every rule of the standard that can be checked before a row is seen."""

from collections.abc import Sequence

from cep.expression import DataType, Kind, Schema
from cep.expression.errors import near_name
from cep.expression.types import BOOLEAN, UNKNOWN
from cep.row_pattern.analysis.expressions import Where, bind
from cep.row_pattern.analysis.names import Names, names_of
from cep.row_pattern.bound import BoundClause, BoundExpression, Variables
from cep.row_pattern.clause import Clause, Exclusion, Name, Query, RowsPerMatch, Scalar, walk
from cep.row_pattern.errors import Mistake, Mistakes, refusal


def analyse(clause: Clause, schema: Schema | None) -> BoundClause:
    """Return what a clause means for rows of a schema; without one, types are not checked.

    Raises:
        ClauseError: it breaks a rule of the standard, or does not fit the schema; with what is
            wrong in all its conditions, measures and columns.
    """
    names = names_of(clause, schema)
    mistakes = Mistakes()
    conditions = _conditions(clause, names, mistakes)
    if clause.rows_per_match is RowsPerMatch.WITH_UNMATCHED:
        with mistakes.noted():
            _refuse_exclusions(clause)
    skip_variables: Variables = None
    with mistakes.noted():
        skip_variables = _skip_variables(clause, names)
    measures = _measures(clause, names, mistakes)
    partition_by, order_by = _ordered_columns(clause, names, mistakes)
    mistakes.refuse()
    others = _other_columns(clause, schema, partition_by, order_by)
    bound = BoundClause(
        clause=clause,
        pattern=clause.pattern,
        variables=names.primary,
        conditions=conditions,
        measures=measures,
        partition_by=partition_by,
        order_by=order_by,
        rows_per_match=clause.rows_per_match,
        skip_to=clause.skip.to,
        skip_variables=skip_variables,
        within_ms=clause.within_ms,
        row_columns=others,
        columns=_columns(schema, partition_by, order_by, measures, others, clause.rows_per_match),
    )
    if not bound.columns and schema is not None:
        message = "the query has no output columns"
        raise refusal(clause.text, (0, 15), Mistake.NO_COLUMNS, message, "add MEASURES")
    _check_within(bound, schema)
    return bound


def _ordered_column(names: Names, name: Name, what: str) -> str:
    """Return a column whose values can be looked up and ordered."""
    (column, *_), data_type = names.column((name,), name.span)
    if data_type.kind in {Kind.ARRAY, Kind.STRUCT, Kind.OTHER}:
        message = f"{column} is of type {data_type}, which cannot be {what}"
        hint = "name a plain column"
        raise refusal(names.text, name.span, Mistake.TYPE, message, hint)
    return column


def _conditions(
    clause: Clause, names: Names, mistakes: Mistakes
) -> tuple[BoundExpression | None, ...]:
    defined: set[int] = set()
    found: dict[int, BoundExpression] = {}
    for definition in clause.definitions:
        with mistakes.noted():
            number = _defined_variable(clause, names, definition.variable, defined)
            defined.add(number)
            found[number] = _condition(clause, names, definition.condition, number)
    return tuple(found.get(number) for number in range(len(names.primary)))


def _defined_variable(clause: Clause, names: Names, variable: Name, defined: set[int]) -> int:
    if variable.folded not in names.primary:
        is_union = variable.folded in names.unions
        what = "is a union variable" if is_union else "is not in the pattern"
        hint = near_name(variable.folded, names.primary) or names.known_variables()
        message = f"{variable.folded} {what}, so it cannot be defined"
        raise refusal(clause.text, variable.span, Mistake.DEFINE, message, hint)
    number = names.primary.index(variable.folded)
    if number in defined:
        message = f"{variable.folded} is defined twice"
        raise refusal(clause.text, variable.span, Mistake.DEFINE, message)
    return number


def _condition(clause: Clause, names: Names, condition: Scalar, number: int) -> BoundExpression:
    bound = bind(names, condition, Where(number))
    if bound.data_type != BOOLEAN and not bound.data_type.is_open:
        message = f"a condition is needed, this is a {bound.data_type}"
        hint = "compare it with something"
        raise refusal(clause.text, condition.span, Mistake.TYPE, message, hint)
    return bound


def _measures(
    clause: Clause, names: Names, mistakes: Mistakes
) -> tuple[tuple[str, BoundExpression], ...]:
    found: list[tuple[str, BoundExpression]] = []
    for measure in clause.measures:
        with mistakes.noted():
            found.append((measure.name.text, bind(names, measure.expression, Where(None))))
    return tuple(found)


def _ordered_columns(
    clause: Clause, names: Names, mistakes: Mistakes
) -> tuple[tuple[str, ...], tuple[tuple[str, bool], ...]]:
    """Return the columns of PARTITION BY, and those of ORDER BY."""
    partition_by: list[str] = []
    order_by: list[tuple[str, bool]] = []
    for name in clause.partition_by:
        with mistakes.noted():
            partition_by.append(_ordered_column(names, name, "a key"))
    for order in clause.order_by:
        with mistakes.noted():
            column = _ordered_column(names, order.column, "an order")
            order_by.append((column, order.is_descending))
    return tuple(partition_by), tuple(order_by)


def _refuse_exclusions(clause: Clause) -> None:
    for part in walk(clause.pattern):
        if isinstance(part, Exclusion):
            message = "{- -} cannot be used together with WITH UNMATCHED ROWS"
            raise refusal(clause.text, part.span, Mistake.EXCLUSION_WITH_UNMATCHED, message)


def _skip_variables(clause: Clause, names: Names) -> Variables:
    variable = clause.skip.variable
    if variable is None:
        return None
    variables = names.variables(variable)
    if variables is None:
        message = f"there is no variable {variable.folded} to skip to"
        hint = near_name(variable.folded, names.primary) or names.known_variables()
        raise refusal(clause.text, variable.span, Mistake.SKIP_TO_UNKNOWN_VARIABLE, message, hint)
    return variables


def _other_columns(
    clause: Clause,
    schema: Schema | None,
    partition_by: tuple[str, ...],
    order_by: tuple[tuple[str, bool], ...],
) -> tuple[str, ...]:
    """Return the columns of the input that ALL ROWS outputs last."""
    if clause.rows_per_match is RowsPerMatch.ONE_ROW or schema is None:
        return ()
    before = {*partition_by, *(name for name, _ in order_by)}
    return tuple(name for name, _ in schema.columns if name not in before)


def _columns(  # noqa: PLR0913, PLR0917 - the parts of the output in order
    schema: Schema | None,
    partition_by: tuple[str, ...],
    order_by: tuple[tuple[str, bool], ...],
    measures: tuple[tuple[str, BoundExpression], ...],
    others: tuple[str, ...],
    rows_per_match: RowsPerMatch,
) -> tuple[tuple[str, DataType], ...]:
    def typed(name: str) -> tuple[str, DataType]:
        return name, (schema.type_of((name,)) if schema else None) or UNKNOWN

    ordering = [] if rows_per_match is RowsPerMatch.ONE_ROW else [name for name, _ in order_by]
    leading = dict.fromkeys([*partition_by, *ordering])
    return (
        *(typed(name) for name in leading),
        *((name, expression.data_type) for name, expression in measures),
        *(typed(name) for name in others),
    )


def _check_within(bound: BoundClause, schema: Schema | None) -> None:
    if bound.within_ms is None or schema is None:
        return
    name, is_descending = bound.order_by[0]
    data_type = schema.type_of((name,)) or UNKNOWN
    is_time = data_type.is_temporal or data_type.is_open or data_type.computed.kind is Kind.BIGINT
    if is_descending or not is_time:
        direction = "descending" if is_descending else "of another type"
        message = f"WITHIN needs a column of time in ascending order; {name} is {direction}"
        span = bound.clause.order_by[0].column.span
        raise refusal(bound.clause.text, span, Mistake.WITHIN, message)


def selected(query: Query, columns: Sequence[str]) -> tuple[tuple[int, str], ...]:
    """Return place and new name of each column of a clause that is selected; all of them for `*`.

    Raises:
        ClauseError: the clause has no such column.
    """
    if query.columns is None:
        return tuple(enumerate(columns))
    known = [name.casefold() for name in columns]
    found = []
    for column, name in query.columns:
        if column.text.casefold() not in known:
            message = f"there is no column {column.text}"
            hint = f"the clause outputs: {', '.join(columns)}"
            raise refusal(query.clause.text, column.span, Mistake.UNKNOWN_COLUMN, message, hint)
        found.append((known.index(column.text.casefold()), name.text))
    return tuple(found)
