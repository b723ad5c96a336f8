"""`OVER (...)`: read from tokens, and translated into a window of the tree.

    tokens ──read_over──► Over ──window_of──► Window

The words are SQL's, with SQL's meaning, and three more where SQL has none: `CURRENT EVENT` is the
event without the peers that come after it, an `EXCLUSIVE` bound is out itself, `FILTERED ROWS` are
counted among those that pass the filter. `LAST INTERVAL '60' SECOND` is short for the frame most
rules want.

Source: ISO/IEC 9075-2, "window clause".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, ClassVar, Final, NoReturn

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from cep.expression import tree
from cep.expression.errors import ExpressionError
from cep.expression.rewrite import without_event
from cep.expression.temporal import INTERVAL_UNITS
from cep.expression.tree import (
    Exclusion,
    Frame,
    FrameUnit,
    Node,
    Span,
    WindowFunction,
)

_BOUNDS: Final = (
    "a bound is INTERVAL '60' SECOND PRECEDING, 5 PRECEDING, UNBOUNDED PRECEDING, CURRENT ROW or "
    "CURRENT EVENT"
)
_FRAMES: Final = "write OVER (PARTITION BY user LAST INTERVAL '60' SECOND)"
_ONE_BEFORE: Final = Frame(FrameUnit.FILTERED_ROWS, 0, exclusion=Exclusion.CURRENT_ROW)
_MILLISECOND: Final = timedelta(milliseconds=1)
_ALIASES: Final = {"STDDEV": WindowFunction.STDDEV_SAMP}
_EXACT: Final = {
    "APPROX_COUNT_DISTINCT": WindowFunction.COUNT,
    "APPROX_PERCENTILE": WindowFunction.PERCENTILE_DISC,
}
"""Functions that may be off by a little elsewhere, and never are here."""
_SHARES: Final = frozenset({WindowFunction.PERCENTILE_CONT, WindowFunction.PERCENTILE_DISC})
BECOMES_TRUE: Final = "BECOMES_TRUE"
FIRST_SEEN: Final = "FIRST_SEEN"
CROSSES: Final = "CROSSES"
WINDOW_FUNCTIONS: Final = (*WindowFunction, *_ALIASES, *_EXACT, BECOMES_TRUE, FIRST_SEEN)


class Over(exp.Expression, exp.Condition):
    """`this OVER (...)`, with the words of the frame."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "partition_by": False,
        "order": False,
        "unit": False,
        "begin": False,
        "end": False,
        "exclude": False,
        "learning": False,
    }


