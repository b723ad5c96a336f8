"""The part of the pattern language that MATCH_RECOGNIZE has too: sequences that go one way.

    PatternTree ──► Sequence: parts, of which at most one is open ──to_sql──► Clause

A pattern follows every way to a match; MATCH_RECOGNIZE keeps, for each first row, the preferred
one. They agree where there is one way only. A part that can take more or fewer events is *closed*
if what may come after it never fits an event that it could take as well: then events decide where
it ends. One part may be *open* if what comes after it has a fixed length: then matches of one
start differ in their ends only, a skip strategy keeps the one that ends first, and so does a
reluctant quantifier.
"""

from dataclasses import dataclass, replace
from typing import Final, NoReturn

from cep.expression import Expression, ExpressionError, Node
from cep.expression.disjoint import are_disjoint
from cep.expression.tree import Aggregate, Field, walk
from cep.nfa.compiler.compile import compile_pattern
from cep.pattern.tree import (
    Condition,
    Contiguity,
    Group,
    InnerContiguity,
    PatternTree,
    SkipKind,
    SkipStrategy,
    Step,
    Times,
    WithinType,
)
from cep.pattern.validation.validate import problems
from cep.translation.refusals import NotExact

_TO_STEP: Final = {SkipKind.SKIP_TO_FIRST, SkipKind.SKIP_TO_LAST}


