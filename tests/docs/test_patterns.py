"""docs/patterns.md: every example finds what the page says, in Python and as a document."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from cep.definition.checking import MAXIMUM_EXPRESSION_CHARACTERS
from cep.pattern.document.schema import document_json_schema
from cep.pattern.validation.size_limits import (
    MAXIMUM_CHARACTERS,
    MAXIMUM_DEPTH,
    MAXIMUM_STATES,
    MAXIMUM_STEPS,
)
from percept import Limits, Pattern
from tests.docs.fences import ROOT, Fence, fences, rows
from tests.docs.notation import found

PAGE = "docs/patterns.md"
SVG = "{http://www.w3.org/2000/svg}"
STORY = "f1 f2 v3 f4 l5 l6"
FAIL = Pattern.begin("fail").where("action = 'fail'")
LOGIN = """.where("action = 'login'")"""
LOOP = FAIL.one_or_more().followed_by("login").where("action = 'login'").within("10 minutes")


@dataclass(frozen=True, slots=True)
class Example:
    """A pattern in both forms, and the block of what it finds."""

    python: Fence
    document: Fence
    matches: Fence

    def __str__(self) -> str:
        return f"line {self.matches.line}, {self.matches.heading}"


def _examples() -> Iterator[Example]:
    latest: dict[str, Fence] = {}
    for fence in fences(PAGE):
        latest[fence.language] = fence
        if fence.language == "matches":
            yield Example(latest["python"], latest["yaml"], fence)


EXAMPLES = list(_examples())


def test_each_example_finds_what_the_page_says_and_can_be_pasted_into_python() -> None:
    assert len(EXAMPLES) > 8
    for example in EXAMPLES:
        assert ast.parse(example.python.text)
        pattern = Pattern.parse(example.python.text).validate()

        shown = example.matches.text
        assert found(pattern, shown.splitlines()[0]) == shown, str(example)


def test_both_forms_of_each_example_are_one_pattern() -> None:
    for example in EXAMPLES:
        document = Pattern.from_yaml(example.document.text)
        assert _spelled(document) == _spelled(Pattern.parse(example.python.text)), str(example)


def _spelled(pattern: Pattern) -> str:
    """`or_where` brackets what a document writes plainly."""
    return re.sub(r"[()]", "", str(pattern))


def test_the_limits_of_the_page_are_those_in_force() -> None:
    limits = [
        Limits().partial_matches,
        Limits().events,
        MAXIMUM_STEPS,
        MAXIMUM_DEPTH,
        MAXIMUM_STATES,
        MAXIMUM_CHARACTERS,
        MAXIMUM_EXPRESSION_CHARACTERS,
    ]
    (paragraph,) = re.findall(r"^\* \*\*Limits\.\*\*[^#]*", (ROOT / PAGE).read_text(), re.MULTILINE)

    assert re.findall(r"\b[\d,]*\d\b", paragraph) == [f"{limit:,}" for limit in limits]


def test_every_pattern_of_the_page_belongs_to_an_example() -> None:
    shown = [fence for fence in fences(PAGE) if fence.language in {"python", "yaml"}]
    run = [fence for example in EXAMPLES for fence in (example.python, example.document)]

    assert [fence.line for fence in shown if fence not in run] == []


def test_each_skip_strategy_leaves_what_its_row_says() -> None:
    shown = rows(PAGE, "Strategy", "Document", "Drops partial matches begun", "Found")
    assert len(shown) == 5
    for row in shown:
        strategy = row["Strategy"].strip("`")
        pattern = Pattern.parse(f"{LOOP}.after_match({strategy})")
        document = row["Document"].strip("`")
        assert Pattern.from_yaml(f"{LOOP.to_yaml()}\nafter_match_skip: {{{document}}}") == pattern
        assert _found(pattern) == row["Found"], strategy


def test_each_contiguity_finds_what_its_row_says() -> None:
    between = rows(PAGE, "Contiguity", "Takes", "In between", "Found")
    assert len(between) == 3
    for row in between:
        name = row["Contiguity"].strip("`")
        assert _found(Pattern.parse(f"{FAIL}.{name}('login'){LOGIN}")) == row["Found"], name
    absent = rows(PAGE, "Contiguity", "Looks at", "Found")
    assert len(absent) == 2
    for row in absent:
        name = row["Contiguity"].strip("`")
        view = f"{FAIL}.{name}('view').where(\"action = 'view'\")"
        assert _found(Pattern.parse(f"{view}.followed_by('login'){LOGIN}")) == row["Found"], name
    inner = rows(PAGE, "Inner", "Python", "In between", "Found")
    assert len(inner) == 3
    for row in inner:
        name, call = row["Inner"].strip("`"), row["Python"].strip("`")
        pattern = Pattern.parse(f"{FAIL}.times(2){call}")
        step = f"{{name: fail, where: action = 'fail', times: 2, inner: {name}}}"
        assert Pattern.from_yaml(f"steps: [{step}]") == pattern, name
        assert _found(pattern) == row["Found"], name


def test_the_table_of_keys_is_that_of_the_document_schema() -> None:
    definitions = document_json_schema()["$defs"]
    on_steps = {
        *definitions["StepDocument"]["properties"],
        *definitions["GroupDocument"]["properties"],
    }
    keys = {
        key
        for row in rows(PAGE, "Document", "Python")
        for key in re.findall(r"`(.*?)`", row["Document"])
    }

    whole = definitions["PatternDocument"]["properties"]
    assert keys == {*whole, *(f"steps[].{key}" for key in on_steps)}


def test_each_quantifier_finds_what_its_row_says_in_both_forms() -> None:
    shown = rows(PAGE, "Python", "Document", "Found")
    assert len(shown) > 8
    for row in shown:
        keys = re.findall(r"`(.*?)`", row["Document"])
        fail = ["steps:\n  - name: fail", "where: action = 'fail'", *keys]
        login = ["\n  - name: login", "contiguity: followed_by", "where: action = 'login'"]
        document = "\n    ".join(fail) + "\n    ".join(login)
        call = row["Python"].strip("`")
        pattern = Pattern.parse(f"{FAIL}{call}.followed_by('login'){LOGIN}")

        assert Pattern.from_yaml(document) == pattern, call
        assert _found(pattern) == row["Found"], call


ROWS_OF_PICTURES = [
    ("contiguity", "next", FAIL.next("login")),
    ("contiguity", "followed_by", FAIL.followed_by("login")),
    ("contiguity", "followed_by_any", FAIL.followed_by_any("login")),
    ("inner_contiguity", "consecutive", FAIL.times(2).consecutive()),
    ("inner_contiguity", "relaxed", FAIL.times(2)),
    ("inner_contiguity", "allow_combinations", FAIL.times(2).allow_combinations()),
]


def test_the_arrows_of_pictures_are_the_matches() -> None:
    for picture, name, pattern in ROWS_OF_PICTURES:
        shown = pattern.where("action = 'login'") if picture == "contiguity" else pattern
        image = ET.parse(ROOT / f"docs/images/{picture}.svg")  # noqa: S314 - own file
        row = image.find(f"./{SVG}g[@id='{name}']")
        assert row is not None
        arrows = [title.text or "" for title in row.iter(f"{SVG}title")]
        matches = [" → ".join(re.findall(r"[fl]\d", line)[1:]) for line in _lines(shown)]

        assert sorted(arrows) == sorted(matches), name


def _found(pattern: Pattern) -> str:
    """Return the matches as a cell of a table, each by its events."""
    return ", ".join(" ".join(re.findall(r" ([flv]\d)\b", line)) for line in _lines(pattern))


def _lines(pattern: Pattern) -> list[str]:
    return found(pattern, STORY).splitlines()[1:]
