"""docs/flink.md: its sessions and tables hold."""

import pytest

import percept
import percept.discoverers
from percept import Pattern, PatternError
from tests.docs.fences import ROOT, rows

PAGE = "docs/flink.md"


def test_what_the_tables_name_is_there() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    functions = {"select", "flat_select", "PatternProcessFunction", "TimedOutPartialMatchHandler"}
    matching = {"PatternProcessor", "match_patterns", "find_matches", "iter_matches"}
    assert {name for name in functions | matching if f"`{name}" not in text} == set()
    assert functions | matching <= set(percept.__all__)
    flip_200 = {"PatternProcessorDiscoverer", "PatternProcessorDiscovererFactory"}
    assert flip_200 <= set(percept.discoverers.__all__)


def test_each_quirk_of_flink_is_refused_unless_it_is_asked_for() -> None:
    quirks = rows(PAGE, "Pattern", "What Flink does", "Instead")
    assert len(quirks) > 10
    for row in quirks:
        pattern = Pattern.parse(row["Pattern"].strip("`"))

        with pytest.raises(PatternError, match="With flink_quirks it is accepted"):
            pattern.validate()
        assert pattern.flink_quirks().validate()
