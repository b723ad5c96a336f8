"""Expressions bound to rows: which row each part of them reads, and of which type it is.

In DEFINE the row under test is the last one of the match so far, mapped to the variable that is
defined. What reads that row alone becomes plain fields, so that it can be tested for a row on its
own; everything else becomes a reference.

Source: ISO/IEC 19075-5, 4.16 and chapter 5.
"""

from dataclasses import dataclass
from typing import NoReturn

from cep.expression import (
    Aggregate,
    AggregateFunction,
    DataType,
    Field,
    Kind,
    Node,
    Schema,
    aggregates_of,
    columns_of,
    split,
)
from cep.expression.checking.inference import Inference
from cep.expression.checking.resolve import with_lists, with_typed_constants
from cep.expression.errors import near_name
from cep.expression.functions.typing_rules import comparable
from cep.expression.rewrite import rebuilt
from cep.expression.tree import NOWHERE, Literal, Span, lists_in, windows_of
from cep.expression.types import BIGINT, BOOLEAN, DOUBLE, STRING, UNKNOWN
from cep.row_pattern.analysis.names import Names, universe
from cep.row_pattern.analysis.trees import in_the_standard, replaced
from cep.row_pattern.bound import (
    ArrayValue,
    BoundExpression,
    BoundReference,
    Fold,
    NumberOfMatch,
    RowExpression,
    RowOfMatch,
    ValueAt,
    Variables,
)
from cep.row_pattern.clause import (
    Aggregation,
    ArrayOf,
    Classifier,
    Column,
    Direction,
    MatchNumber,
    Mode,
    Name,
    Navigation,
    Reference,
    Scalar,
    placeholder,
)
from cep.row_pattern.errors import Mistake, refusal

_CLASSIFIER = Aggregate(AggregateFunction.LAST, "CLASSIFIER()", Field(("#classifier",)))
_NUMBER = Aggregate(AggregateFunction.LAST, "MATCH_NUMBER()", Field(("#match_number",)))
_CLASSIFIER_OF_ROW = RowExpression(_CLASSIFIER, reads_classifier=True, data_type=STRING)
_OF_ROW = (("#classifier", STRING), ("#match_number", BIGINT))


@dataclass(frozen=True, slots=True)
class Where:
    """Where an expression stands: in MEASURES, or in the condition of a variable of this number."""

    defined: int | None

    @property
    def is_define(self) -> bool:
        """Whether it is a condition of DEFINE."""
        return self.defined is not None

    def is_current(self, variables: Variables) -> bool:
        """Return whether the last row of these variables is always the row under test."""
        return self.defined is not None and (variables is None or self.defined in variables)


def bind(names: Names, scalar: Scalar, where: Where) -> BoundExpression:
    """Return an expression bound to rows, its types checked.

    Raises:
        ClauseError: a name is unknown, something is nested or mixed wrongly, or types do not fit.
    """
    return _Binder(names, where).bound(scalar)


