"""The state graph shows what really runs; as DOT and SVG it is well formed whatever is in it."""

import shutil
import subprocess
from itertools import pairwise
from typing import Final
from xml.etree import ElementTree as ET

import pytest

from cep.explain.dot import dot
from cep.explain.event_states import event_states
from cep.explain.layout import CARD_WIDTH, CHARACTERS, MARGIN, laid_out, wrapped
from cep.explain.row_states import row_states
from cep.explain.state_graph import MOST_STATES, Action, NodeKind, StateGraph
from cep.explain.svg import svg
from cep.pattern import AfterMatchSkip, Pattern
from cep.row_pattern.parsing.clauses import read_query
from tests.row_pattern.cases import load

NASTY: Final = "name = '<b>&\"\\ ]]> \x01 é语' AND v > 1"


def of_clause(pattern: str, define: str = "A AS v > 1") -> StateGraph:
    text = f"MATCH_RECOGNIZE (MEASURES A.v AS v PATTERN ({pattern}) DEFINE {define})"
    return row_states(read_query(text).clause)


def ways(graph: StateGraph, node: int) -> list[tuple[str, str]]:
    return [(edge.action.value, edge.label) for edge in graph.edges_from(node)]


def test_the_ways_of_a_row_pattern_are_in_order_of_preferment() -> None:
    greedy, reluctant = of_clause("A+ B"), of_clause("A+? B")
    assert ways(greedy, 1) == [("take", "A"), ("take", "B")]
    assert ways(reluctant, 1) == [("take", "B"), ("take", "A")]
    (loop,) = (edge for edge in greedy.edges if edge.source == edge.target)
    assert (loop.label, loop.condition) == ("A", "v > 1")


def test_alternation_permutation_exclusion_and_anchors_are_shown() -> None:
    assert ways(of_clause("(A | B) C"), 0) == [("take", "A"), ("take", "B")]
    permuted = of_clause("PERMUTE(A, B, C)")
    assert ways(permuted, 0) == [("take", "A"), ("take", "B"), ("take", "C")]
    # Which of them have been had: none, three ones, three pairs, all.
    assert len(permuted.nodes) == 1 + 3 + 3 + 1
    (excluded,) = (e for e in of_clause("A {- B -}").edges if e.label == "B")
    assert excluded.remark == "left out of the output"
    (at_end,) = (e for e in of_clause("A $").edges if e.action is Action.COMPLETE)
    assert at_end.remark == "only at the end of the partition"
    starts = [n for n in of_clause("^ A").nodes if n.kind is NodeKind.START]
    assert [node.label for node in starts] == [
        "start, in the middle of the partition",
        "start, at its first row",
    ]


def test_a_match_that_may_go_on_is_complete_as_the_last_way() -> None:
    graph = of_clause("A+")
    assert ways(graph, 1) == [("take", "A"), ("complete", "")]
    assert [node.kind for node in graph.nodes].count(NodeKind.FINAL) == 1


def test_a_pattern_shows_the_transitions_of_its_program() -> None:
    pattern = (
        Pattern.begin("fail")
        .where("a = 1")
        .not_followed_by("ok")
        .where("a = 2")
        .followed_by("login")
        .where("a = 3")
        .within("1 minute")
        .after_match(AfterMatchSkip.past_last_event())
    )
    graph = event_states(pattern.tree)
    assert {node.kind for node in graph.nodes} == {
        NodeKind.START,
        NodeKind.WAITING,
        NodeKind.STOP,
        NodeKind.FINAL,
    }
    login = next(n for n, node in enumerate(graph.nodes) if "login" in node.label)
    assert [(e.action, e.condition) for e in graph.edges_from(login)] == [
        (Action.TAKE, "a = 3"),
        (Action.IGNORE, "(a = 3) IS NOT TRUE"),
        (Action.GO_ON, "a = 2"),
    ]
    assert graph.notes == (
        "A partial match ends 1 minute after its start.",
        "After a match, all that began before its end are dropped.",
    )


def test_a_pattern_that_ends_with_an_absence_is_pending() -> None:
    pattern = Pattern.begin("paid").not_followed_by("ship").where("a = 2").within("1 day")
    assert NodeKind.PENDING in {node.kind for node in event_states(pattern.tree).nodes}


