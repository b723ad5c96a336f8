"""Random expression trees that fit a schema, and random rows of it, for Hypothesis."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import inf, nan
from typing import Any

from hypothesis import strategies as st

from cep.expression import AggregateFunction, Kind, Schema, tree
from cep.expression.functions.table import DATE_PARTS
from cep.expression.tree import ComparisonOperator, HigherOrderFunction, Node
from cep.expression.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTERVAL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
)

SCHEMA = Schema.from_ddl(
    "flag BOOLEAN, other BOOLEAN, small INT, count BIGINT, price DOUBLE, ratio FLOAT, "
    "amount DECIMAL(10,2), big DECIMAL(38,10), name STRING, type STRING, ts TIMESTAMP, "
    "local TIMESTAMP_NTZ, day DATE, gap INTERVAL, tags ARRAY<STRING>, numbers ARRAY<BIGINT>, "
    "a STRUCT<b: BIGINT, c: STRUCT<d: STRING>>"
)
DECIMAL = DataType(Kind.DECIMAL, 10, 2)
Rows = list[dict[str, Any]]

_booleans = st.booleans()
_integers = st.one_of(
    st.integers(-3, 3),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([2**53 + 1, 2**63 - 1, -(2**63), 2**31]),
)
_small = st.one_of(st.integers(-3, 3), st.integers(-(2**31), 2**31 - 1))
_doubles = st.one_of(
    st.sampled_from([0.0, -0.0, 0.5, -0.5, 1.5, 2.5, 1.005, 0.1, nan, inf, -inf, 1e300]),
    st.floats(),
)
_floats = st.floats(width=32)
_amounts = st.one_of(
    st.sampled_from([Decimal("0.00"), Decimal("2.50"), Decimal("-0.10")]),
    st.decimals("-99999999.99", "99999999.99", places=2, allow_nan=False),
)
_bigs = st.one_of(
    _amounts.map(lambda value: value.quantize(Decimal("1e-10"))),
    st.integers(-(10**38) + 1, 10**38 - 1).map(
        lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -10))
    ),
)
_texts = st.one_of(
    st.sampled_from(
        ["", "a", "A", "ab", "aab", " a ", "1", "1.5", "true", "NaN", "é", "b%_\\", "😀", "\n"]
    ),
    st.sampled_from(["2024-01-31", "2024-01-31T10:00:00Z", "2024-01-31 10:00:00.5+02:00"]),
    st.text("abAB ßéΣς%_\\'😀1\n", max_size=5),
)
_moments = st.one_of(
    st.sampled_from([datetime(2024, 1, 31, 10), datetime(1, 1, 1), datetime(9999, 12, 31, 23)]),  # noqa: DTZ001 - naive on purpose
    st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)),  # noqa: DTZ001 - naive on purpose
)
_instants = _moments.map(lambda moment: moment.replace(tzinfo=UTC))
_days = st.one_of(st.sampled_from([date(2024, 1, 31), date(2024, 2, 4)]), st.dates())
_gaps = st.one_of(
    st.sampled_from([timedelta(0), timedelta(minutes=10), timedelta(days=-1)]),
    st.integers(-(2**63) + 1, 2**63 - 1).map(lambda n: timedelta(microseconds=n)),
)

CONSTANTS: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.BOOLEAN: _booleans,
    Kind.BIGINT: _integers,
    Kind.DOUBLE: _doubles,
    Kind.DECIMAL: _amounts,
    Kind.STRING: _texts,
    Kind.TIMESTAMP: _instants,
    Kind.TIMESTAMP_NTZ: _moments,
    Kind.DATE: _days,
    Kind.INTERVAL: _gaps,
}
COLUMNS: dict[Kind, list[tuple[str, ...]]] = {
    Kind.BOOLEAN: [("flag",), ("other",)],
    Kind.BIGINT: [("small",), ("count",), ("a", "b")],
    Kind.DOUBLE: [("price",), ("ratio",)],
    Kind.DECIMAL: [("amount",), ("big",)],
    Kind.STRING: [("name",), ("type",), ("a", "c", "d")],
    Kind.TIMESTAMP: [("ts",)],
    Kind.TIMESTAMP_NTZ: [("local",)],
    Kind.DATE: [("day",)],
    Kind.INTERVAL: [("gap",)],
}
NUMBERS = [BIGINT, DOUBLE, DECIMAL]
MOMENTS = [TIMESTAMP, TIMESTAMP_NTZ, DATE]


def rows(maximum: int = 6) -> st.SearchStrategy[Rows]:
    """Return rows of the schema in which every value may be missing."""
    inner = st.fixed_dictionaries({"d": st.none() | _texts})
    values: dict[str, st.SearchStrategy[Any]] = {
        path[0]: CONSTANTS[kind] for kind, paths in COLUMNS.items() for path in paths
    } | {
        "small": _small,
        "ratio": _floats,
        "big": _bigs,
        "tags": st.lists(st.none() | _texts, max_size=3),
        "numbers": st.lists(st.none() | _integers, max_size=3),
        "a": st.fixed_dictionaries({"b": st.none() | _integers, "c": st.none() | inner}),
    }
    nullable = {name: st.one_of(value, value, value, st.none()) for name, value in values.items()}
    return st.lists(st.fixed_dictionaries(nullable), min_size=1, max_size=maximum)


Draw = Callable[[st.SearchStrategy[Any]], Any]


class _Trees:
    """Draws trees of a wanted type, at most so deep."""

    def __init__(self, draw: Draw, *, aggregates: bool) -> None:
        self.draw = draw
        self.aggregates = aggregates
        self.variables: list[tuple[str, DataType]] = []

    def pick(self, choices: list[Any]) -> Any:
        return self.draw(st.sampled_from(choices))

    def tree(self, data_type: DataType, depth: int) -> Node:
        leaf = depth == 0 or self.draw(st.integers(0, 4)) == 0
        if leaf:
            return self.leaf(data_type)
        kinds: dict[Kind, Callable[[int], Node]] = {
            Kind.BOOLEAN: self.boolean,
            Kind.BIGINT: self.integer,
            Kind.DOUBLE: self.double,
            Kind.DECIMAL: self.decimal,
            Kind.STRING: self.text,
            Kind.TIMESTAMP: lambda d: self.moment(TIMESTAMP, d),
            Kind.TIMESTAMP_NTZ: lambda d: self.moment(TIMESTAMP_NTZ, d),
            Kind.DATE: lambda d: tree.Cast(self.tree(self.pick([TIMESTAMP, STRING]), d), DATE),
            Kind.INTERVAL: self.interval,
        }
        shared = self.draw(st.integers(0, 9))
        if shared == 0:
            return tree.Coalesce((self.tree(data_type, depth - 1), self.tree(data_type, depth - 1)))
        if shared == 1:
            condition = self.tree(BOOLEAN, depth - 1)
            value, default = self.tree(data_type, depth - 1), self.tree(data_type, depth - 1)
            return tree.Case(((condition, value),), default)
        return kinds[data_type.kind](depth - 1)

    def leaf(self, data_type: DataType) -> Node:
        choice = self.draw(st.integers(0, 11))
        if choice == 0:
            return tree.Literal(None)
        if choice < 4:
            return tree.Literal(self.draw(CONSTANTS[data_type.kind]))
        variables = [name for name, found in self.variables if found == data_type]
        if variables and choice < 10:
            return tree.Variable(self.pick(variables))
        path = self.pick(COLUMNS[data_type.kind])
        if self.aggregates and choice < 8:
            return tree.Aggregate(AggregateFunction.LAST, self.pick(["s", "t"]), tree.Field(path))
        return tree.Field(path)

    def boolean(self, depth: int) -> Node:  # noqa: PLR0911 - one line per kind of node
        many = self.draw(st.integers(2, 3))
        match self.draw(st.integers(0, 13)):
            case 0 | 1:
                return tree.And(tuple(self.tree(BOOLEAN, depth) for _ in range(many)))
            case 2 | 3:
                return tree.Or(tuple(self.tree(BOOLEAN, depth) for _ in range(many)))
            case 4 | 5:
                return tree.Not(self.tree(BOOLEAN, depth))
            case 6:
                return tree.IsTruth(self.tree(BOOLEAN, depth), self.draw(st.booleans()))
            case 7:
                return tree.IsNull(
                    self.tree(self.pick([BOOLEAN, *NUMBERS, STRING, *MOMENTS]), depth)
                )
            case 8:
                return tree.IsDistinct(*self.comparables(depth))
            case 9:
                left, right = self.comparables(depth)
                more = [right, left, tree.Literal(None)][: self.draw(st.integers(0, 3))]
                return tree.In(left, (right, *more))
            case 10:
                return self.text_test(depth)
            case 11:
                return self.array_test(depth)
            case _:
                operator = self.pick(list(ComparisonOperator))
                return tree.Comparison(operator, *self.comparables(depth))

    def comparables(self, depth: int) -> tuple[Node, Node]:
        one = self.pick([BOOLEAN, *NUMBERS, *NUMBERS, STRING, STRING, *MOMENTS, INTERVAL])
        group = NUMBERS if one in NUMBERS else [one]
        if one in MOMENTS:
            group = [DATE, one]
        return self.tree(one, depth), self.tree(self.pick(group), depth)

    def text_test(self, depth: int) -> Node:
        operand = self.tree(STRING, depth)
        match self.draw(st.integers(0, 2)):
            case 0:
                pattern = self.pick(["a%", "%a", "%a%", "a", "_%b", "", "%", "a%b%", "%é_", "\\%%"])
                return tree.Like(operand, pattern)
            case 1:
                patterns = r"a+b?$ ^\w*$ \d [^a] (a|b)+ \s . \bA a{2}"
                return tree.RegexLike(operand, self.pick(patterns.split()))
            case _:
                function = self.pick(["STARTSWITH", "ENDSWITH", "CONTAINS"])
                return tree.Call(function, (operand, self.tree(STRING, depth)))

    def array_test(self, depth: int) -> Node:
        element = self.pick([STRING, BIGINT])
        array = self.array(element, depth)
        match self.draw(st.integers(0, 2)):
            case 0:
                item = self.tree(STRING if element == STRING else self.pick(NUMBERS), depth)
                return tree.Call("ARRAY_CONTAINS", (array, item))
            case 1:
                return tree.Call("ARRAYS_OVERLAP", (array, self.array(element, depth)))
            case _:
                function = self.pick([HigherOrderFunction.EXISTS, HigherOrderFunction.FORALL])
                return self.higher_order(function, array, element, BOOLEAN, depth)

    def array(self, element: DataType, depth: int) -> Node:
        """An array of texts or integers."""
        column = tree.Field(("tags" if element == STRING else "numbers",))
        match self.draw(st.integers(0, 4)) if depth else 0:
            case 1:
                function, result = HigherOrderFunction.FILTER, BOOLEAN
            case 2:
                function, result = HigherOrderFunction.TRANSFORM, element
            case 3:
                elements = (self.tree(element, depth - 1), tree.Field(COLUMNS[element.kind][0]))
                return tree.Call("ARRAY", elements)
            case _:
                return column
        return self.higher_order(function, column, element, result, depth - 1)

    def higher_order(
        self,
        function: HigherOrderFunction,
        array: Node,
        element: DataType,
        result: DataType,
        depth: int,
    ) -> Node:
        name = f"x{len(self.variables)}"
        self.variables.append((name, element))
        body = self.tree(result, depth)
        self.variables.pop()
        return tree.HigherOrderCall(function, array, name, body)

    def integer(self, depth: int) -> Node:  # noqa: PLR0911 - one line per kind of node
        match self.draw(st.integers(0, 9)):
            case 0:
                function = self.pick(["LENGTH", "OCTET_LENGTH", "CRC32"])
                return tree.Call(function, (self.tree(STRING, depth),))
            case 1:
                part = self.pick([*DATE_PARTS])
                return tree.Call(part, (self.tree(self.pick(MOMENTS), depth),))
            case 3:
                return tree.Call("SIZE", (self.array(self.pick([STRING, BIGINT]), depth),))
            case 4:
                return self.element(BIGINT, depth)
            case 5:
                operands = (self.tree(BIGINT, depth), self.tree(BIGINT, depth))
                return tree.Call(self.pick(["&", "|", "DIV", "GREATEST", "LEAST"]), operands)
            case 2:
                kind = self.pick([Kind.BIGINT, Kind.INT, Kind.SMALLINT, Kind.TINYINT])
                source = self.pick([BOOLEAN, STRING, *NUMBERS])
                return tree.Cast(self.tree(source, depth), DataType(kind))
            case _:
                return self.number(BIGINT, BIGINT, ["+", "-", "*", "%"], depth)

    def element(self, data_type: DataType, depth: int) -> Node:
        place = self.pick([tree.Literal(self.draw(st.integers(-3, 3))), self.tree(BIGINT, 0)])
        function = self.pick(["GET", "ELEMENT_AT"])
        return tree.Call(function, (self.array(data_type, depth), place))

    def double(self, depth: int) -> Node:
        match self.draw(st.integers(0, 4)):
            case 0:
                target = self.pick([DOUBLE, DataType(Kind.FLOAT)])
                return tree.Cast(self.tree(self.pick([BOOLEAN, STRING, *NUMBERS]), depth), target)
            case 1:
                return tree.Call("/", (self.tree(BIGINT, depth), self.tree(BIGINT, depth)))
            case _:
                return self.number(DOUBLE, self.pick(NUMBERS), ["+", "-", "*", "/", "%"], depth)

    def decimal(self, depth: int) -> Node:
        if self.draw(st.integers(0, 3)) == 0:
            target = self.pick(
                [DECIMAL, DataType(Kind.DECIMAL, 38, 18), DataType(Kind.DECIMAL, 3, 0)]
            )
            return tree.Cast(self.tree(self.pick([BOOLEAN, STRING, *NUMBERS]), depth), target)
        other = self.pick([BIGINT, DECIMAL])
        return self.number(DECIMAL, other, ["+", "-", "*", "/", "%"], depth)

    def number(self, one: DataType, other: DataType, operators: list[str], depth: int) -> Node:
        match self.draw(st.integers(0, 3)):
            case 0:
                function = self.pick(["ABS", "FLOOR", "CEIL", "ROUND", "NEGATE"])
                return tree.Call(function, (self.tree(one, depth),))
            case 1:
                digits = tree.Literal(self.draw(st.integers(-3, 20)))
                return tree.Call("ROUND", (self.tree(one, depth), digits))
            case _:
                operands = [self.tree(one, depth), self.tree(other, depth)]
                if self.draw(st.booleans()):
                    operands.reverse()
                return tree.Call(self.pick(operators), tuple(operands))

    def text(self, depth: int) -> Node:  # noqa: PLR0911 - one line per kind of node
        match self.draw(st.integers(0, 7)):
            case 0:
                function = self.pick(["LOWER", "UPPER", "TRIM", "LTRIM", "RTRIM", "REVERSE"])
                return tree.Call(function, (self.tree(STRING, depth),))
            case 3:
                return self.element(STRING, depth)
            case 4:
                operands = (self.tree(STRING, depth), self.tree(STRING, depth))
                return tree.Call(self.pick(["GREATEST", "LEAST", "CONCAT_WS"]), operands)
            case 5:
                operands = (self.tree(STRING, depth), tree.Literal(self.pick(["a", "b", ""])))
                return tree.Call("REPLACE", operands)
            case 1:
                return tree.Call("CONCAT", (self.tree(STRING, depth), self.tree(STRING, depth)))
            case 2:
                arguments = [self.tree(STRING, depth), tree.Literal(self.draw(st.integers(-4, 4)))]
                if self.draw(st.booleans()):
                    arguments.append(self.tree(BIGINT, 0))
                return tree.Call("SUBSTRING", tuple(arguments))
            case _:
                source = self.pick([BOOLEAN, *NUMBERS, *MOMENTS])
                return tree.Cast(self.tree(source, depth), STRING)

    def moment(self, data_type: DataType, depth: int) -> Node:
        choice = self.draw(st.integers(0, 4))
        if choice == 0:
            return tree.Cast(self.tree(self.pick([STRING, *MOMENTS]), depth), data_type)
        if choice == 1 and data_type == TIMESTAMP_NTZ:
            zone = tree.Literal(self.pick(["Europe/Berlin", "America/St_Johns", "UTC"]))
            return tree.Call("CONVERT_TIMEZONE", (zone, self.tree(self.pick(MOMENTS), depth)))
        if choice in {1, 2}:
            unit = tree.Literal(self.pick(["YEAR", "WEEK", "HOUR", "MILLISECOND"]))
            return tree.Call("DATE_TRUNC", (unit, self.tree(data_type, depth)))
        sources = [TIMESTAMP] if data_type == TIMESTAMP else [TIMESTAMP_NTZ, DATE]
        operands = (self.tree(self.pick(sources), depth), self.tree(INTERVAL, depth))
        return tree.Call(self.pick(["+", "-"]), operands)

    def interval(self, depth: int) -> Node:
        match self.draw(st.integers(0, 2)):
            case 0:
                moment = self.pick(MOMENTS)
                return tree.Call("-", (self.tree(moment, depth), self.tree(moment, depth)))
            case 1:
                return tree.Call("NEGATE", (self.tree(INTERVAL, depth),))
            case _:
                operands = (self.tree(INTERVAL, depth), self.tree(INTERVAL, depth))
                return tree.Call(self.pick(["+", "-"]), operands)


@st.composite
def trees(draw: Draw, data_type: DataType | None = None, *, aggregates: bool = False) -> Node:
    wanted = data_type or draw(st.sampled_from([BOOLEAN, *NUMBERS, STRING, *MOMENTS, INTERVAL]))
    return _Trees(draw, aggregates=aggregates).tree(wanted, draw(st.integers(1, 4)))
