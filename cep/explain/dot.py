"""State graph → text in DOT, the language of Graphviz."""

from typing import Final

from cep.explain.state_graph import Action, Edge, Node, NodeKind, StateGraph, edge_label

_SHAPES: Final = {
    NodeKind.START: "circle",
    NodeKind.WAITING: "ellipse",
    NodeKind.PENDING: "ellipse",
    NodeKind.STOP: "octagon",
    NodeKind.FINAL: "doublecircle",
}
_STYLES: Final = {Action.IGNORE: "dashed", Action.GO_ON: "dotted"}


def dot(graph: StateGraph) -> str:
    """Return the graph as a `digraph`, drawn from left to right."""
    lines = [
        "digraph pattern {",
        "  rankdir=LR;",
        f"  label={quoted(' '.join(graph.notes))};",
        '  node [fontname="sans-serif"];',
        '  edge [fontname="sans-serif"];',
    ]
    lines += [f"  n{number} [{_node(node)}];" for number, node in enumerate(graph.nodes)]
    for source in range(len(graph.nodes)):
        edges = graph.edges_from(source)
        lines += [_edge(edge, place, len(edges)) for place, edge in enumerate(edges, start=1)]
    return "\n".join([*lines, "}"])


def _node(node: Node) -> str:
    return f"label={quoted(node.label or node.kind.value)}, shape={_SHAPES[node.kind]}"


def _edge(edge: Edge, place: int, among: int) -> str:
    number = f"{place}. " if among > 1 else ""
    style = f", style={_STYLES[edge.action]}" if edge.action in _STYLES else ""
    return f"  n{edge.source} -> n{edge.target} [label={quoted(number + edge_label(edge))}{style}];"


def quoted(text: str) -> str:
    r"""Return a text as DOT takes it, a line break as `\n`."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
