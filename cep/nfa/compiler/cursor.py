"""The position of the compiler in a pattern: element, sequence and group.

Source: conformance notes 24 and 25 for how a group governs its first element.
"""

from dataclasses import dataclass

from cep.nfa.program import Guard
from cep.pattern.tree import Contiguity, Element, Group, InnerContiguity, Step


@dataclass(frozen=True, slots=True)
class Cursor:
    """An element of a sequence, and the group around the sequence.

    `group_until` is the until condition of that group; `first_repetition` says whether its first
    repetition is being compiled; `after_sequence` is what follows the group.
    """

    sequence: tuple[Step | Group, ...]
    position: int
    group: Group | None
    group_until: Guard | None
    first_repetition: bool
    after_sequence: Element | None

    @property
    def element(self) -> Step | Group:
        """The element being compiled."""
        return self.sequence[self.position]

    @property
    def following(self) -> Element | None:
        """The next element; for the last one of a group, the element after the group."""
        if self.position + 1 < len(self.sequence):
            return self.sequence[self.position + 1]
        return self.after_sequence

    @property
    def is_head_of_group(self) -> bool:
        """Whether it is the first element of a group."""
        return self.group is not None and self.position == 0

    @property
    def contiguity(self) -> Contiguity:
        """How the element follows the one before; for the first of a group, that of the group."""
        if self.is_head_of_group:
            assert self.group is not None  # noqa: S101 - what is_head_of_group says
            if not self.first_repetition:
                return _AS_CONTIGUITY[self.group.inner]
            return self.group.contiguity or Contiguity.NEXT
        return self.element.contiguity or Contiguity.NEXT

    @property
    def inner_contiguity(self) -> Contiguity:
        """How repetitions of the element follow each other."""
        owner = self.group if self.is_head_of_group and self.group else self.element
        return _AS_CONTIGUITY[owner.inner]


_AS_CONTIGUITY = {
    InnerContiguity.CONSECUTIVE: Contiguity.NEXT,
    InnerContiguity.RELAXED: Contiguity.FOLLOWED_BY,
    InnerContiguity.ALLOW_COMBINATIONS: Contiguity.FOLLOWED_BY_ANY,
}