@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(of_clause("A{300}"), id="row pattern"),
        pytest.param(event_states(Pattern.begin("a").times(300).tree), id="pattern"),
    ],
)
def test_a_graph_that_is_too_large_is_cut_and_says_so(graph: StateGraph) -> None:
    assert graph.is_cut
    assert len(graph.nodes) == MOST_STATES
    assert graph.notes[-1] == f"Only the first {MOST_STATES} states are shown; there are more."
    assert all(edge.target < MOST_STATES for edge in graph.edges)


GRAPHS: Final = [
    of_clause("^? A+ {- B*? -} (C | D){2,3}? $?"),
    of_clause('A "<&>" PERMUTE(B, C, D, E)', f"A AS {NASTY.replace(chr(92), '')}"),
    event_states(
        Pattern.begin('<"&>')
        .where(NASTY)
        .one_or_more()
        .greedy()
        .followed_by_any("b" * 200)
        .where(" AND ".join(["abcdefghij = 'klmnopqrstuvw'"] * 20))
        .tree
    ),
    of_clause("A{300}"),
]


@pytest.mark.parametrize("graph", GRAPHS)
def test_nothing_in_the_drawing_overlaps_and_it_fits_a_phone(graph: StateGraph) -> None:
    layout = laid_out(graph)
    for above, below in pairwise(layout.cards):
        assert above.y + above.height < below.y
    for card in layout.cards:
        lines = [line for way in card.ways for line in way.lines]
        assert all(card.y < line.y < card.y + card.height for line in lines)
        assert all(len(line.text) <= CHARACTERS for line in lines)
        assert all(one.y + 12 <= other.y for one, other in pairwise(lines))
    for one in layout.arrows:
        assert MARGIN + CARD_WIDTH < one.x < layout.width
        for other in layout.arrows:
            # Arrows in one lane lead to one card, or do not meet.
            if one.x == other.x and one.to_y != other.to_y:
                spans = sorted([sorted([one.from_y, one.to_y]), sorted([other.from_y, other.to_y])])
                assert spans[0][1] < spans[1][0]
    assert layout.width <= 400


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_svg_is_well_formed_and_holds_all_texts(graph: StateGraph) -> None:
    drawing = svg(graph)
    root = ET.fromstring(drawing)  # noqa: S314 - our own text
    texts = " ".join("".join(text.itertext()) for text in root.iter() if text.tag.endswith("text"))
    for edge in graph.edges:
        if edge.label and edge.action is Action.TAKE:
            assert f"take {edge.label}"[:CHARACTERS] in texts.replace("\ufffd", "\x01")
    assert "prefers-color-scheme: dark" in drawing
    assert "<script" not in drawing


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_dot_is_one_statement_a_line_with_texts_escaped(graph: StateGraph) -> None:
    text = dot(graph)
    lines = text.splitlines()
    assert lines[0] == "digraph pattern {"
    assert lines[-1] == "}"
    assert all(line.endswith(";") for line in lines[1:-1])
    assert sum(" -> " in line for line in lines) >= len(graph.edges)
    assert all(line.replace("\\\\", "").replace('\\"', "").count('"') % 2 == 0 for line in lines)
    if graphviz := shutil.which("dot"):
        drawn = subprocess.run(  # noqa: S603 - our own text
            [graphviz, "-Tsvg"], input=text, capture_output=True, text=True, check=True
        )
        assert "<svg" in drawn.stdout


def test_every_vector_has_a_graph_with_a_start_and_an_end() -> None:
    for case in load("fuzz")[::25]:
        if case.error is None:
            graph = row_states(read_query(case.query).clause)
            assert graph.nodes[0].kind is NodeKind.START
            assert all(edge.target < len(graph.nodes) for edge in graph.edges)
            ET.fromstring(svg(graph))  # noqa: S314 - our own text


def test_long_words_are_broken_and_long_texts_end_in_dots() -> None:
    assert wrapped("abcdefghij", 4, 9) == ["abcd", "efgh", "ij"]
    assert wrapped("aa bb cc dd", 5, 2) == ["aa bb", "cc dd"]
    assert wrapped("aa bb cc dd ee", 5, 2)[-1].endswith("…")