@dataclass(frozen=True, slots=True)
class Gap:
    """Events that are skipped; `condition` says which, `None` = every one.

    Where they may be some that the step after them could take, too, `takes_any` is true.
    """

    condition: Expression | None
    takes_any: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One step as it runs: its condition with all that restricts it, `None` = every event.

    `gap` stands in front of its first event, `between` in front of every other one. Its number of
    events is `minimum` to `maximum` (`None` = without end), or none if it `is_optional`.
    """

    name: str
    condition: Expression | None
    gap: Gap | None = None
    between: Gap | None = None
    minimum: int = 1
    maximum: int | None = 1
    is_optional: bool = False

    @property
    def has_fixed_length(self) -> bool:
        """Whether it always takes the same number of events, one directly behind the other."""
        is_tight = self.gap is None and (self.between is None or self.maximum == 1)
        return is_tight and not self.is_variable

    @property
    def is_variable(self) -> bool:
        """Whether it can take more or fewer events."""
        return self.is_optional or self.minimum != self.maximum


@dataclass(frozen=True, slots=True)
class Sequence:
    """A pattern that goes one way. `open_part` is the place of its open part, if it has one.

    `window_ms` limits the time from the first event on, exclusive; `None` = no limit.
    """

    parts: tuple[Part, ...]
    open_part: int | None
    window_ms: int | None
    skip: SkipStrategy


def sequence_of(tree: PatternTree) -> Sequence:
    """Return a pattern as a sequence that goes one way.

    Raises:
        NotExact: it has several ways to a match, or something MATCH_RECOGNIZE does not have.
    """
    _refuse_what_is_not_there(tree)
    parts = _Reading(tree).parts()
    open_part = _open_part(parts)
    _check_skip(tree.after_match_skip, parts, open_part)
    window_ms = compile_pattern(tree).program.window_ms or None
    return Sequence(parts, open_part, window_ms, tree.after_match_skip)


def _refuse_what_is_not_there(tree: PatternTree) -> None:
    if problems(replace(tree, flink_quirks=False)):
        raise NotExact("the pattern needs flink_quirks: it does not run as it reads")
    for element in tree.elements:
        if isinstance(element, Group):
            raise NotExact("a group of steps is translated only where it is written without it")
        if element.times_within_ms is not None:
            raise NotExact(f"{element.name} has a window between its repetitions; SQL has none")
        if element.window_ms(WithinType.PREVIOUS_AND_CURRENT):
            message = f"{element.name} has a window since the event before; WITHIN of SQL counts"
            raise NotExact(f"{message} from the first row of the match")


class _Reading:
    """Reads the steps of a pattern one by one, with the NOT steps in front of each."""

    def __init__(self, tree: PatternTree) -> None:
        self._steps = tuple(element for element in tree.elements if isinstance(element, Step))

    def parts(self) -> tuple[Part, ...]:
        parts: list[Part] = []
        nots: list[Step] = []
        for step in self._steps:
            if step.is_negative:
                if parts and (parts[-1].is_variable or parts[-1].maximum != 1):
                    raise NotExact(f"{step.name} watches the repetitions in front of it, too")
                nots.append(step)
                continue
            part = self._part(step, parts[-1] if parts else None, nots)
            if self._is_greedily_followed(step, nots):
                part = _without(part, self._greedy_in_front(step))
            parts.append(part)
            nots = []
        if nots:
            message = f"a match ends with the absence of {nots[0].name}"
            raise NotExact(f"{message}; a row pattern ends with a row")
        return tuple(parts)

    def _part(self, step: Step, before: Part | None, nots: list[Step]) -> Part:
        where = _condition(step)
        gap = self._gap(step, where, before)
        taken, passed = where, []
        for forbidden in nots:
            if step.times is not None or step.optional:
                raise NotExact(f"{forbidden.name} stands in front of a step that can repeat")
            if gap is not None and forbidden.contiguity is Contiguity.NOT_NEXT:
                reason = f"{forbidden.name} must not come directly, {step.name} may come later"
                raise NotExact(f"{reason}; SQL has no row that is looked at and not taken")
            denied = _denial(_condition(forbidden))
            passed.append(denied)
            if self._also_stops(forbidden, step):
                taken = _taken_without(taken, _condition(forbidden))
        if gap is not None:
            gap = replace(gap, condition=_all([gap.condition, *passed]))
        times = step.times or Times(1, 1)
        until = None if step.until is None else _denial(_expression(step.until, step.name))
        between = None
        if step.inner is InnerContiguity.ALLOW_COMBINATIONS:
            reason = f"{step.name} keeps every combination of its events; SQL keeps one match"
            raise NotExact(reason, "Use relaxed or consecutive repetitions.")
        if step.inner is InnerContiguity.RELAXED and times.maximum != 1 and where is not None:
            between = Gap(_joined(_denial(where), until))
        return Part(
            name=step.name,
            condition=_joined(taken, until),
            gap=gap,
            between=between,
            minimum=max(times.minimum, 1),
            maximum=times.maximum,
            is_optional=step.is_optional,
        )

    def _also_stops(self, forbidden: Step, step: Step) -> bool:
        """Return whether an event of `step` that is a forbidden one as well ends the match.

        It does, but for a last step behind `not_followed_by`: the match is complete by then.
        """
        if forbidden.contiguity is Contiguity.NOT_NEXT:
            return True
        behind = self._steps[self._steps.index(step) + 1 :]
        if behind and all(other.is_optional or other.is_negative for other in behind):
            reason = f"behind {forbidden.name} and {step.name} all other steps may be absent"
            raise NotExact(f"{reason}, and then {forbidden.name} decides which of them come")
        return bool(behind)

    @staticmethod
    def _gap(step: Step, where: Expression | None, before: Part | None) -> Gap | None:
        if step.contiguity in {None, Contiguity.NEXT}:
            return None
        if step.is_optional or (before is not None and before.is_optional):
            reason = f"{step.name} follows with events in between, and it or the step in front"
            raise NotExact(f"{reason} may be absent, so there are several ways to pass over them")
        if step.contiguity is Contiguity.FOLLOWED_BY_ANY:
            return Gap(None, takes_any=True)
        return None if where is None else Gap(_denial(where))

    def _greedy_in_front(self, step: Step) -> Step | None:
        place = self._steps.index(step)
        before = self._steps[place - 1] if place else None
        if before is None or not before.greedy or before.times is None:
            return None
        return before if before.times.minimum != before.times.maximum else None

    def _is_greedily_followed(self, step: Step, nots: list[Step]) -> bool:
        greedy = self._greedy_in_front(step)
        if greedy is None:
            return False
        if nots or step.times is not None or step.optional or greedy.until is not None:
            reason = f"{greedy.name} is greedy, and what is behind it is more than one plain step"
            raise NotExact(reason)
        return True


def _without(part: Part, greedy: Step | None) -> Part:
    """Return a part after a greedy one, which leaves it no event that it could take itself."""
    condition = None if greedy is None else _condition(greedy)
    denied = _denial(condition)
    gap = part.gap
    if gap is not None:
        gap = replace(gap, condition=_joined(gap.condition, denied))
    return replace(part, condition=_taken_without(part.condition, condition), gap=gap)


# Conditions


def _condition(step: Step) -> Expression | None:
    """Return the condition of a step in SQL, its subtype included."""
    where = None if step.where is None else _expression(step.where, step.name)
    if step.subtype is None:
        return where
    if step.subtype.python_type is not None:
        raise NotExact(f"{step.name} asks for a Python type")
    name = step.subtype.name.replace("\\", "\\\\").replace("'", "''")
    of_type = Expression.parse(f"`{step.subtype.field}` = '{name}'")
    return _joined(of_type, where)


def _expression(condition: Condition, step: str) -> Expression:
    if not isinstance(condition, Expression):
        raise NotExact(f"the condition of {step} is Python code")
    for node in walk(condition.root):
        is_own_field = isinstance(node, Field) and len(node.path) > 1 and node.path[0] == step
        if is_own_field or (isinstance(node, Aggregate) and node.step == step):
            reason = f"the condition of {step} looks at earlier events of {step} itself"
            raise NotExact(f"{reason}; in SQL the row under test is one of them, here it is not")
    return condition


def _denial(condition: Expression | None) -> Expression:
    """Return the condition that is true where this one is false or unknown."""
    if condition is None:
        return Expression.parse("FALSE")
    return _parsed(f"({condition.text}) IS NOT TRUE", condition)


def _taken_without(taken: Expression | None, excluded: Expression | None) -> Expression | None:
    """Return a condition that is not true where another one is."""
    if are_disjoint(root_of(taken), root_of(excluded)):
        return taken
    return _joined(taken, _denial(excluded))


def _joined(first: Expression | None, second: Expression | None) -> Expression | None:
    return _all([first, second])


def _all(conditions: list[Expression | None]) -> Expression | None:
    present = [condition for condition in conditions if condition is not None]
    if not present:
        return None
    try:
        return Expression.all_of(present)
    except ExpressionError as error:
        raise NotExact(f"a condition becomes too large: {error.message}") from None


def _parsed(text: str, made_of: Expression) -> Expression:
    try:
        return Expression.parse(text, dict(made_of.parameters))
    except ExpressionError as error:
        raise NotExact(f"a condition becomes too large: {error.message}") from None


def root_of(condition: Expression | None) -> Node | None:
    """Return the tree of a condition."""
    return None if condition is None else condition.root


# Ways


def _open_part(parts: tuple[Part, ...]) -> int | None:
    """Return the one part that is open."""
    if all(part.is_optional for part in parts):
        raise NotExact("every step may be absent; a row pattern would match nothing as well")
    found = None
    for place, part in enumerate(parts):
        if not _is_open(parts, place):
            continue
        if found is not None:
            _refuse_several_ways(parts[found], part)
        if not _is_decided_behind(parts, place):
            _refuse_several_ways(part, parts[min(place + 1, len(parts) - 1)])
        found = place
    return found


def _is_open(parts: tuple[Part, ...], place: int) -> bool:
    part = parts[place]
    if part.gap is not None and part.gap.takes_any:
        return True
    if not part.is_variable:
        return False
    takes: list[Expression | None] = [part.condition]
    if part.between is not None and part.maximum != 1:
        takes.append(part.between.condition)
    behind: list[Expression | None] = []
    for follower in parts[place + 1 :]:
        gap = () if follower.gap is None else (follower.gap.condition,)
        behind += [follower.condition, *gap]
        if not follower.is_optional:
            return not all(
                are_disjoint(root_of(taken), root_of(other)) for taken in takes for other in behind
            )
    return True  # the match may end here, or go on


def _is_decided_behind(parts: tuple[Part, ...], place: int) -> bool:
    """Return whether the last event of a match decides what each part behind an open one took."""
    part, behind = parts[place], parts[place + 1 :]
    is_any = part.gap is not None and part.gap.takes_any
    if is_any and not replace(part, gap=None).has_fixed_length:
        return False
    if not behind:
        return True
    first, *others = behind
    own = root_of(part.condition)
    is_fixed = first.has_fixed_length
    if first.gap is not None and not is_any:
        # After a greedy loop: what is skipped, and what ends it, are not its own events.
        is_fixed = (
            replace(first, gap=None).has_fixed_length
            and first.minimum == 1
            and are_disjoint(own, root_of(first.gap.condition))
            and are_disjoint(own, root_of(first.condition))
        )
    return is_fixed and all(other.has_fixed_length for other in others)


def _refuse_several_ways(part: Part, behind: Part) -> NoReturn:
    if part.gap is not None and part.gap.takes_any:
        reason = (
            f"{part.name} is followed_by_any, which keeps every way to match; "
            "SQL keeps the preferred one"
        )
        raise NotExact(reason, "followed_by takes the first event that fits.")
    reason = (
        f"an event can be one of {part.name}, or leave it for {behind.name}: "
        "the pattern keeps every way to match, SQL keeps the preferred one"
    )
    hint = f"Make the conditions exclude each other, or make {part.name} greedy."
    raise NotExact(reason, hint)


# What happens after a match


def _check_skip(skip: SkipStrategy, parts: tuple[Part, ...], open_part: int | None) -> None:
    if skip.kind is SkipKind.NO_SKIP and open_part is not None:
        part = parts[open_part]
        reason = (
            f"with no_skip every match is found, with each number of events that {part.name} can "
            "take or pass over; SQL finds one match for a first row"
        )
        raise NotExact(reason, "Use a skip strategy, such as skip_past_last_event.")
    if skip.kind in _TO_STEP and not is_sure_target(parts, skip):
        reason = f"{skip.step} can be absent, or the first event of a match"
        raise NotExact(f"{reason}; SQL fails then, where the pattern skips nothing")


def is_sure_target(parts: tuple[Part, ...], skip: SkipStrategy) -> bool:
    """Return whether every match has an event to skip to that is not its first one."""
    is_behind = False
    for part in parts:
        if part.name == skip.step:
            is_later = part.minimum > 1 and skip.kind is SkipKind.SKIP_TO_LAST
            return not part.is_optional and (is_behind or is_later)
        is_behind |= not part.is_optional
    return False
