"""The graph of what a partial match can do next, in either language: data for DOT, SVG and JSON.

Built by `event_states` and `row_states`; the numbers of the nodes are their places in the tuple,
the start first.
"""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

MOST_STATES: Final = 200
"""A graph shows so many states and says that it is cut if there are more."""


class NodeKind(StrEnum):
    """What being in a state means."""

    START = "start"
    WAITING = "waiting"
    """For the next event or row."""
    PENDING = "pending"
    """A match as soon as its window closes."""
    STOP = "stop"
    """What must not come has come: the partial match is dropped."""
    FINAL = "final"
    """A match."""


class Action(StrEnum):
    """What an edge does with the event or row under test."""

    TAKE = "take"
    IGNORE = "ignore"
    """Leave the event out."""
    GO_ON = "go on"
    """Test the same event at the target."""
    COMPLETE = "complete"
    """The match ends here."""


@dataclass(frozen=True, slots=True)
class Node:
    """One state; `label` is short, and not unique."""

    kind: NodeKind
    label: str


@dataclass(frozen=True, slots=True)
class Edge:
    """One way on. Those of a node come in order of preferment, or in the order they are tested.

    `label` is the step or variable that takes the event, `condition` when it does ("" = always),
    `remark` what else is to be known: an anchor, an exclusion.
    """

    source: int
    target: int
    action: Action
    label: str
    condition: str = ""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class StateGraph:
    """A whole graph. `notes` are sentences on what holds for all of it.

    `is_cut`: there are more states than are shown.
    """

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    notes: tuple[str, ...]
    is_cut: bool = False

    def edges_from(self, node: int) -> tuple[Edge, ...]:
        """Return the edges of a node in their order."""
        return tuple(edge for edge in self.edges if edge.source == node)

    def document(self) -> dict[str, Any]:
        """Return the graph as nested data for JSON."""
        return asdict(self)


def cut_note() -> str:
    """Return the note of a graph that does not show everything."""
    return f"Only the first {MOST_STATES} states are shown; there are more."


def edge_label(edge: Edge) -> str:
    """Return an edge in words: "take login where action = 'login'"."""
    words = [edge.action.value]
    if edge.label and edge.action is Action.TAKE:
        words.append(edge.label)
    if edge.condition:
        words.append(f"where {edge.condition}")
    if edge.remark:
        words.append(f"({edge.remark})")
    return " ".join(words)
