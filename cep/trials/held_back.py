"""Matches that are complete and wait for a partial match that began before; those then dropped.

    waiting matches of a key, after each event ──see──► dropped: complete, and never emitted

Only the first one of each start is reported, none of a start that has a match: the others are
the same match with other events.
"""

from collections.abc import Collection, Hashable, Iterable

from cep.nfa.runs import Cell, KeyRuns, accepted_events


class HeldBack:
    """Follows the matches that keys hold back."""

    def __init__(self) -> None:
        self._held: dict[Hashable, dict[int, Cell]] = {}
        # Cells are kept, so that their ids stay theirs.
        self._given_starts: dict[int, Cell] = {}
        self._dropped_starts: dict[int, Cell] = {}

    def give_out(self, cell: Cell) -> None:
        """Take note of a match that came out."""
        start = accepted_events(cell)[0]
        self._given_starts[id(start)] = start

    def see(self, key: Hashable, runs: KeyRuns | None, given: Collection[int]) -> Iterable[Cell]:
        """Return the matches of a key that are not held back any more and did not come out.

        `given` are the ids of the last events of matches that came out now.
        """
        now: dict[int, Cell] = {}
        if runs is not None:
            now = {id(cell): cell for _, queue in runs.waiting for _, cell in queue}
        before = self._held.pop(key, {})
        if now:
            self._held[key] = now
        for number, cell in before.items():
            start = accepted_events(cell)[0]
            if number in now or number in given or id(start) in self._dropped_starts:
                continue
            self._dropped_starts[id(start)] = start
            yield cell

    def has_given(self, cell: Cell) -> bool:
        """Return whether a match with the same first event came out."""
        return id(accepted_events(cell)[0]) in self._given_starts