class _Binder:
    def __init__(self, names: Names, where: Where) -> None:
        self._names = names
        self._where = where

    def bound(self, scalar: Scalar) -> BoundExpression:
        references: list[BoundReference] = []
        types: list[tuple[str, DataType]] = []
        nodes: dict[str, Node] = {}
        for number, reference in enumerate(scalar.references):
            bound = self._reference(reference)
            if isinstance(bound, RowExpression):
                nodes[placeholder(number)] = bound.node
                continue
            name = placeholder(len(references))
            text = self._names.text[slice(*reference.span)]
            nodes[placeholder(number)] = Aggregate(
                AggregateFunction.LAST, text, Field((name,)), reference.span
            )
            references.append(bound[0])
            types.append((name, bound[1]))
        node, data_type = self._typed(replaced(scalar.root, nodes), tuple(types), scalar.span)
        return BoundExpression(scalar.text, node, tuple(references), data_type)

    def _typed(
        self,
        node: Node,
        types: tuple[tuple[str, DataType], ...],
        span: Span,
        *,
        is_inner: bool = False,
    ) -> tuple[Node, DataType]:
        """Return a tree with the standard's operators in it, and its type; refuse what is wrong."""

        def report(found: Node, message: str, hint: str) -> None:
            place = span if found.span == NOWHERE else found.span
            self._refuse(place, Mistake.TYPE, message, hint)

        columns = () if self._names.schema is None else self._names.schema.columns
        lists = None if self._names.schema is None else self._names.schema.lists
        schema = Schema((*columns, *types), lists)
        if self._names.schema is None:
            # Columns are of unknown types, but references have theirs.
            fields = {(name,): UNKNOWN for name in columns_of(node)}
            schema = Schema((*((path[0], kind) for path, kind in fields.items()), *types))
        node = with_lists(with_typed_constants(in_the_standard(node, schema), schema), schema)
        if found := self._misplaced_list(node, is_inner=is_inner):
            message = "a list of the stream is asked for the row under test alone, in DEFINE"
            report(found, message, "define a variable with it, beside other conditions with AND")
        for window in windows_of(node):
            report(window, "OVER stands in conditions of steps, not in a clause", "write a pattern")
        return node, Inference(schema, report).type_of(node)

    def _misplaced_list(self, node: Node, *, is_inner: bool) -> Node | None:
        """Return a test of a list that may be made when its row is long past, if there is one.

        Which values a list had then may not be known any more.
        """
        is_tested_at_once = self._where.is_define and not is_inner
        late = split(node).residual if is_tested_at_once else node
        return None if late is None else next(lists_in(late), None)

    def _reference(  # noqa: PLR0911 - one line per kind of reference
        self, reference: Reference
    ) -> RowExpression | tuple[BoundReference, DataType]:
        match reference:
            case Column():
                return self._column(reference)
            case Classifier(variable=variable, span=span):
                variables = self._classified(variable, span)
                if self._where.is_current(variables):
                    return self._of_row_under_test(_CLASSIFIER, STRING)
                row = RowOfMatch(is_first=False, variables=variables, offset=0, is_final=False)
                return ValueAt(row, 0, _CLASSIFIER_OF_ROW), STRING
            case MatchNumber():
                return NumberOfMatch(), BIGINT
            case Navigation():
                return self._navigation(reference)
            case Aggregation():
                return self._aggregation(reference)
            case ArrayOf(items=items):
                bound = tuple(self.bound(item) for item in items)
                element = bound[0].data_type if bound else UNKNOWN
                return ArrayValue(bound), DataType(Kind.ARRAY, element=element)

    def _column(self, column: Column) -> RowExpression | tuple[BoundReference, DataType]:
        qualifier, path = self._split(column)
        found, data_type = self._names.column(path, column.span)
        variables = universe(self._names, qualifier)
        value = RowExpression(
            Field(found, column.span), reads_classifier=False, data_type=data_type.computed
        )
        if self._where.is_current(variables):
            return value
        row = RowOfMatch(is_first=False, variables=variables, offset=0, is_final=False)
        return ValueAt(row, 0, value), value.data_type

    def _split(self, column: Column) -> tuple[Name | None, tuple[Name, ...]]:
        """Return the variable in front of a column, if there is one, and the rest."""
        first, *rest = column.path
        if rest and self._names.variables(first) is not None:
            return first, tuple(rest)
        return None, column.path

    def _classified(self, variable: Name | None, span: Span) -> Variables:
        if variable is None:
            return None
        variables = self._names.variables(variable)
        if variables is None:
            hint = near_name(variable.folded, self._names.primary) or self._names.known_variables()
            message = f"{variable.folded} is no variable of the pattern"
            self._refuse(span, Mistake.CLASSIFIER_ARGUMENT, message, hint)
        return variables

    def _of_row_under_test(self, node: Node, data_type: DataType) -> RowExpression:
        """Return an expression over the row under test, whose variable is known."""
        if self._where.defined is None:
            raise ValueError("there is a row under test in DEFINE only")
        name = Literal(self._names.primary[self._where.defined])

        def known(inner: Node) -> Node:
            return name if inner == _CLASSIFIER else rebuilt(inner, known)

        return RowExpression(known(node), reads_classifier=False, data_type=data_type)

    # Navigation

    def _navigation(
        self, navigation: Navigation
    ) -> RowExpression | tuple[BoundReference, DataType]:
        self._check_mode(navigation.mode, navigation.span)
        if navigation.direction in {Direction.FIRST, Direction.LAST}:
            return self._logical(navigation)
        shift = navigation.offset * (-1 if navigation.direction is Direction.PREV else 1)
        start: RowOfMatch | None
        inner = _whole_navigation(navigation.operand)
        if inner is not None:
            self._check_mode(inner.mode, inner.span)
            value, variables = self._row_expression(inner.operand, inner.direction, inner.span)
            start = _row_of(inner, variables)
        else:
            direction = navigation.direction
            value, variables = self._row_expression(navigation.operand, direction, navigation.span)
            start = RowOfMatch(is_first=False, variables=variables, offset=0, is_final=False)
        if not start.is_first and not start.offset and self._where.is_current(start.variables):
            start = None
        return ValueAt(start, shift, value), value.data_type

    def _logical(self, navigation: Navigation) -> RowExpression | tuple[BoundReference, DataType]:
        value, variables = self._row_expression(
            navigation.operand, navigation.direction, navigation.span
        )
        row = _row_of(navigation, variables)
        is_last = not row.is_first and not row.offset
        is_of_row = is_last and self._where.is_current(variables)
        if is_of_row and _NUMBER not in aggregates_of(value.node):
            return self._of_row_under_test(value.node, value.data_type)
        return ValueAt(row, 0, value), value.data_type

    def _check_mode(self, mode: Mode | None, span: Span) -> None:
        if mode is Mode.FINAL and self._where.is_define:
            message = "FINAL cannot stand in DEFINE"
            hint = "a condition sees the rows up to the one that is tested"
            self._refuse(span, Mistake.FINAL_IN_DEFINE, message, hint)

    # What is inside a navigation or an aggregate

    def _row_expression(
        self, scalar: Scalar, function: str, span: Span
    ) -> tuple[RowExpression, Variables]:
        value, qualifiers = self._inner(scalar, function)
        if not qualifiers:
            message = f"the argument of {function} needs a column or CLASSIFIER"
            self._refuse(span, Mistake.ARGUMENTS, message)
        return value, universe(self._names, next(iter(qualifiers.values())))

    def _inner(
        self, scalar: Scalar, function: str
    ) -> tuple[RowExpression, dict[str | None, Name | None]]:
        """Return an argument over one row, and the qualifiers in it, of which there is at most one.

        The qualifiers are by folded name, `None` stands for having none.
        """
        qualifiers: dict[str | None, Name | None] = {}
        nodes: dict[str, Node] = {}
        for number, reference in enumerate(scalar.references):
            qualifier: Name | None = None
            match reference:
                case Column(span=span):
                    qualifier, path = self._split(reference)
                    found, _ = self._names.column(path, span)
                    nodes[placeholder(number)] = Field(found, span)
                case Classifier(variable=qualifier, span=span):
                    self._classified(qualifier, span)
                    nodes[placeholder(number)] = _CLASSIFIER
                case MatchNumber():
                    nodes[placeholder(number)] = _NUMBER
                    continue
                case _:
                    message = f"this cannot stand inside {function}"
                    hint = "only PREV and NEXT take FIRST or LAST, as their whole first argument"
                    self._refuse(reference.span, Mistake.NESTING, message, hint)
            qualifiers[qualifier.folded if qualifier else None] = qualifier
        if len(qualifiers) > 1:
            found_names = ", ".join(name or "none" for name in qualifiers)
            message = f"the argument of {function} looks at rows of different variables"
            hint = f"use one variable throughout; here are: {found_names}"
            self._refuse(scalar.span, Mistake.MIXED_VARIABLES, message, hint)
        node = replaced(scalar.root, nodes)
        node, data_type = self._typed(node, _OF_ROW, scalar.span, is_inner=True)
        reads_classifier = any(isinstance(r, Classifier) for r in scalar.references)
        return RowExpression(node, reads_classifier, data_type), qualifiers

    # Aggregates

    def _aggregation(self, aggregation: Aggregation) -> tuple[BoundReference, DataType]:
        self._check_mode(aggregation.mode, aggregation.span)
        is_final = aggregation.mode is Mode.FINAL
        function, operand = aggregation.function, aggregation.operand
        if operand is None:
            variables = None
            if aggregation.rows_of is not None:
                variables = self._names.variables(aggregation.rows_of)
                if variables is None:
                    name = aggregation.rows_of.folded
                    message = f"{name} is no variable of the pattern"
                    hint = self._names.known_variables()
                    self._refuse(aggregation.span, Mistake.UNKNOWN_VARIABLE, message, hint)
            fold = Fold(
                function, is_distinct=False, variables=variables, value=None, is_final=is_final
            )
            return fold, BIGINT
        value, qualifiers = self._inner(operand, function)
        variables = universe(self._names, next(iter(qualifiers.values()), None))
        data_type = self._folded_type(function, value.data_type, aggregation.span)
        return Fold(function, aggregation.is_distinct, variables, value, is_final), data_type

    def _folded_type(self, function: str, operand: DataType, span: Span) -> DataType:
        is_number = operand.is_numeric or operand.is_open
        match function:
            case "COUNT":
                return BIGINT
            case "ARRAY_AGG":
                return DataType(Kind.ARRAY, element=operand)
            case "SUM" | "AVG" if not is_number:
                self._refuse(span, Mistake.TYPE, f"{function} needs a number, not a {operand}")
            case "AVG":
                return operand if operand.kind is Kind.DECIMAL else DOUBLE
            case "BOOL_OR" | "BOOL_AND" if operand != BOOLEAN and not operand.is_open:
                self._refuse(span, Mistake.TYPE, f"{function} needs a condition, not a {operand}")
            case "MIN" | "MAX" if not comparable(operand, operand):
                self._refuse(span, Mistake.TYPE, f"{function} cannot order a {operand}")
        return operand

    def _refuse(self, span: Span, mistake: Mistake, message: str, hint: str = "") -> NoReturn:
        raise refusal(self._names.text, span, mistake, message, hint)


def _row_of(navigation: Navigation, variables: Variables) -> RowOfMatch:
    return RowOfMatch(
        is_first=navigation.direction is Direction.FIRST,
        variables=variables,
        offset=navigation.offset,
        is_final=navigation.mode is Mode.FINAL,
    )


def _whole_navigation(scalar: Scalar) -> Navigation | None:
    """Return FIRST or LAST if it is the whole of an argument."""
    if len(scalar.references) != 1 or scalar.root != Field((placeholder(0),)):
        return None
    (reference,) = scalar.references
    if not isinstance(reference, Navigation):
        return None
    return reference if reference.direction in {Direction.FIRST, Direction.LAST} else None
