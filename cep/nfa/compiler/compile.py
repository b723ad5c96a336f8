"""Compiles a pattern tree into a program.

A sequence is compiled from its last element to its first: each element gets the state that follows
it (its *sink*) and returns its own entry state. The states and their order of transitions are those
of Flink's `NFACompiler`, because that order decides which matches come out and which survive
skipping.

Source: Flink CEP `NFACompiler`; conformance notes 5 to 8, 11 to 13, 19 to 25.
"""

from dataclasses import dataclass, replace

from cep.nfa.compiler.automaton import Automaton
from cep.nfa.compiler.cursor import Cursor
from cep.nfa.compiler.guards import Guards, always, unless
from cep.nfa.program import Action, Both, Guard, Not, Program, SkipPlan, StateKind
from cep.pattern.tree import Condition, Contiguity, Element, Group, PatternTree, Step, WithinType


@dataclass(frozen=True, slots=True)
class CompiledPattern:
    """A program with the names and conditions of one pattern filled in."""

    program: Program
    step_names: tuple[str, ...]
    conditions: tuple[Condition, ...]


def compile_pattern(tree: PatternTree) -> CompiledPattern:
    """Return the program of a valid pattern (see `cep.pattern.validation.validate`)."""
    return _Compiler(tree).compile()


class _Compiler:
    def __init__(self, tree: PatternTree) -> None:
        self._tree = tree
        self._automaton = Automaton()
        self._guards = Guards(tree.elements)
        self._stops: dict[str, int] = {}
        self._ungreedy_copies: dict[int, int] = {}
        self._steps = {id(step): index for index, step in enumerate(tree.steps())}
        self._window_ms: int | None = None

    def compile(self) -> CompiledPattern:
        elements = self._tree.elements
        final = self._automaton.new_state("$end", -1, StateKind.FINAL)
        self._window_ms = elements[-1].window_ms(WithinType.FIRST_AND_LAST)
        start = self._sequence(Cursor(elements, 0, None, None, True, None), final)  # noqa: FBT003
        names = tuple(step.name for step in self._tree.steps())
        program = Program(
            states=self._automaton.freeze(),
            start=start,
            window_ms=self._window_ms or 0,
            skip=self._skip_plan(names),
            condition_count=len(self._guards.conditions),
        )
        return CompiledPattern(program, names, self._guards.conditions)

    def _skip_plan(self, names: tuple[str, ...]) -> SkipPlan:
        skip = self._tree.after_match_skip
        target = names.index(skip.step) if skip.step in names else None
        return SkipPlan(skip.kind, target, skip.throw_on_miss)

    # Sequences and elements

    def _sequence(self, first: Cursor, sink: int) -> int:
        """Compile the elements of a sequence from last to first; return the entry state."""
        for position in range(len(first.sequence) - 1, -1, -1):
            cursor = replace(first, position=position)
            match cursor.element.contiguity:
                case Contiguity.NOT_FOLLOWED_BY:
                    sink = self._not_followed_by(cursor, sink)
                case Contiguity.NOT_NEXT:
                    sink = self._not_next(cursor, sink)
                case _:
                    sink = self._element(cursor, sink)
            if position > 0:
                self._narrow_window(first.sequence[position - 1])
        return sink

    def _narrow_window(self, element: Element) -> None:
        window_ms = element.window_ms(WithinType.FIRST_AND_LAST)
        if window_ms is not None and (self._window_ms is None or window_ms < self._window_ms):
            self._window_ms = window_ms

    def _not_followed_by(self, cursor: Cursor, sink: int) -> int:
        """Only a trailing one has a state; others become stop transitions of their neighbours."""
        is_last = self._automaton[sink].kind is StateKind.FINAL
        step_window_ms = cursor.element.window_ms(WithinType.PREVIOUS_AND_CURRENT) or 0
        if not is_last or not (step_window_ms or self._window_ms):
            return sink
        pending = self._new_taking_state(cursor, StateKind.PENDING)
        forbidden = self._guards.take(cursor, cursor.element)
        draft = self._automaton[pending]
        draft.add(Action.PROCEED, self._stop_state(cursor, cursor.element), forbidden)
        draft.add(Action.IGNORE, pending, Not(forbidden))
        return pending

    def _not_next(self, cursor: Cursor, sink: int) -> int:
        state = self._new_taking_state(cursor, StateKind.NORMAL)
        forbidden = self._guards.take(cursor, cursor.element)
        # A trailing not_next matches with the event after it, so it must not proceed immediately.
        is_last = self._automaton[sink].kind is StateKind.FINAL
        action = Action.IGNORE if is_last else Action.PROCEED
        draft = self._automaton[state]
        draft.add(action, sink, Not(forbidden))
        draft.add(Action.PROCEED, self._stop_state(cursor, cursor.element), forbidden)
        return state

    def _element(self, cursor: Cursor, sink: int) -> int:
        element = cursor.element
        if element.times is None:
            entry = self._once(
                cursor,
                sink,
                sink,
                self._guards.take(cursor, element),
                self._guards.ignore(cursor, cursor.contiguity),
                optional=element.is_optional,
            )
        elif element.is_looping:
            # Once the loop has begun, the NOTs in front of an optional loop no longer count.
            loop = self._loop(cursor, self._without_earlier_nots(cursor, sink))
            entry = self._repetitions(cursor, loop, sink)
        else:
            entry = self._repetitions(cursor, sink, sink)
        self._add_stops(cursor, entry)
        return entry

    def _repetitions(self, cursor: Cursor, sink: int, proceed: int) -> int:
        """Chain the copies of a repeated element in front of `sink`; return the first copy."""
        element = cursor.element
        assert element.times is not None  # noqa: S101 - only repeated elements come here
        minimum = max(element.times.minimum, 1)
        maximum = element.times.maximum if element.times.maximum is not None else minimum
        until = self._guards.until(element)
        take = unless(until, self._guards.take(cursor, element))
        inner_ignore = unless(until, self._guards.ignore(cursor, cursor.inner_contiguity))
        if element.greedy and minimum != maximum:
            if until is not None:
                self._ungreedy_copies[sink] = self._automaton.copy(sink)
            self._automaton.forbid(sink, take)
        for copy in range(maximum - 1):
            is_surplus = copy < maximum - minimum
            sink = self._once(
                cursor,
                sink,
                proceed,
                take,
                inner_ignore,
                optional=is_surplus,
                first_repetition=False,
            )
            self._add_following_stop(cursor, sink)
        return self._once(
            cursor,
            sink,
            proceed,
            take,
            self._guards.ignore(cursor, cursor.contiguity),
            optional=element.is_optional,
        )

    def _once(  # noqa: PLR0913 - one edge each
        self,
        cursor: Cursor,
        sink: int,
        proceed: int,
        take: Guard,
        ignore: Guard | None,
        *,
        optional: bool,
        first_repetition: bool = True,
    ) -> int:
        """Compile one occurrence of an element; an optional one can also proceed past itself."""
        if isinstance(cursor.element, Group):
            entry = self._group(cursor, cursor.element, sink, first_repetition=first_repetition)
            if optional:
                self._automaton[entry].add(Action.PROCEED, proceed, always(cursor))
            return entry
        state = self._new_taking_state(cursor, StateKind.NORMAL)
        taken = self._without_earlier_nots(cursor, sink)
        draft = self._automaton[state]
        draft.add(Action.TAKE, taken, take)
        if optional:
            self._proceed_past(cursor, state, proceed)
        if ignore is not None:
            # A second state without the way past it: after an ignored event the way past was
            # already gone at the first one, and must not be gone again at each.
            waiting = state
            if optional or self._heads_optional_group(cursor):
                waiting = self._automaton.new_state(draft.name, draft.step, StateKind.NORMAL)
                self._automaton[waiting].add(Action.TAKE, taken, take)
                self._automaton[waiting].add(Action.IGNORE, waiting, ignore)
                self._add_stops(cursor, waiting)
            draft.add(Action.IGNORE, waiting, ignore)
        return state

    def _proceed_past(self, cursor: Cursor, state: int, proceed: int) -> None:
        element = cursor.element
        until = self._guards.until(element)
        onward = always(cursor)
        draft = self._automaton[state]
        if element.greedy and until is not None:
            unrestricted = self._ungreedy_copies.get(proceed, proceed)
            draft.add(Action.PROCEED, unrestricted, Both(onward, until))
            onward = Both(onward, Not(until))
        draft.add(Action.PROCEED, proceed, onward)

    def _heads_optional_group(self, cursor: Cursor) -> bool:
        return (
            cursor.is_head_of_group
            and cursor.first_repetition
            and cursor.group is not None
            and cursor.group.is_optional
        )

    def _group(
        self, cursor: Cursor, group: Group, sink: int, *, first_repetition: bool = True
    ) -> int:
        inner = Cursor(
            group.elements, 0, group, self._guards.until(group), first_repetition, cursor.following
        )
        return self._sequence(inner, sink)

    def _loop(self, cursor: Cursor, sink: int) -> int:
        """Compile the part of an unbounded loop that repeats without limit."""
        element = cursor.element
        if isinstance(element, Group):
            dummy = self._automaton.new_state("$group", -1, StateKind.NORMAL)
            self._limit_gap(dummy, element)
            entry = self._group(cursor, element, dummy, first_repetition=False)
            onward = always(cursor)
            self._automaton[entry].add(Action.PROCEED, sink, onward)
            self._automaton[dummy].add(Action.PROCEED, entry, onward)
            return entry
        until = self._guards.until(element)
        take = unless(until, self._guards.take(cursor, element))
        ignore = unless(until, self._guards.ignore(cursor, cursor.inner_contiguity))
        state = self._new_taking_state(cursor, StateKind.NORMAL)
        draft = self._automaton[state]
        onward = always(cursor)
        if element.greedy:
            if until is not None:
                self._ungreedy_copies[sink] = self._automaton.copy(sink)
                draft.add(Action.PROCEED, self._ungreedy_copies[sink], Both(onward, until))
                onward = Both(onward, Not(until))
            draft.add(Action.PROCEED, sink, onward)
            self._automaton.forbid(sink, self._guards.take(cursor, element))
        else:
            draft.add(Action.PROCEED, sink, onward)
        draft.add(Action.TAKE, state, take)
        self._add_following_stop(cursor, state)
        if ignore is not None:
            waiting = self._automaton.new_state(draft.name, draft.step, StateKind.NORMAL)
            self._automaton[waiting].add(Action.TAKE, state, take)
            self._automaton[waiting].add(Action.IGNORE, waiting, ignore)
            draft.add(Action.IGNORE, waiting, ignore)
            self._add_following_stop(cursor, waiting)
        return state

    # NOT conditions

    def _earlier_nots(self, cursor: Cursor) -> list[Step]:
        """The NOT steps that still count here: right in front, or through optional elements."""
        nots = []
        for element in reversed(cursor.sequence[: cursor.position]):
            if element.contiguity is Contiguity.NOT_FOLLOWED_BY and isinstance(element, Step):
                nots.append(element)
            elif not element.is_optional:
                break
        return nots

    def _add_stops(self, cursor: Cursor, state: int) -> None:
        for forbidden in self._earlier_nots(cursor):
            stop = self._stop_state(cursor, forbidden)
            self._automaton[state].add(Action.PROCEED, stop, self._guards.take(cursor, forbidden))

    def _add_following_stop(self, cursor: Cursor, state: int) -> None:
        """A NOT after a repeated element also watches the repetitions."""
        following = cursor.following
        if following is None or following.contiguity is not Contiguity.NOT_FOLLOWED_BY:
            return
        stop = self._stop_state(cursor, following)
        self._automaton[state].add(Action.PROCEED, stop, self._guards.take(cursor, following))

    def _stop_state(self, cursor: Cursor, forbidden: Element) -> int:
        assert isinstance(forbidden, Step)  # noqa: S101 - groups cannot be negative
        if forbidden.name not in self._stops:
            stop = self._automaton.new_state(
                forbidden.name, self._steps[id(forbidden)], StateKind.STOP
            )
            self._automaton[stop].add(Action.TAKE, stop, self._guards.take(cursor, forbidden))
            self._stops[forbidden.name] = stop
        return self._stops[forbidden.name]

    def _without_earlier_nots(self, cursor: Cursor, sink: int) -> int:
        """A copy of `sink` after a taken optional element: earlier NOTs no longer count."""
        nots = self._earlier_nots(cursor)
        if not nots or not cursor.element.is_optional:
            return sink
        stops = {self._stops[step.name] for step in nots if step.name in self._stops}
        return self._automaton.copy_without(sink, stops)

    # States

    def _new_taking_state(self, cursor: Cursor, kind: StateKind) -> int:
        element = cursor.element
        assert isinstance(element, Step)  # noqa: S101 - groups have no state of their own
        state = self._automaton.new_state(element.name, self._steps[id(element)], kind)
        self._limit_gap(state, element)
        return state

    def _limit_gap(self, state: int, element: Element) -> None:
        draft = self._automaton[state]
        if element.times is None:
            draft.previous_window_ms = element.window_ms(WithinType.PREVIOUS_AND_CURRENT)
        elif ":" in draft.name:  # as in Flink: not the state of this name that is built first
            draft.previous_window_ms = element.times_within_ms
