"""Text to tree: sqlglot reads the SQL, and only what is listed here is translated into our nodes.

Everything else is refused with its place in the text. Names are not resolved yet: `fail.amount` is
a `Field` whether `fail` is a step or a struct (see `resolve`).
"""

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from decimal import Decimal
from math import isinf
from types import MappingProxyType
from typing import Any, Final

from sqlglot import exp

from cep.bounded_cache import BoundedCache
from cep.expression import tree
from cep.expression.errors import ExpressionError, UnknownParameter, near_name, problem_at
from cep.expression.functions.casting import SOURCES
from cep.expression.functions.signatures import Check
from cep.expression.functions.table import ALIASES, DATE_PARTS, FUNCTIONS, OPERATORS, UNWRITTEN
from cep.expression.functions.text_pattern import TextPatternError, like_pattern, regex
from cep.expression.parsing.foreign import FUNCTIONS as FOREIGN_FUNCTIONS
from cep.expression.parsing.syntax import foreign_refusal, read_sql, refusal, too_large
from cep.expression.parsing.windows import CROSSES, WINDOW_FUNCTIONS, Over, WindowReader
from cep.expression.rewrite import without_step
from cep.expression.temporal import INTERVAL_UNITS, parse_date, parse_interval, parse_timestamp
from cep.expression.tree import (
    NOWHERE,
    AggregateFunction,
    ComparisonOperator,
    HigherOrderFunction,
    Node,
    Span,
    aggregates_of,
    walk,
)
from cep.expression.types import DataType, Kind, from_sqlglot

Given = tree.Literal | tuple[tree.Literal, ...]
"""What a parameter stands for: a constant, or a list of them after IN."""
Constants = Mapping[str, Given]
"""The value of each parameter by its name, without the colon."""

NO_CONSTANTS: Final[Constants] = MappingProxyType({})
MAX_TREE_DEPTH = 64
MAX_NODES = 10_000
MAX_PATTERNS_SIZE = 10_000
MAX_DIGITS = 38
MAX_NESTED_LAMBDAS = 3

_FUNCTION_NAMES = sorted({*FUNCTIONS, "COALESCE", "NULLIF", "IF"} - OPERATORS - UNWRITTEN)
_ALLOWED = (
    "allowed are comparisons, AND OR NOT, IN, BETWEEN, LIKE, ILIKE, RLIKE, IS NULL, CASE, CAST, "
    "INTERVAL, arithmetic, SUM COUNT AVG MIN MAX FIRST LAST over a step, and the functions of the "
    "page Expressions"
)
_COMPARISONS: dict[type[exp.Expr], ComparisonOperator] = {
    exp.EQ: ComparisonOperator.EQUAL,
    exp.NEQ: ComparisonOperator.NOT_EQUAL,
    exp.LT: ComparisonOperator.LESS,
    exp.LTE: ComparisonOperator.LESS_OR_EQUAL,
    exp.GT: ComparisonOperator.GREATER,
    exp.GTE: ComparisonOperator.GREATER_OR_EQUAL,
}
_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "DIV",
    exp.Mod: "%",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.DPipe: "CONCAT",
}


def parse(text: str, constants: Constants = NO_CONSTANTS) -> Node:
    """Return the tree of a SQL expression, in which `:name` is one constant, whatever is in it.

    Raises:
        UnknownParameter: it names a parameter that is not among them.
        ExpressionTooLarge: if it is too long or too deeply nested.
        ExpressionError: if it is not an expression of this language.
    """
    return parse_with(text, constants)[0]


def parse_with(text: str, constants: Constants) -> tuple[Node, Constants]:
    """Return the tree of a SQL expression, and the parameters that it uses; else as `parse`."""
    return (_trees[text], NO_CONSTANTS) if not constants else _translated(text, constants)


def _translated(text: str, constants: Constants) -> tuple[Node, Constants]:
    try:
        translation = _Translation(text, constants)
        root = translation.node(read_sql(text))
        return root, {name: constants[name] for name in sorted(translation.used)}
    except RecursionError:
        # Rows of NOT or of minus signs, or a caller that is deep in the stack itself.
        raise too_large(text, "levels of nesting", MAX_TREE_DEPTH + 1, MAX_TREE_DEPTH) from None


_trees: Final[BoundedCache[str, Node]] = BoundedCache(
    lambda text: _translated(text, NO_CONSTANTS)[0],
    capacity=500_000,
    size_of=lambda text, _tree: len(text),
)
"""Trees of texts without parameters, so many characters: rules have conditions in common, and one
rule is read more than once on its way into a job."""


