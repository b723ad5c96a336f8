"""Every element of a pattern tree with its place, for the rules of `validation`."""

from collections.abc import Iterator
from dataclasses import dataclass

from cep.pattern.tree import Group, PatternTree, Step


@dataclass(frozen=True, slots=True)
class Place:
    """One element: its path in the document, the sequence it is in and the groups around it.

    `groups` runs from the outermost group to the innermost.
    """

    path: str
    sequence: tuple[Step | Group, ...]
    index: int
    groups: tuple["Place", ...] = ()

    @property
    def element(self) -> Step | Group:
        """The element itself."""
        return self.sequence[self.index]

    @property
    def in_front(self) -> tuple[Step | Group, ...]:
        """The elements before it in the same sequence, in order."""
        return self.sequence[: self.index]

    @property
    def previous(self) -> Step | Group | None:
        """The element directly before it in the same sequence."""
        return self.sequence[self.index - 1] if self.index else None

    @property
    def is_last(self) -> bool:
        """Whether it ends its sequence."""
        return self.index == len(self.sequence) - 1

    @property
    def is_first_of_pattern(self) -> bool:
        """Whether nothing ever comes before it, not even another repetition of a group."""
        return all(place.index == 0 for place in (self, *self.groups)) and all(
            group.element.times is None for group in self.groups
        )


def places(tree: PatternTree) -> Iterator[Place]:
    """Yield every element of a tree, a group before what is in it."""
    return _places(tree.elements, "steps", ())


def _places(
    elements: tuple[Step | Group, ...], path: str, groups: tuple[Place, ...]
) -> Iterator[Place]:
    for index, element in enumerate(elements):
        place = Place(f"{path}[{index}]", elements, index, groups)
        yield place
        if isinstance(element, Group):
            yield from _places(element.elements, f"{place.path}.group.steps", (*groups, place))
