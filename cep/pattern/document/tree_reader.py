"""The models of a well-shaped document → the pattern tree; conditions are parsed on the way."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from cep.expression import ExpressionError
from cep.expression.parameters import MOST_WRITTEN_OUT, Parameter, constants_of, written_out
from cep.pattern.conditions import both, condition_of, either, expression_problem
from cep.pattern.document.schema import (
    AllOfDocument,
    AnyOfDocument,
    ConditionDocument,
    GroupDocument,
    PatternDocument,
    PythonDocument,
    StepDocument,
    SubtypeDocument,
    TimesRangeDocument,
    WindowDocument,
)
from cep.pattern.parameters import too_many_listed
from cep.pattern.problems import Problem
from cep.pattern.tree import (
    Condition,
    Group,
    PatternTree,
    SignedCondition,
    SkipStrategy,
    Step,
    Subtype,
    Times,
    Window,
    WithinType,
)


class TreeReader:
    """Builds the tree of a well-shaped document, collecting what is wrong with its values."""

    def __init__(self, parameters: tuple[Parameter, ...] = ()) -> None:
        self.problems: list[Problem] = []
        self._parameters = parameters
        self._constants = constants_of(parameters)
        self._listed = 0

    def tree(self, document: PatternDocument) -> PatternTree:
        """Return the tree; what is wrong is in `problems`, and left out of it."""
        elements = self._elements(document.steps, "steps")
        last = elements[-1]
        windows = (*last.within, *self._windows(document, ""))
        elements = (*elements[:-1], replace(last, within=_in_order(windows)))
        skip = document.after_match_skip
        strategy = SkipStrategy(skip.strategy, skip.step, skip.throw_on_miss) if skip else None
        return PatternTree(
            elements=elements,
            after_match_skip=strategy or SkipStrategy(),
            flink_quirks=document.flink_quirks,
            parameters=self._parameters,
        )

    def _elements(
        self, documents: Iterable[StepDocument | GroupDocument], path: str
    ) -> tuple[Step | Group, ...]:
        return tuple(
            self._element(document, f"{path}[{index}]") for index, document in enumerate(documents)
        )

    def _element(self, document: StepDocument | GroupDocument, path: str) -> Step | Group:
        element: Step | Group
        if isinstance(document, GroupDocument):
            element = Group(elements=self._elements(document.group.steps, f"{path}.group.steps"))
        else:
            element = Step(
                name=document.name,
                where=self._condition(document.where, f"{path}.where"),
                subtype=_subtype(document.subtype),
            )
        return replace(
            element,
            contiguity=document.contiguity,
            times=_times(document.times),
            times_within_ms=self._either(
                _join(path, "times_within"), document.times_within, document.times_within_ms
            ),
            inner=document.inner,
            greedy=document.greedy,
            optional=document.optional,
            until=self._condition(document.until, f"{path}.until"),
            within=_in_order(self._windows(document, path)),
        )

    def _windows(self, document: WindowDocument, path: str) -> Iterator[Window]:
        duration_ms = self._either(_join(path, "within"), document.within, document.within_ms)
        if duration_ms is not None:
            yield Window(duration_ms, document.within_type or WithinType.FIRST_AND_LAST)
        elif document.within_type is not None:
            message = "a type of window without a window."
            self.problems.append(Problem(_join(path, "within_type"), message, "Add within."))
        if isinstance(document, StepDocument | GroupDocument) and (
            document.within_previous is not None
        ):
            yield Window(document.within_previous, WithinType.PREVIOUS_AND_CURRENT)

    def _either(self, path: str, with_unit_ms: int | None, in_ms: int | None) -> int | None:
        """Return the duration that was given with a unit or in milliseconds."""
        if with_unit_ms is not None and in_ms is not None:
            self.problems.append(Problem(path, "given with and without unit.", "Keep one."))
        return in_ms if with_unit_ms is None else with_unit_ms

    def _condition(self, document: ConditionDocument | None, path: str) -> Condition | None:
        match document:
            case None:
                return None
            case PythonDocument(python=code):
                return SignedCondition(code)
            case AllOfDocument(all_of=parts):
                return self._joined(both, parts, f"{path}.all_of")
            case AnyOfDocument(any_of=parts):
                return self._joined(either, parts, f"{path}.any_of")
            case str():
                return self._sql_condition(document, path)

    def _sql_condition(self, sql: str, path: str) -> Condition | None:
        self._listed += written_out(sql, self._constants)
        if self._listed > MOST_WRITTEN_OUT:
            self.problems.append(too_many_listed(path, self._listed))
            return None
        try:
            return condition_of(sql, self._constants)
        except ExpressionError as error:
            self.problems.append(expression_problem(error, path))
            return None

    def _joined(
        self,
        join: Callable[[Condition | None, Condition], Condition],
        documents: Iterable[ConditionDocument],
        path: str,
    ) -> Condition | None:
        """Return conditions joined one after the other, as the builder joins them."""
        joined: Condition | None = None
        for index, document in enumerate(documents):
            condition = self._condition(document, f"{path}[{index}]")
            joined = joined if condition is None else join(joined, condition)
        return joined


def _times(times: int | TimesRangeDocument | None) -> Times | None:
    match times:
        case None:
            return None
        case int():
            return Times(times, times)
        case TimesRangeDocument():
            return Times(times.minimum, times.maximum)


def _subtype(subtype: str | SubtypeDocument | None) -> Subtype | None:
    match subtype:
        case None:
            return None
        case str():
            return Subtype(subtype)
        case SubtypeDocument():
            return Subtype(subtype.name, subtype.field)


def _in_order(windows: Iterable[Window]) -> tuple[Window, ...]:
    return tuple(sorted(windows, key=lambda window: window.type))


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