class _Translation:
    """The walk over sqlglot's tree of one text."""

    def __init__(self, text: str, constants: Constants) -> None:
        self.text = text
        self.constants = constants
        self.used: set[str] = set()
        self.variables: set[str] = set()
        self.depth = 0
        self.nodes = 0
        self.patterns_size = 0
        self._windows = WindowReader(self.node, self._again, self._refused, self._place)

    def node(self, parsed: exp.Expr) -> Node:
        """Return our node for one of sqlglot's."""
        self.depth += 1
        if self.depth > MAX_TREE_DEPTH:
            raise too_large(self.text, "levels of nesting", self.depth, MAX_TREE_DEPTH)
        self._count(1)
        translated = self._node(parsed)
        self.depth -= 1
        return translated

    def _count(self, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            what = "parts once BETWEEN, NULLIF and CASE are written out"
            raise too_large(self.text, what, self.nodes, MAX_NODES)

    def _again(self, node: Node) -> Node:
        """Count a node that the tree holds a second time."""
        self._count(_size(node))
        return node

    def _node(  # noqa: C901, PLR0911, PLR0912 - one line per kind of node
        self, parsed: exp.Expr
    ) -> Node:
        match parsed:
            case exp.Paren():
                return self.node(parsed.this)
            case exp.And() | exp.Or():
                return self._chain(parsed)
            case exp.Not():
                (operand,) = self._operands(parsed, "this")
                return tree.Not(operand, operand.span)
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                self._check_bits(parsed)
                left, right = self._operands(parsed, "this", "expression")
                operator = _COMPARISONS[type(parsed)]
                return tree.Comparison(operator, left, right, _cover(left, right))
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                left, right = self._operands(parsed, "this", "expression")
                distinct = tree.IsDistinct(left, right, _cover(left, right))
                return (
                    distinct
                    if isinstance(parsed, exp.NullSafeNEQ)
                    else tree.Not(distinct, distinct.span)
                )
            case _ if type(parsed) in _OPERATORS:
                operands = self._operands(parsed, "this", "expression", ignored=("typed", "safe"))
                return tree.Call(_OPERATORS[type(parsed)], operands, _cover(*operands))
            case exp.Neg():
                return self._negation(parsed)
            case exp.Literal() | exp.RawString() | exp.Boolean() | exp.Null():
                return self._literal(parsed)
            case exp.Placeholder():
                return self._parameter(parsed)
            case exp.Bracket():
                return self._element(parsed)
            case exp.Dot() if isinstance(_innermost(parsed), _COMPUTED):
                return self._member(parsed)
            case exp.Column() | exp.Dot() | exp.Identifier():
                return self._name(self._path(parsed))
            case exp.Anonymous():
                return self._function(parsed)
            case _:
                return self._special(parsed)

    def _special(self, parsed: exp.Expr) -> Node:  # noqa: C901, PLR0911 - one line per kind of node
        match parsed:
            case Over():
                return self._outside_lambdas(parsed, self._windows.window)
            case exp.Is():
                return self._is(parsed)
            case exp.In():
                return self._in(parsed)
            case exp.Between():
                value, low, high = self._operands(parsed, "this", "low", "high")
                span = _cover(value, low, high)
                return tree.And(
                    (
                        tree.Comparison(ComparisonOperator.GREATER_OR_EQUAL, value, low, span),
                        tree.Comparison(
                            ComparisonOperator.LESS_OR_EQUAL, self._again(value), high, span
                        ),
                    ),
                    span,
                )
            case exp.Like() | exp.ILike() | exp.Escape():
                return self._like(parsed)
            case exp.RegexpLike():
                (operand,) = self._operands(parsed, "this", ignored=("expression",))
                return self._regex_like(operand, parsed.expression, "RLIKE")
            case exp.Case():
                return self._case(parsed)
            case exp.Cast():
                return self._cast(parsed)
            case exp.Interval():
                return self._interval(parsed)
            case exp.Extract():
                (operand,) = self._operands(parsed, "expression", ignored=("this",))
                part = parsed.this.name.upper()
                return self._scalar_call(parsed, part, (operand,), _cover(operand), DATE_PARTS)
            case exp.Concat():
                operands = self._operands(parsed, "expressions", ignored=("coalesce", "safe"))
                return tree.Call("CONCAT", operands, _cover(*operands))
            case _:
                hint = _INSTEAD.get(type(parsed))
                message = f"{_spelling(parsed)} is not part of the language"
                raise foreign_refusal(self.text) or self._refused(parsed, message, hint)

    def _operands(
        self, parsed: exp.Expr, *names: str, ignored: tuple[str, ...] = ()
    ) -> tuple[Node, ...]:
        """Translate the arguments of these names; any other one that is set is refused."""
        for name, value in parsed.args.items():
            if value and name not in names and name not in ignored:
                raise self._refused(parsed, f"{name} is not allowed with {_spelling(parsed)}")
        operands: list[Node] = []
        for name in names:
            value = parsed.args.get(name)
            values = value if isinstance(value, list) else [value]
            operands += [self.node(operand) for operand in values if operand is not None]
        return tuple(operands)

    def _refused(self, parsed: exp.Expr, message: str, hint: str | None = None) -> ExpressionError:
        return refusal(self.text, self._place(parsed), message, _ALLOWED if hint is None else hint)

    def _place(self, parsed: exp.Expr) -> Span:
        """The stretch of text below a node of sqlglot's; the whole text if it kept no places."""
        metas = [found.meta for found in parsed.walk() if "start" in found.meta]
        if not metas:
            return (0, len(self.text))
        return min(meta["start"] for meta in metas), max(meta["end"] for meta in metas) + 1

    def _check_bits(self, parsed: exp.Expr) -> None:
        """Refuse `a = 1 & b = 2`, where AND is meant: & binds closer than =."""
        is_chain = isinstance(parsed.this, tuple(_COMPARISONS))
        sides = (parsed.this.expression, parsed.expression) if is_chain else ()
        if any(isinstance(side, exp.BitwiseAnd | exp.BitwiseOr) for side in sides):
            found = foreign_refusal(self.text)
            raise found or self._refused(parsed, "two comparisons in a row", "join them by AND")

    def _chain(self, parsed: exp.Expr) -> Node:
        """A row of one operator is one node, however long: sqlglot nests it to the left."""
        kind = type(parsed)
        operands: list[exp.Expr] = []
        rest = [parsed]
        while rest:
            current = rest.pop()
            if isinstance(current, kind):
                rest += [current.this, current.expression]
            else:
                operands.append(current)
        nodes = tuple(self.node(operand) for operand in reversed(operands))
        return (tree.And if kind is exp.And else tree.Or)(nodes, _cover(*nodes))

    def _negation(self, parsed: exp.Expr) -> Node:
        (operand,) = self._operands(parsed, "this")
        is_number = isinstance(parsed.this, exp.Literal) and not parsed.this.is_string
        if (
            is_number
            and isinstance(operand, tree.Literal)
            and isinstance(operand.value, int | float | Decimal)
        ):
            negated = -operand.value
            is_smallest = (
                isinstance(negated, Decimal) and negated == -(2**63) and "." not in parsed.this.name
            )
            return tree.Literal(int(negated) if is_smallest else negated, operand.span)
        return tree.Call("NEGATE", (operand,), operand.span)

    def _literal(self, parsed: exp.Expr) -> tree.Literal:
        span = self._place(parsed)
        match parsed:
            case exp.Null():
                return tree.Literal(None, span)
            case exp.Boolean():
                return tree.Literal(bool(parsed.this), span)
            case exp.RawString():
                return tree.Literal(str(parsed.this), span)
            case _ if not parsed.is_string:
                return tree.Literal(self._number(parsed), span)
            case _:
                return tree.Literal(self._quoted(parsed, span), span)

    def _in(self, parsed: exp.In) -> Node:
        listed = parsed.args.get("field")
        if isinstance(listed, exp.Placeholder):
            return self._in_parameter(parsed, listed)
        if isinstance(listed, exp.Anonymous) and listed.name.upper() == "LIST":
            return self._in_list(parsed, listed)
        if not parsed.expressions:
            hint = "write IN (1, 2, 3), or IN LIST('name') for a list of the stream"
            if isinstance(parsed.this, exp.Literal) and parsed.this.is_string:
                hint = f"whether a text has another in it is CONTAINS(user, '{parsed.this.name}')"
            raise self._refused(parsed, "IN needs a list of values", hint)
        operand, *items = self._operands(parsed, "this", "expressions")
        return tree.In(operand, tuple(items), _cover(operand, *items))

    def _in_list(self, parsed: exp.In, listed: exp.Anonymous) -> Node:
        (operand,) = self._operands(parsed, "this", ignored=("field",))
        if len(listed.expressions) != 1:
            hint = "write IN LIST('name')"
            raise self._refused(listed, "LIST takes the name of one list", hint)
        (name,) = listed.expressions
        span = _cover(operand, tree.Literal(None, self._place(listed)))
        return tree.InList(operand, self._constant_text(name, "LIST"), None, span)

    def _in_parameter(self, parsed: exp.In, listed: exp.Placeholder) -> Node:
        (operand,) = self._operands(parsed, "this", ignored=("field",))
        given, span = self._given(listed)
        if not isinstance(given, tuple):
            name = listed.name
            hint = f"write IN (:{name}), or declare it as ARRAY<…>"
            raise refusal(self.text, span, f"the parameter {name} is one value, not a list", hint)
        span = _cover(operand, tree.Literal(None, span))
        if given:
            self._count(len(given))
            return tree.In(operand, given, span)
        # Nothing is in an empty list, not even what is unknown.
        is_null = tree.IsNull(operand, span)
        return tree.And((is_null, tree.Not(tree.IsNull(self._again(operand), span), span)), span)

    def _parameter(self, parsed: exp.Placeholder) -> tree.Literal:
        given, span = self._given(parsed)
        if isinstance(given, tuple):
            message = f"the parameter {parsed.name} is a list, which is no value"
            hint = f"write IN :{parsed.name}, LIKE ANY (:{parsed.name}) or ARRAY(:{parsed.name})"
            raise refusal(self.text, span, message, hint)
        return replace(given, span=span)

    def _given(self, parsed: exp.Placeholder) -> tuple[Given, Span]:
        """Return what a parameter stands for, and its place in the text."""
        name, (start, end) = parsed.name, self._place(parsed)
        span = (start - 1, end)  # with its colon
        if name not in self.constants:
            hint = near_name(name, self.constants) or (
                f"there are: {', '.join(self.constants)}"
                if self.constants
                else "declare it in the parameters of the pattern"
            )
            message = f"there is no parameter {name}"
            raise UnknownParameter(problem_at(self.text, span, message, hint))
        self.used.add(name)
        return self.constants[name], span

    def _quoted(self, parsed: exp.Expr, span: Span) -> str:
        source = self.text[slice(*span)]
        # A literal that sqlglot has made itself has no place, so no source.
        is_source = "start" in parsed.meta and source.startswith("'")
        return source[1:-1].replace("''", "'") if is_source else str(parsed.this)

    def _number(self, parsed: exp.Expr) -> int | float | Decimal:
        digits = parsed.name
        if "e" in digits.lower():
            number = float(digits)
            if isinf(number):
                raise self._refused(parsed, f"{digits} is too large a number", "")
            return number
        if sum(map(str.isdigit, digits)) > MAX_DIGITS:
            raise self._refused(parsed, f"a number has at most {MAX_DIGITS} digits", "")
        if "." in digits or int(digits) >= 2**63:
            return Decimal(digits)
        return int(digits)

    def _name(self, path: list[tuple[str, Span]]) -> Node:
        """Return what a name with points in it stands for: a variable of a lambda, or a field."""
        (first, (start, end)), *members = path
        if first not in self.variables:
            return tree.Field(tuple(name for name, _ in path), (start, path[-1][1][1]))
        node: Node = tree.Variable(first, span=(start, end))
        for name, (_, end_of_name) in members:
            node = tree.Member(node, name, (start, end_of_name))
        return node

    def _member(self, parsed: exp.Dot) -> Node:
        """Translate a field of a struct that is computed, as `items[0].price`."""
        name = parsed.expression
        if not isinstance(name, exp.Identifier):
            self._path(name)  # refuses it
        operand = self.node(parsed.this)
        span = (operand.span[0], self._place(name)[1])
        if isinstance(operand, tree.Field):  # geo['at'].lat
            return tree.Field((*operand.path, name.name), span)
        return tree.Member(operand, name.name, span)

    def _outside_lambdas(self, parsed: exp.Expr, translate: Callable[[Any], Node]) -> Node:
        if self.variables:
            message = "a window has one value for an event, whatever its elements are"
            raise self._refused(parsed, message, "write it outside of the lambda")
        return translate(parsed)

    def _element(self, parsed: exp.Bracket) -> Node:
        """Translate `array[index]`, and `struct['field']`, which is `struct.field`."""
        if len(parsed.expressions) != 1 or isinstance(parsed.expressions[0], exp.Slice):
            raise self._refused(parsed, "[ ] takes one index", "write tags[0] or geo['lat']")
        (index,) = parsed.expressions
        operand = self.node(parsed.this)
        if not isinstance(index, exp.Literal) or not index.is_string:
            place = self.node(index)
            return tree.Call("GET", (operand, place), _cover(operand, place))
        name = self._literal(index)
        span = _cover(operand, name)
        if isinstance(operand, tree.Field):
            return tree.Field((*operand.path, str(name.value)), span)
        return tree.Member(operand, str(name.value), span)

    def _path(self, parsed: exp.Expr) -> list[tuple[str, Span]]:
        match parsed:
            case exp.Dot():
                return [*self._path(parsed.this), *self._path(parsed.expression)]
            case exp.Column():
                return [name for part in parsed.parts for name in self._path(part)]
            case exp.Identifier():
                return [(parsed.name, self._place(parsed))]
            case exp.Star():
                raise self._refused(parsed.parent or parsed, "* stands only in COUNT(step.*)", "")
            case exp.Anonymous():
                name = parsed.name.upper()
                hint = f"write {name}(value, ...)" if name in FUNCTIONS else ""
                message = f"{parsed.name}() cannot follow a point: values have no methods"
                raise self._refused(parsed, message, hint)
            case _:
                raise self._refused(parsed, f"{_spelling(parsed)} cannot follow a point", "")

    def _is(self, parsed: exp.Expr) -> Node:
        operand, truth = self._operands(parsed, "this", "expression")
        span = _cover(operand, truth)
        match truth:
            case tree.Literal(value=None):
                return tree.IsNull(operand, span)
            case tree.Literal(value=bool(value)):
                return tree.IsTruth(operand, value, span)
            case _:
                message = "IS needs NULL, TRUE, FALSE or [NOT] DISTINCT FROM"
                raise self._refused(parsed, message, "write = to compare, IS NOT NULL for a value")

    def _like(self, parsed: exp.Expr) -> Node:
        """Translate LIKE and ILIKE, also with a list of patterns, of which one or all must fit.

        ILIKE compares what LOWER makes of text and pattern. NOT denies every pattern, as in Spark:
        `NOT LIKE ANY` asks for one that does not fit.
        """
        escape = ""
        if isinstance(parsed, exp.Escape):
            escape = self._constant_text(parsed.expression, "ESCAPE")
            if len(escape) != 1:
                raise self._refused(parsed.expression, "ESCAPE needs one character", "")
            parsed = parsed.this
        if not isinstance(parsed, exp.Like | exp.ILike):
            raise self._refused(parsed, f"ESCAPE is not allowed with {_spelling(parsed)}")
        (operand,) = self._operands(parsed, "this", ignored=("expression", "negate"))
        if isinstance(parsed, exp.ILike):
            operand = tree.Call("LOWER", (operand,), operand.span)
        is_negated = bool(parsed.args.get("negate"))
        span = _cover(operand)
        tests: list[Node] = []
        for place, pattern in self._patterns(parsed):
            text = pattern.lower() if isinstance(parsed, exp.ILike) else pattern
            try:
                self._count_pattern(like_pattern(text, escape).size)
            except TextPatternError as error:
                raise self._pattern_refused(place, error) from None
            like = tree.Like(self._again(operand) if tests else operand, text, escape, span)
            tests.append(tree.Not(like, span) if is_negated else like)
        if len(tests) == 1:
            return tests[0]
        is_any = isinstance(parsed.expression, exp.Any)
        if not tests:  # a list without a pattern, as a parameter
            return tree.Literal(not is_any, span)
        return (tree.Or if is_any else tree.And)(tuple(tests), span)

    def _patterns(self, parsed: exp.Expr) -> list[tuple[exp.Expr, str]]:
        """Return the patterns behind LIKE, each with what stands for it."""
        listed, what = parsed.expression, _spelling(parsed)
        if not isinstance(listed, exp.Any | exp.All):
            return [(listed, self._constant_text(listed, what))]
        found: list[tuple[exp.Expr, str]] = []
        within = listed.this
        written = within.expressions if isinstance(within, exp.Tuple) else [within.this]
        if not written:
            raise self._refused(parsed, f"{what} needs patterns", f"write {what} ANY ('a%', 'b%')")
        for each in written:
            given = self._given(each)[0] if isinstance(each, exp.Placeholder) else None
            if isinstance(given, tuple) and all(isinstance(one.value, str) for one in given):
                found += [(each, str(one.value)) for one in given]
            else:
                found.append((each, self._constant_text(each, what)))
        return found

    def _regex_like(self, operand: Node, written: exp.Expr, what: str) -> Node:
        pattern = self._constant_text(written, what)
        try:
            self._count_pattern(regex(pattern).size)
        except TextPatternError as error:
            raise self._pattern_refused(written, error) from None
        return tree.RegexLike(operand, pattern, _cover(operand))

    def _count_pattern(self, size: int) -> None:
        self.patterns_size += size
        if self.patterns_size > MAX_PATTERNS_SIZE:
            what = "characters in LIKE and RLIKE once repetitions are written out"
            raise too_large(self.text, what, self.patterns_size, MAX_PATTERNS_SIZE)

    def _pattern_refused(self, written: exp.Expr, error: TextPatternError) -> ExpressionError:
        place = f"at character {error.position + 1} of the pattern"
        return self._refused(written, f"{error} ({place})", "")

    def _constant_text(self, parsed: exp.Expr, what: str) -> str:
        found: tree.Literal | None = None
        if isinstance(parsed, exp.Literal | exp.RawString):
            found = self._literal(parsed)
        elif isinstance(parsed, exp.Placeholder):
            found = self._parameter(parsed)
        if found is not None and isinstance(found.value, str):
            return found.value
        raise self._refused(parsed, f"{what} needs a constant text in single quotes", "")

    def _case(self, parsed: exp.Expr) -> Node:
        branches: list[tuple[Node, Node]] = []
        for branch in parsed.args["ifs"]:
            condition, value = self._operands(branch, "this", "true")
            if parsed.this is not None:
                subject = self.node(parsed.this)
                span = _cover(subject, condition)
                condition = tree.Comparison(ComparisonOperator.EQUAL, subject, condition, span)
            branches.append((condition, value))
        default = parsed.args.get("default")
        otherwise = tree.Literal(None) if default is None else self.node(default)
        span = _cover(*(node for branch in branches for node in branch))
        return tree.Case(tuple(branches), otherwise, span)

    def _cast(self, parsed: exp.Expr) -> Node:
        (operand,) = self._operands(parsed, "this", ignored=("to", "safe"))
        data_type = from_sqlglot(parsed.args["to"])
        if data_type.kind not in SOURCES:
            targets = ", ".join(kind for kind in Kind if kind in SOURCES)
            name = parsed.args["to"].sql("spark")
            raise self._refused(parsed, f"CAST to {name} is not allowed", f"allowed are {targets}")
        is_prefixed = not isinstance(parsed, exp.TryCast)  # TIMESTAMP '2024-01-31 10:00:00'
        if is_prefixed and isinstance(operand, tree.Literal) and isinstance(operand.value, str):
            read = parse_date if data_type.kind is Kind.DATE else parse_timestamp
            value = read(operand.value)
            if value is None:
                hint = f"write {data_type} '2024-01-31 10:00:00' or, with an offset, '...+01:00'"
                raise self._refused(parsed, f"{operand.value!r} is no {data_type}", hint)
            return tree.Literal(value, operand.span)
        return tree.Cast(operand, data_type, operand.span)

    def _interval(self, parsed: exp.Expr) -> tree.Literal:
        amount, unit = parsed.this, parsed.args.get("unit")
        units = ", ".join(INTERVAL_UNITS)
        hint = f"write INTERVAL '10' MINUTE or INTERVAL '1 day 2 hours'; units are {units}"
        if not isinstance(amount, exp.Literal) or isinstance(unit, exp.IntervalSpan):
            raise self._refused(parsed, "an interval needs a constant and one unit", hint)
        value = parse_interval(f"{amount.name} {unit.name if unit else ''}")
        if value is None:
            raise self._refused(parsed, "this is no interval of a fixed length", hint)
        return tree.Literal(value, self._place(amount) if "start" in amount.meta else NOWHERE)

    def _function(  # noqa: C901, PLR0911 - one line per kind of function
        self, parsed: exp.Expr
    ) -> Node:
        name = str(parsed.name).upper()
        if name == CROSSES:
            return self._outside_lambdas(parsed, self._windows.crossing)
        if name in AggregateFunction.__members__:
            return self._aggregate(parsed, AggregateFunction(name))
        if name in HigherOrderFunction.__members__:
            return self._higher_order(parsed, HigherOrderFunction(name))
        if name in _REGEX_FUNCTIONS:
            if (count := len(parsed.expressions)) != 2:  # noqa: PLR2004 - text and pattern
                raise self._refused(parsed, f"{name} takes 2 arguments, not {count}", "")
            text, pattern = parsed.expressions
            return self._regex_like(self.node(text), pattern, name)
        if any(isinstance(each, exp.Lambda) for each in parsed.expressions):
            near = near_name(name, HigherOrderFunction)
            hint = FOREIGN_FUNCTIONS.get(name) or near or f"{_TAKING_LAMBDAS} take one"
            raise self._refused(parsed, f"{name} takes no lambda", hint)
        self._operands(parsed, ignored=("this", "expressions"))
        arguments = tuple(node for each in parsed.expressions for node in self._arguments(each))
        span = (
            parsed.meta["start"],
            max([parsed.meta["end"] + 1, *(a.span[1] for a in arguments)]),
        )
        match name, arguments:
            case ("COALESCE", (_, *_)) | ("IFNULL" | "NVL", (_, _)):
                return tree.Coalesce(arguments, span)
            case "NULLIF", (value, other):
                same = tree.Comparison(ComparisonOperator.EQUAL, value, other, span)
                return tree.Case(((same, tree.Literal(None)),), self._again(value), span)
            case "IF", (condition, value, other):
                return tree.Case(((condition, value),), other, span)
            case _, (value,) if (target := CASTS.get(name)) is not None:
                return tree.Cast(value, DataType(target), span)
            case "CONVERT_TIMEZONE", (source, target, moment):
                moment = self._scalar_call(
                    parsed, "TO_UTC_TIMESTAMP", (moment, source), span, FUNCTIONS
                )
                return self._scalar_call(parsed, name, (target, moment), span, FUNCTIONS)
            case _:
                return self._scalar_call(parsed, name, arguments, span, FUNCTIONS)

    def _arguments(self, written: exp.Expr) -> tuple[Node, ...]:
        """Return an argument of a function; a parameter that is a list stands for its values."""
        if isinstance(written, exp.Placeholder):
            given, span = self._given(written)
            if isinstance(given, tuple):
                self._count(len(given))
                return tuple(replace(each, span=span) for each in given)
        return (self.node(written),)

    def _scalar_call(
        self,
        parsed: exp.Expr,
        written: str,
        arguments: tuple[Node, ...],
        span: Span,
        known: Container[str],
    ) -> tree.Call:
        name = ALIASES.get(written, written)
        if name not in known or name in UNWRITTEN:
            names = [*_FUNCTION_NAMES, *ALIASES, *AggregateFunction]
            hint = near_name(written, names) or None
            if written in WINDOW_FUNCTIONS:
                hint = f"write {written}(...) OVER (PARTITION BY user LAST INTERVAL '60' SECOND)"
            hint = FOREIGN_FUNCTIONS.get(written, hint)
            raise self._refused(parsed, f"there is no function {written}", hint)
        function = FUNCTIONS[name]
        if not function.minimum <= len(arguments) <= function.maximum:
            takes = f"{function.maximum} argument{'' if function.maximum == 1 else 's'}"
            if function.minimum < function.maximum:
                takes = f"{function.minimum} to {takes}"
            raise self._refused(parsed, f"{written} takes {takes}, not {len(arguments)}", "")
        for place, check in function.checks.items():
            if place < len(arguments):
                self._check_constant(arguments[place], written, check, parsed)
        return tree.Call(name, arguments, span)

    def _check_constant(
        self, argument: Node, function: str, check: Check, parsed: exp.Expr
    ) -> None:
        """Refuse an argument that is no constant text, or one that its function cannot take."""
        span = self._place(parsed) if argument.span == NOWHERE else argument.span
        if not isinstance(argument, tree.Literal) or not isinstance(argument.value, str):
            message = f"{function} needs a constant text in single quotes here"
            raise refusal(self.text, span, message)
        try:
            check(argument.value)
        except ValueError as error:
            raise refusal(self.text, span, str(error)) from None

    def _higher_order(
        self, parsed: exp.Expr, function: HigherOrderFunction
    ) -> tree.HigherOrderCall:
        written = parsed.expressions
        hint = f"write {function}(tags, tag -> tag = 'a')"
        if len(written) != 2 or not isinstance(written[1], exp.Lambda):  # noqa: PLR2004 - array, lambda
            raise self._refused(parsed, f"{function} takes an array and a lambda", hint)
        array, (variable, *others) = self.node(written[0]), written[1].expressions
        if others:
            raise self._refused(written[1], f"the lambda of {function} takes one variable", hint)
        name = variable.name
        if name in self.variables:
            message = f"{name} is already the variable of the lambda around this one"
            raise self._refused(variable, message, "choose another name")
        if len(self.variables) == MAX_NESTED_LAMBDAS:
            message = f"lambdas are nested at most {MAX_NESTED_LAMBDAS} deep"
            raise self._refused(variable, message, "each multiplies the elements to look at")
        self.variables.add(name)
        body = self.node(written[1].this)
        self.variables.remove(name)
        return tree.HigherOrderCall(function, array, name, body, self._place(parsed))

    def _aggregate(self, parsed: exp.Expr, function: AggregateFunction) -> tree.Aggregate:
        hint = f"write {function}(step.field)"
        if function is AggregateFunction.COUNT:
            hint = "write COUNT(step.*) or COUNT(step.field)"
        if len(parsed.expressions) != 1:
            raise self._refused(parsed, f"{function} takes 1 argument", hint)
        (argument,) = parsed.expressions
        if isinstance(argument, exp.Column) and isinstance(argument.this, exp.Star):
            path = [part.name for part in argument.parts[:-1]]
            if function is not AggregateFunction.COUNT or len(path) != 1:
                raise self._refused(parsed, "* stands only in COUNT(step.*)", hint)
            return tree.Aggregate(function, path[0], None, self._place(parsed))
        if isinstance(argument, exp.Star):
            hint += ", or COUNT(*) OVER (PARTITION BY user LAST INTERVAL '60' SECOND)"
            raise self._refused(parsed, f"{function}(*) does not say of which step", hint)
        operand = self.node(argument)
        if aggregates_of(operand):
            raise self._refused(parsed, "aggregates cannot be nested", hint)
        if next(tree.lists_in(operand), None) is not None:
            # It may be computed when the event is long past, and with it what the list had then.
            message = "a list of the stream cannot stand within an aggregate"
            raise self._refused(parsed, message, "make it a condition of the step, and count that")
        fields = [found for found in walk(operand) if isinstance(found, tree.Field)]
        steps = {field.path[0] for field in fields}
        if len(steps) != 1 or any(len(field.path) == 1 for field in fields):
            raise self._refused(parsed, f"{function} needs the fields of one step", hint)
        return tree.Aggregate(function, steps.pop(), without_step(operand), self._place(parsed))


def _innermost(parsed: exp.Expr) -> exp.Expr:
    """Return what stands before the first point."""
    while isinstance(parsed, exp.Dot):
        parsed = parsed.this
    return parsed


def _size(node: Node) -> int:
    """Return how many nodes a tree has, the operands of aggregates included."""
    operands = [found.operand for found in walk(node) if isinstance(found, tree.Aggregate)]
    return sum(1 for _ in walk(node)) + sum(_size(operand) for operand in operands if operand)


def _cover(*nodes: Node) -> Span:
    """The span from the first to the last of the nodes that have a place."""
    spans = [node.span for node in nodes if node.span != NOWHERE]
    if not spans:
        return NOWHERE
    return min(start for start, _ in spans), max(end for _, end in spans)


_INSTEAD: Final[dict[type[exp.Expr], str]] = {
    exp.Array: "put the array in brackets: (ARRAY(1, 2))[0]",
    exp.Filter: "FILTER stands in front of OVER, or write SUM(step.field)",
    exp.WithinGroup: "WITHIN GROUP stands in front of OVER",
    exp.HexString: "write a number in decimal digits",
}
"""What to write in place of what sqlglot reads and this language lacks."""
CASTS: Final = {
    "TO_DATE": Kind.DATE,
    "TO_TIMESTAMP": Kind.TIMESTAMP,
    **{kind.value: kind for kind in SOURCES if kind not in {Kind.DECIMAL, Kind.TIMESTAMP_NTZ}},
}
"""Functions that are casts, as Spark has them."""
_TAKING_LAMBDAS: Final = ", ".join(HigherOrderFunction)
_COMPUTED: Final = (exp.Bracket, exp.Anonymous, exp.Paren)
"""What has fields if it is a struct, besides columns."""
_REGEX_FUNCTIONS: Final = frozenset({"RLIKE", "REGEXP", "REGEXP_LIKE"})
_SPELLINGS: dict[type[exp.Expr], str] = {
    exp.ILike: "ILIKE",
    exp.RegexpLike: "RLIKE",
    exp.Alias: "AS",
}


def _spelling(parsed: exp.Expr) -> str:
    """How the user would call one of sqlglot's nodes: `GROUP BY`, `SUBQUERY`, `BITWISE AND`."""
    if type(parsed) in _SPELLINGS:
        return _SPELLINGS[type(parsed)]
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(parsed).__name__).upper()