class Bound(exp.Expression):
    """A bound of a frame: its words, or how far it is away, and whether it is out itself."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "exclusive": False}


def read_over(parser: Any, this: exp.Expr | None) -> exp.Expr | None:
    """Return a function with what stands behind it: WITHIN GROUP, FILTER, OVER."""
    if parser._match_text_seq("WITHIN", "GROUP"):  # noqa: SLF001 - how sqlglot's own are written
        this = exp.WithinGroup(this=this, expression=parser._parse_wrapped(parser._parse_order))  # noqa: SLF001
    if parser._match_text_seq("FILTER"):  # noqa: SLF001
        parser._match_l_paren()  # noqa: SLF001
        this = exp.Filter(this=this, expression=parser._parse_where())  # noqa: SLF001
        parser._match_r_paren()  # noqa: SLF001
    if not parser._match(TokenType.OVER):  # noqa: SLF001
        return this
    parser._match_l_paren()  # noqa: SLF001
    over = Over(
        this=this,
        partition_by=parser._parse_partition_by(),  # noqa: SLF001
        order=parser._parse_order(),  # noqa: SLF001
    )
    _read_frame(_Words(parser), over)
    parser._match_r_paren()  # noqa: SLF001
    return over


@dataclass(frozen=True, slots=True)
class _Words:
    """The words at which a parser of sqlglot stands."""

    parser: Any

    def take(self, *words: str) -> bool:
        """Go on behind these words if they stand here."""
        return bool(self.parser._match_text_seq(*words))  # noqa: SLF001

    def need(self, word: str, otherwise: str) -> None:
        if not self.take(word):
            self.fail(otherwise)

    def fail(self, message: str) -> NoReturn:
        """Refuse what stands here."""
        self.parser.raise_error(message)
        raise AssertionError(message)  # sqlglot raises

    def bound(self) -> Bound:
        """Return what stands here as a bound, up to PRECEDING."""
        if self.take("CURRENT"):
            if not self.take("EVENT"):
                self.need("ROW", _BOUNDS)
                return Bound(this=exp.var("ROW"))
            return Bound(this=exp.var("EVENT"))
        distance = exp.var("UNBOUNDED") if self.take("UNBOUNDED") else self.distance()
        self.need("PRECEDING", _BOUNDS)
        return Bound(this=distance, exclusive=self.take("EXCLUSIVE"))

    def distance(self) -> exp.Expr:
        """Return an interval or a number."""
        if not self.take("INTERVAL"):
            found: exp.Expr | None = self.parser._parse_number()  # noqa: SLF001
            return found or self.fail(_BOUNDS)
        amount = self.parser._parse_string() or self.parser._parse_number()  # noqa: SLF001
        if amount is None:
            self.fail("an interval needs a constant, INTERVAL '60' SECOND")
        word = self.parser._curr  # noqa: SLF001
        unit = None if word is None else word.text.upper().removesuffix("S")
        if unit not in INTERVAL_UNITS:
            return exp.Interval(this=amount)
        self.parser._advance()  # noqa: SLF001
        return exp.Interval(this=amount, unit=exp.var(unit))


def _read_frame(words: _Words, over: Over) -> None:
    if words.take("LAST"):
        over.set("unit", "LAST")
        over.set("begin", Bound(this=words.distance(), exclusive=True))
    else:
        units = (unit for unit in FrameUnit if words.take(*unit.split()))
        unit = next(units, None)
        if unit is not None:
            over.set("unit", str(unit))
            is_between = words.take("BETWEEN")
            over.set("begin", words.bound())
            if is_between:
                words.need("AND", "a frame is BETWEEN one bound AND another")
                over.set("end", words.bound())
    if words.take("EXCLUDE"):
        found = next((each for each in Exclusion if words.take(*each.split())), None)
        if found is None:
            words.fail(f"behind EXCLUDE stands one of {', '.join(Exclusion)}")
        over.set("exclude", str(found))
    if words.take("LEARNING"):
        over.set("learning", Bound(this=words.distance()))


def _any(condition: Node, keys: tuple[Node, ...], frame: Frame, place: Span) -> tree.Window:
    """Return the window that is TRUE if a frame has an event of a condition, else NULL."""
    operands = (tree.Literal(value=True),)
    return tree.Window(WindowFunction.MAX, operands, frame, keys, condition, span=place)


def _all_of(conditions: Sequence[Node]) -> Node:
    return conditions[0] if len(conditions) == 1 else tree.And(tuple(conditions))


@dataclass(frozen=True, slots=True)
class WindowReader:
    """Makes windows of the tree, given how the parser translates what is within them."""

    node: Callable[[exp.Expr], Node]
    again: Callable[[Node], Node]
    refused: Callable[[exp.Expr, str, str], ExpressionError]
    place: Callable[[exp.Expr], Span]

    def window(self, parsed: Over) -> Node:
        """Return the window, or what a short form of several stands for.

        Raises:
            ExpressionError: it is none, or its frame cannot be.
        """
        called, condition, ordered = parsed.this, None, None
        if isinstance(called, exp.Filter):
            called, condition = called.this, self.node(called.expression.this)
        if isinstance(called, exp.WithinGroup):
            called, ordered = called.this, called.expression
        name = called.name.upper() if isinstance(called, exp.Anonymous) else ""
        if name == FIRST_SEEN:
            return self._first_seen(parsed, called, condition)
        if parsed.args.get("learning"):
            raise self.refused(parsed, f"only {FIRST_SEEN} is LEARNING", "leave it out")
        if name == BECOMES_TRUE:
            return self._becomes_true(parsed, called, condition)
        function = _ALIASES.get(name) or _EXACT.get(name)
        if function is None and name in WindowFunction.__members__:
            function = WindowFunction(name)
        if function is None:
            hint = f"there are {', '.join(WINDOW_FUNCTIONS)}"
            raise self.refused(parsed, "this function has no OVER", hint)
        if order := parsed.args.get("order"):
            message = "a window has no ORDER BY: its events are in order of time"
            raise self.refused(order, message, "leave it out; order_by of the stream breaks ties")
        operands, is_distinct, share = self._operands(called, function, ordered)
        keys = tuple(self.node(key) for key in parsed.args.get("partition_by") or ())
        found = tree.Window(
            function,
            operands,
            self._frame(parsed),
            keys,
            condition,
            is_distinct or name == "APPROX_COUNT_DISTINCT",
            share,
            span=self.place(parsed),
        )
        return self._over_stream(parsed, found)

    def _over_stream(self, parsed: exp.Expr, found: tree.Window) -> tree.Window:
        if any(tree.aggregates_of(part) for part in tree.children(found)):
            message = "a window is over the events of the stream, not over those of a step"
            raise self.refused(parsed, message, "name columns of the event")
        return found

    def _becomes_true(self, parsed: Over, called: exp.Expr, candidates: Node | None) -> Node:
        """Return that a condition is true, and was not at the candidate before in its partition.

        With a condition that rearms, only candidates count for which one of the two is true; with
        LAST, that it was true at no candidate in that time.
        """
        hint = f"write {BECOMES_TRUE}(COUNT(*) OVER (...) >= 5) OVER (PARTITION BY user)"
        if not 1 <= len(called.expressions) <= 2:  # noqa: PLR2004 - with what rearms
            message = f"{BECOMES_TRUE} takes a condition, and perhaps one that rearms it"
            raise self.refused(called, message, hint)
        conditions = [tree.IsTruth(self.node(each), value=True) for each in called.expressions]
        is_true, unit = conditions[0], parsed.args.get("unit")
        keys = tuple(self.node(key) for key in parsed.args.get("partition_by") or ())
        frame, operand = _ONE_BEFORE, self.again(is_true)
        counted: list[Node] = [] if candidates is None else [candidates]
        if unit is None and len(conditions) == 2:  # noqa: PLR2004 - likewise
            counted.append(tree.Or((self.again(is_true), conditions[1])))
        elif unit == "LAST" and len(conditions) == 1 and not parsed.args.get("exclude"):
            frame = replace(self._frame(parsed), exclusion=Exclusion.CURRENT_ROW)
            counted.append(operand)
            operand = tree.Literal(value=True)
        elif unit is not None:
            message = f"{BECOMES_TRUE} is OVER a partition, or LAST a time and without what rearms"
            raise self.refused(parsed, message, hint)
        condition, place = _all_of(counted) if counted else None, self.place(parsed)
        before = tree.Window(WindowFunction.MAX, (operand,), frame, keys, condition, span=place)
        self._over_stream(parsed, before)
        return tree.And((is_true, tree.Not(tree.IsTruth(before, value=True))), place)

    def _first_seen(self, parsed: Over, called: exp.Expr, sightings: Node | None) -> Node:
        """Return that the values, none of them NULL, were not seen before in their partition.

        While it is learning, since the first sighting of a partition that has forgotten all, it is
        not true.
        """
        hint = f"write {FIRST_SEEN}(country) OVER (PARTITION BY user LAST INTERVAL '14' DAY)"
        if not called.expressions or any(
            isinstance(each, exp.Star | exp.Distinct) for each in called.expressions
        ):
            raise self.refused(called, f"{FIRST_SEEN} takes one value or more", hint)
        if parsed.args.get("unit") not in {None, "LAST"} or parsed.args.get("exclude"):
            raise self.refused(parsed, f"{FIRST_SEEN} looks back as far as LAST says", hint)
        frame = Frame(FrameUnit.RANGE, None, exclusion=Exclusion.CURRENT_ROW)
        if parsed.args.get("unit"):
            frame = replace(self._frame(parsed), exclusion=Exclusion.CURRENT_ROW)
        values = tuple(self.node(each) for each in called.expressions)
        keys = tuple(self.node(key) for key in parsed.args.get("partition_by") or ())
        known = tuple(tree.Not(tree.IsNull(self.again(value))) for value in values)
        counted = _all_of([*known, *([] if sightings is None else [sightings])])
        place = self.place(parsed)
        seen = _any(counted, (*keys, *map(self.again, values)), frame, place)
        self._over_stream(parsed, seen)
        parts = [*known, tree.Not(tree.IsTruth(seen, value=True))]
        if learning := parsed.args.get("learning"):
            learning_ms = self._distance(parsed, learning, FrameUnit.RANGE)
            if not learning_ms:
                raise self.refused(parsed, "LEARNING takes some time", hint)
            remembers = _any(self.again(counted), keys, frame, place)
            begins = tree.Not(tree.IsTruth(remembers, value=True))
            learns = Frame(FrameUnit.RANGE, learning_ms, is_begin_exclusive=True)
            began = _any(_all_of([self.again(counted), begins]), keys, learns, place)
            parts.append(tree.Not(tree.IsTruth(began, value=True)))
        return tree.And(tuple(parts), place)

    def crossing(self, parsed: exp.Expr) -> Node:
        """Return that a condition is true, and would not be if the event were in no window."""
        hint = f"write {CROSSES}(COUNT(*) OVER (PARTITION BY user LAST INTERVAL '60' SECOND) >= 5)"
        if len(parsed.expressions) != 1:
            raise self.refused(parsed, f"{CROSSES} takes one condition", hint)
        condition = self.node(parsed.expressions[0])
        if not tree.windows_of(condition):
            raise self.refused(parsed, f"{CROSSES} needs a condition with a window", hint)
        is_true = tree.IsTruth(condition, value=True)
        without = tree.IsTruth(without_event(self.again(condition)), value=True)
        return tree.And((is_true, tree.Not(without)), self.place(parsed))

    def _operands(
        self, called: exp.Expr, function: WindowFunction, ordered: exp.Expr | None
    ) -> tuple[tuple[Node, ...], bool, Decimal | None]:
        given, is_distinct = list(called.expressions), False
        if len(given) == 1 and isinstance(given[0], exp.Distinct):
            given, is_distinct = given[0].expressions, True
            if function is not WindowFunction.COUNT:
                raise self.refused(called, f"{function} takes no DISTINCT", "only COUNT does")
        if function in _SHARES:
            return self._of_percentile(called, function, given, ordered)
        if ordered is not None:
            raise self.refused(called, f"{function} has no WITHIN GROUP", "leave it out")
        if function is WindowFunction.COUNT and any(isinstance(each, exp.Star) for each in given):
            if len(given) > 1 or is_distinct:
                raise self.refused(called, "* stands alone in COUNT(*)", "name columns instead")
            return (), False, None
        if not given or (len(given) > 1 and function is not WindowFunction.COUNT):
            raise self.refused(called, f"{function} takes 1 argument, not {len(given)}", "")
        return tuple(map(self.node, given)), is_distinct, None

    def _of_percentile(
        self,
        called: exp.Expr,
        function: WindowFunction,
        given: list[exp.Expr],
        ordered: exp.Expr | None,
    ) -> tuple[tuple[Node, ...], bool, Decimal | None]:
        if called.name.upper() in _EXACT:
            hint = "write APPROX_PERCENTILE(amount, 0.95)"
        else:
            hint = f"write {function}(0.95) WITHIN GROUP (ORDER BY amount)"
            keys = [] if ordered is None else ordered.expressions
            given = [*(key.this for key in keys if not key.args.get("desc")), *given]
        if len(given) != 2:  # noqa: PLR2004 - what it is of, and the share
            raise self.refused(called, f"{function} needs a value and a share", hint)
        value, share = map(self.node, given)
        number = share.value if isinstance(share, tree.Literal) else None
        if not isinstance(number, int | Decimal | float) or not 0 <= number <= 1:
            raise self.refused(called, "the share of a percentile is a number from 0 to 1", hint)
        return (value,), False, Decimal(str(number))

    def _frame(self, parsed: Over) -> Frame:
        written = parsed.args.get("unit")
        if written is None:
            raise self.refused(parsed, "this window does not say how far it reaches", _FRAMES)
        exclusion = Exclusion(parsed.args.get("exclude") or Exclusion.NOTHING)
        unit = FrameUnit.RANGE if written == "LAST" else FrameUnit(written)
        begin = self._distance(parsed, parsed.args["begin"], unit)
        is_begin_exclusive = bool(parsed.args["begin"].args.get("exclusive"))
        if begin == 0 and is_begin_exclusive:
            raise self.refused(parsed, "no event is in this window", _FRAMES)
        if isinstance(parsed.args["begin"].this, exp.Var) and begin is not None:
            raise self.refused(parsed, "a window begins before the event", _FRAMES)
        end = parsed.args.get("end") or Bound(this=exp.var("ROW"))
        words = end.this.name if isinstance(end.this, exp.Var) else ""
        if words == "EVENT" and unit is not FrameUnit.RANGE:
            message = "CURRENT EVENT stands in a RANGE; the row is counted alone here anyway"
            raise self.refused(parsed, message, "write CURRENT ROW")
        if words == "UNBOUNDED":
            raise self.refused(parsed, "a window ends at the event, or before it", _FRAMES)
        distance = None if words else self._distance(parsed, end, unit)
        if distance is not None and begin is not None and distance > begin:
            raise self.refused(parsed, "this window ends before it begins", "exchange the bounds")
        if unit is FrameUnit.FILTERED_ROWS and (
            distance is not None or exclusion in {Exclusion.GROUP, Exclusion.TIES}
        ):
            message = "FILTERED ROWS end at CURRENT ROW, and take EXCLUDE CURRENT ROW at most"
            raise self.refused(parsed, message, "count ROWS, or a RANGE")
        return Frame(
            unit,
            begin,
            distance,
            is_begin_exclusive,
            bool(end.args.get("exclusive")),
            words == "ROW" and written == FrameUnit.RANGE,
            exclusion,
        )

    def _distance(self, parsed: Over, bound: Bound, unit: FrameUnit) -> int | None:
        """Return how far a bound is away: milliseconds or rows; `None` is without end."""
        if isinstance(bound.this, exp.Var):
            return None if bound.this.name == "UNBOUNDED" else 0
        found = self.node(bound.this)
        value = found.value if isinstance(found, tree.Literal) else None
        if unit is FrameUnit.RANGE:
            if not isinstance(value, timedelta) or value % _MILLISECOND or value < timedelta(0):
                hint = "write INTERVAL '60' SECOND"
                raise self.refused(parsed, "a RANGE is measured in whole milliseconds", hint)
            return value // _MILLISECOND
        if type(value) is not int or value < 0 or bound.args.get("exclusive"):
            raise self.refused(parsed, f"{unit} are counted: 5 PRECEDING", "")
        return value
