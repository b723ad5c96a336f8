"""docs/python.md and docs/dataframes.md: sessions run, and no name or parameter is left out."""

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import percept
from percept import Match, MatchResult, RecognizedRows, TimedOutMatch
from tests.docs.fences import ROOT, rows

PAGE = "docs/python.md"
FRAMES = "docs/dataframes.md"


def named(cell: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", cell))


def parameters(function: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(function).parameters)


def test_each_parameter_has_its_line_with_its_default() -> None:
    shown = {row["`find_matches`"].strip("`"): row for row in rows(PAGE, "`find_matches`", *REST)}
    assert shown.keys() == parameters(percept.find_matches)
    defaults = inspect.signature(percept.find_matches).parameters
    for name, row in shown.items():
        if re.fullmatch(r"`.*`", row["default"]):
            assert row["default"].strip("`").replace('"', "'") == repr(defaults[name].default)
    clause = rows(PAGE, "`match_recognize`", "meaning")
    assert {row["`match_recognize`"].strip("`") for row in clause} == parameters(
        percept.match_recognize
    )


REST = ("default", "meaning")


def test_each_parameter_for_frames_has_its_line() -> None:
    spark = pytest.importorskip("percept.spark")
    shown = {name for row in rows(FRAMES, "parameter", *REST) for name in named(row["parameter"])}
    assert shown == parameters(spark.match_patterns)


def test_each_field_of_a_result_is_on_the_page() -> None:
    text = {row["result"].strip("`"): row["fields"] for row in rows(PAGE, "result", "fields")}
    for kind in (MatchResult, Match, TimedOutMatch):
        fields = {field.name for field in dataclasses.fields(kind)}
        known = text[kind.__name__] + (text["Match"] if kind is TimedOutMatch else "")
        assert fields <= named(known), kind.__name__
    (recognized,) = re.findall(
        r"`RecognizedRows` has (.*?)\n\n", (ROOT / PAGE).read_text("utf-8"), re.DOTALL
    )
    assert {field.name for field in dataclasses.fields(RecognizedRows)} <= named(recognized)


def test_each_error_has_its_line() -> None:
    shown = {name for row in rows(PAGE, "when", "error") for name in named(row["error"])}
    errors = {
        name
        for name in percept.__all__
        if inspect.isclass(found := getattr(percept, name)) and issubclass(found, Exception)
    }
    of_service = {
        name for name in errors if issubclass(getattr(percept, name), percept.ServiceError)
    }
    assert errors - of_service - {"EventWarning", "MatchingError"} <= shown
    assert {name for name in shown if name[0].isupper()} <= set(percept.__all__)
