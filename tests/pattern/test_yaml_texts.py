"""Texts of several lines in YAML: written as blocks, read back the same, and found by place."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from cep.pattern.document.text import read_json_text, read_yaml_documents, read_yaml_text
from cep.pattern.document.yaml_writing import yaml_text
from cep.pattern.problems import PatternError

CLAUSE = """MATCH_RECOGNIZE (
  PARTITION BY user ORDER BY ts

  PATTERN (FAIL{3,} LOGIN)
  DEFINE FAIL AS action = 'it''s "fail"', LOGIN AS action = 'login'
)"""

TEXTS = st.text(st.sampled_from("ab'\"#:-|>\\ \t\n\u00e9\u2028\x85\r\U0001f600"), max_size=30)
WORDS = st.text(st.sampled_from("ab'\"#\\ \n"), max_size=40)


@given(TEXTS)
@example("a\nb ")
@example(" a\nb\n\n")
@example("a \n\tb\n   \nc\n")
@example("\na\n b")
def test_any_text_is_read_back_as_it_was(text: str) -> None:
    (source,) = read_yaml_documents(yaml_text([{"pattern": {"match_recognize": text}}]))
    assert source.data == {"pattern": {"match_recognize": text}}


@pytest.mark.parametrize(
    "clause", [CLAUSE, CLAUSE + "\n", CLAUSE.replace("ts\n", "ts \t\n"), "  " + CLAUSE]
)
def test_a_clause_is_written_line_by_line(clause: str) -> None:
    text = yaml_text([{"match_recognize": clause}])
    indented = [f"  {line}" if line else "" for line in clause.rstrip("\n").split("\n")]
    assert text.splitlines()[1:] == indented
    assert text.startswith("match_recognize: |")


def assert_found(written: str, source: Any, value: str) -> None:
    """Every letter of a value stands where its line and column are said to be."""
    rows = written.split("\n")
    mark = source.marks["key"]
    for number, line in enumerate(value.split("\n"), 1):
        for index, character in enumerate(line):
            if character in "ab#":
                row, column = mark.inside(number, index + 1)
                assert rows[row - 1][column - 1] == character


@pytest.mark.parametrize("style", [None, "'", '"', "|", ">"])
@given(value=WORDS, width=st.integers(10, 40))
@example(value="a\n\n  b a\n a\nb b b b b b b b b b b b b", width=10)
@example(value="a \\ b 'a' \"b\"\n\n\nab", width=12)
def test_each_character_is_found_in_its_document(style: str | None, value: str, width: int) -> None:
    written = yaml.safe_dump({"key": value, "z": 1}, default_style=style, width=width)
    # PyYAML folds a few texts that begin with a space so that it reads others itself.
    assume(yaml.safe_load(written)["key"] == value)
    source = read_yaml_text(written)
    assert source.data["key"] == value
    marks = {path.strip("'\""): mark for path, mark in source.marks.items()}
    assert marks["key"].text is not None
    assert marks["key"].text.of_offset(0) is not None or not value
    assert_found(written, source, value)


@given(value=WORDS)
def test_each_character_is_found_in_json(value: str) -> None:
    written = json.dumps({"key": value}, indent=2)
    assert_found(written, read_json_text(written), value)


@pytest.mark.parametrize("text", ["\\ud83d\\ude00 a", "\\\\ud83d a", "\\ud83d a"])
def test_escapes_of_json_that_yaml_lacks_are_read(text: str) -> None:
    written = f'{{"key": "{text}", "\\ud83d": 1, "\\ud83e": 2}}'
    source = read_json_text(written)
    assert source.data == json.loads(written)
    value = source.data["key"]
    (place,) = (source.marks["key"].inside(1, len(value)),)
    assert place[0] == 1


def test_a_byte_order_mark_moves_no_place() -> None:
    assert read_yaml_text("\ufeffkey: abc").marks["key"].inside(1, 2) == (1, 7)


def test_the_cost_of_reading_nested_lists_is_bounded_by_depth() -> None:
    with pytest.raises(PatternError, match="nested too deeply"):
        read_yaml_documents("a: " + "[" * 1_400 + "]" * 1_400)
    (source,) = read_yaml_documents("a: " + "[" * 90 + "]" * 90)
    assert len(source.marks) == 90


def test_a_long_line_of_spaces_takes_no_time() -> None:
    value = f"a{' ' * 100_000}b"
    for style in (None, "'", '"', "|", ">"):
        written = yaml.safe_dump({"key": value}, default_style=style, width=10**6)
        source = read_yaml_text(written)
        row, column = source.marks["key"].inside(1, len(value))
        assert written.split("\n")[row - 1][column - 1] == "b"
