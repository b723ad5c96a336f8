"""The automaton under construction: transitions can still be added, copied and narrowed.

Built by `compiler`, which decides what states a pattern needs; `program` is the frozen result.
"""

from dataclasses import dataclass, field, replace
from itertools import count

from cep.nfa.program import Action, Both, Guard, Not, State, StateKind, Transition


@dataclass(slots=True)
class Draft:
    """A state under construction.

    `name` is unique and built as Flink builds it, because Flink makes windows depend on it.
    """

    name: str
    step: int
    kind: StateKind
    transitions: list[Transition] = field(default_factory=list)
    previous_window_ms: int | None = None

    def add(self, action: Action, target: int, guard: Guard) -> None:
        """Append a transition; transitions are tested in this order."""
        self.transitions.append(Transition(action, target, guard))


class Automaton:
    """The states so far; a state is known by its index."""

    def __init__(self) -> None:
        self._drafts: list[Draft] = []
        self._names: set[str] = set()

    def __getitem__(self, state: int) -> Draft:
        return self._drafts[state]

    def new_state(self, name: str, step: int, kind: StateKind) -> int:
        """Add a state without transitions and return its index."""
        unique = name
        numbers = count()
        while unique in self._names:
            unique = f"{name}:{next(numbers)}"
        self._names.add(unique)
        self._drafts.append(Draft(unique, step, kind))
        return len(self._drafts) - 1

    def copy(self, state: int) -> int:
        """Return a copy of a state; its transitions to itself lead to the copy."""
        copy = self._twin(state)
        self[copy].transitions = [
            replace(t, target=copy) if t.target == state else t for t in self[state].transitions
        ]
        return copy

    def copy_without(self, state: int, dropped: set[int]) -> int:
        """Copy a state and all it proceeds to, without the transitions to states in `dropped`."""
        return self._copy_without(state, dropped, {})

    def _copy_without(self, state: int, dropped: set[int], copies: dict[int, int]) -> int:
        if state in copies:
            return copies[state]
        copy = copies[state] = self._twin(state)
        for transition in self[state].transitions:
            target = transition.target
            if transition.action is Action.PROCEED:
                if target in dropped:
                    continue
                if self[target].kind is not StateKind.STOP:
                    target = self._copy_without(target, dropped, copies)
            elif target == state:
                target = copy
            self[copy].add(transition.action, target, transition.guard)
        return copy

    def _twin(self, state: int) -> int:
        original = self[state]
        return self.new_state(original.name, original.step, original.kind)

    def forbid(self, state: int, taken: Guard) -> None:
        """Narrow every transition of a state to events for which `taken` does not hold."""
        draft = self[state]
        draft.transitions = [
            replace(transition, guard=Both(transition.guard, Not(taken)))
            for transition in draft.transitions
        ]

    def freeze(self) -> tuple[State, ...]:
        """Return the finished states, in the order of their indices."""
        return tuple(
            State(draft.step, draft.kind, tuple(draft.transitions), draft.previous_window_ms)
            for draft in self._drafts
        )
