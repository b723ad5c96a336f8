"""Where the parts of a state graph stand: pure arithmetic, in pixels.

    StateGraph ──► Layout ──svg──► drawing

Every state is a card, one below the other, and its ways on are lines of text in the card. From each
line an arrow runs down or up a lane beside the cards to the card it leads to; all arrows to one
card share a lane. So nothing overlaps whatever the graph, and the drawing is narrow enough for a
phone.
"""

from dataclasses import dataclass
from typing import Final

from cep.explain.state_graph import Action, Edge, Node, NodeKind, StateGraph, edge_label

CARD_WIDTH: Final = 292
CHARACTERS: Final = 37
"""How many characters of the text fit into a line of a card."""
LINE: Final = 17
MARGIN: Final = 10
HEAD: Final = 30
_GAP: Final = 16
_LANE: Final = 9
_PADDING: Final = 9
_MOST_LINES: Final = 6


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of text; `y` is its base line."""

    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Way:
    """One way on, as lines of text in its card."""

    action: Action
    lines: tuple[TextLine, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """A state; `y` is its upper edge, all cards stand at `MARGIN` from the left."""

    kind: NodeKind
    title: str
    y: float
    height: float
    ways: tuple[Way, ...]


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow from a line (`from_y`) over a lane at `x` into a card (`to_y`)."""

    action: Action
    from_y: float
    to_y: float
    x: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The whole drawing; `notes` stand below the cards."""

    width: float
    height: float
    cards: tuple[Card, ...]
    arrows: tuple[Arrow, ...]
    notes: tuple[TextLine, ...]


def laid_out(graph: StateGraph) -> Layout:
    """Return where everything of a graph stands."""
    cards: list[Card] = []
    y = float(MARGIN)
    for number, node in enumerate(graph.nodes):
        cards.append(_card(node, number, graph.edges_from(number), y))
        y = cards[-1].y + cards[-1].height + _GAP
    notes: list[TextLine] = []
    y += 4
    for note in graph.notes:
        for text in wrapped(note, CHARACTERS + 4, _MOST_LINES):
            notes.append(TextLine(y, text))
            y += LINE
        y += 4
    arrows = _arrows(graph, cards)
    right = max((arrow.x for arrow in arrows), default=MARGIN + CARD_WIDTH)
    return Layout(right + MARGIN, y, tuple(cards), arrows, tuple(notes))


def _card(node: Node, number: int, edges: tuple[Edge, ...], top: float) -> Card:
    ways = []
    y = top + HEAD + 4
    for place, edge in enumerate(edges, start=1):
        rank = f"{place}. " if len(edges) > 1 else ""
        again = " ↺" if edge.target == number else ""
        lines = []
        for text in wrapped(f"{rank}{edge_label(edge)}{again}", CHARACTERS, _MOST_LINES):
            lines.append(TextLine(y + LINE - 5, text))
            y += LINE
        y += 3
        ways.append(Way(edge.action, tuple(lines)))
    height = y - top + _PADDING if edges else HEAD + 4
    (title, *_) = wrapped(node.label or node.kind.value, CHARACTERS - 2, 1)
    return Card(node.kind, title, top, height, tuple(ways))


def _arrows(graph: StateGraph, cards: list[Card]) -> tuple[Arrow, ...]:
    """Return the arrows, those to one card in one lane, the shortest nearest to the cards."""
    into: dict[int, list[tuple[Action, float]]] = {}
    for source, card in enumerate(cards):
        for edge, way in zip(graph.edges_from(source), card.ways, strict=True):
            if edge.target != source:
                into.setdefault(edge.target, []).append((edge.action, way.lines[0].y - 4))
    spans = {
        target: (
            min(cards[target].y + HEAD / 2, *(y for _, y in sources)),
            max(cards[target].y + HEAD / 2, *(y for _, y in sources)),
        )
        for target, sources in into.items()
    }
    lanes: list[list[tuple[float, float]]] = []
    arrows = []
    for target, (top, bottom) in sorted(spans.items(), key=lambda item: item[1][1] - item[1][0]):
        lane = _free_lane(lanes, top, bottom)
        x = MARGIN + CARD_WIDTH + (lane + 1.5) * _LANE
        to_y = cards[target].y + HEAD / 2
        arrows += [Arrow(action, from_y, to_y, x) for action, from_y in into[target]]
    return tuple(arrows)


def _free_lane(lanes: list[list[tuple[float, float]]], top: float, bottom: float) -> int:
    for number, taken in enumerate(lanes):
        if all(bottom < begin or end < top for begin, end in taken):
            taken.append((top, bottom))
            return number
    lanes.append([(top, bottom)])
    return len(lanes) - 1


def wrapped(text: str, width: int, most: int) -> list[str]:
    """Break a text into at most so many lines; what does not fit ends in "…"."""
    lines = [""]
    for word in text.split():
        pieces = [word[start : start + width] for start in range(0, len(word), width)]
        for piece in pieces:
            longer = f"{lines[-1]} {piece}".strip()
            if len(longer) <= width:
                lines[-1] = longer
            else:
                lines.append(piece)
    if len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1][: width - 1]}…"]
    return lines
