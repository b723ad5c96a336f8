"""State graph → a drawing in SVG that needs nothing else: in a browser, a page, a phone.

Its colours are custom properties, `--state-graph-ink` and others, with values for light and dark; a
page that embeds it can set them.
"""

import re
from typing import Final
from xml.sax.saxutils import escape

from cep.explain.layout import CARD_WIDTH, HEAD, MARGIN, Arrow, Card, laid_out
from cep.explain.state_graph import Action, NodeKind, StateGraph

_NOT_IN_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STYLE: Final = """
  .state-graph { max-width: 100%; height: auto; }
  .state-graph {
    --paper: var(--state-graph-paper, #ffffff); --ink: var(--state-graph-ink, #1c2330);
    --soft: var(--state-graph-soft, #5b6577); --card: var(--state-graph-card, #f4f6fa);
    --line: var(--state-graph-line, #8a94a6); --good: var(--state-graph-good, #1a7f4b);
    --bad: var(--state-graph-bad, #b3261e);
  }
  @media (prefers-color-scheme: dark) {
    .state-graph {
      --paper: var(--state-graph-paper, #14171d); --ink: var(--state-graph-ink, #e6e9ef);
      --soft: var(--state-graph-soft, #a3adbd); --card: var(--state-graph-card, #1e232c);
      --line: var(--state-graph-line, #6d7788); --good: var(--state-graph-good, #5fce97);
      --bad: var(--state-graph-bad, #ff8a80);
    }
  }
  .state-graph .paper { fill: var(--paper); }
  .state-graph text { fill: var(--ink); font: 12px ui-monospace, Menlo, Consolas, monospace; }
  .state-graph .title { font: 600 13px system-ui, sans-serif; }
  .state-graph .soft { fill: var(--soft); }
  .state-graph .note { fill: var(--soft); font: 12px system-ui, sans-serif; }
  .state-graph .card { fill: var(--card); stroke: var(--line); }
  .state-graph .start .card { stroke-dasharray: 5 3; }
  .state-graph .final .card { stroke: var(--good); stroke-width: 2; }
  .state-graph .stop .card { stroke: var(--bad); stroke-width: 2; }
  .state-graph .arrow { fill: none; stroke: var(--line); stroke-width: 1.4; }
  .state-graph .arrow.ignore { stroke-dasharray: 4 3; }
  .state-graph .arrow.go-on { stroke-dasharray: 1 3; }
  .state-graph .tip { fill: var(--line); }
"""


def svg(graph: StateGraph) -> str:
    """Return the graph as an SVG document; its text is escaped, its size is in pixels."""
    layout = laid_out(graph)
    width, height = round(layout.width), round(layout.height)
    label = f"{graph.title}: {len(graph.nodes)} states. {' '.join(graph.notes)}"
    parts = [
        _opening(width, height),
        f"<title>{escape(_clean(label))}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
        *(_arrow(arrow) for arrow in layout.arrows),
        *(_card(card) for card in layout.cards),
        *(_text(MARGIN, line.y, line.text, "note") for line in layout.notes),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _opening(width: int, height: int) -> str:
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" class="state-graph" role="img" '
        f'width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">'
    )


def _rectangle(card: Card) -> str:
    return (
        f'<rect class="card" x="{MARGIN}" y="{card.y}" width="{CARD_WIDTH}" '
        f'height="{card.height}" rx="8"/>'
    )


def _card(card: Card) -> str:
    mark = {NodeKind.FINAL: "✓ ", NodeKind.STOP: "✗ ", NodeKind.START: "▸ "}.get(card.kind, "")
    lines = [
        f'<g class="{card.kind.value}">',
        _rectangle(card),
        _text(MARGIN + 12, card.y + HEAD - 9, mark + card.title, "title"),
    ]
    for way in card.ways:
        style = "soft" if way.action is not Action.TAKE else "way"
        lines += [_text(MARGIN + 12, line.y, line.text, style) for line in way.lines]
    return "\n".join([*lines, "</g>"])


def _arrow(arrow: Arrow) -> str:
    edge = MARGIN + CARD_WIDTH
    style = arrow.action.value.replace(" ", "-")
    return (
        f'<path class="arrow {style}" d="M{edge},{arrow.from_y} H{arrow.x} V{arrow.to_y} '
        f'H{edge + 5}"/><path class="tip" d="M{edge},{arrow.to_y} l7,-4 v8 z"/>'
    )


def _text(x: float, y: float, text: str, style: str) -> str:
    return f'<text class="{style}" x="{x}" y="{y}">{escape(_clean(text))}</text>'


def _clean(text: str) -> str:
    """Return a text without the control characters that XML cannot hold."""
    return _NOT_IN_XML.sub("\ufffd", text)
