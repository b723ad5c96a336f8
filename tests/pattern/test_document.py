"""Documents: every problem at once, each with its path and place, and the JSON Schema."""

import copy
from pathlib import Path
from typing import Any

import pytest

from cep.expression import Schema
from cep.pattern import Pattern, PatternError, document_json_schema
from cep.pattern.tree import Window, WithinType

Document = dict[str, Any]


def problems_of(document: Document) -> dict[str, str]:
    """Return the messages and remedies of a refused document by path."""
    with pytest.raises(PatternError) as refusal:
        Pattern.from_document(document)
    return {each.path: f"{each.message} {each.remedy}" for each in refusal.value.problems}


def places_of(text: str, *, is_json: bool = False) -> list[tuple[str, int | None, int | None]]:
    """Return path, line and column of every problem of a refused text."""
    with pytest.raises(PatternError) as refusal:
        Pattern.from_json(text) if is_json else Pattern.from_yaml(text)
    return [(each.path, each.line, each.column) for each in refusal.value.problems]


def step(**keys: Any) -> Document:
    return {"name": "a", **keys}


def test_windows_may_be_written_in_three_ways() -> None:
    for window in ({"within_ms": 600_000}, {"within": "10 minutes"}, {"within": "PT10M"}):
        tree = Pattern.from_document({"steps": [step()], **window}).tree
        assert tree.elements[0].within == (Window(600_000),)


def test_the_window_of_the_pattern_joins_that_of_its_last_step() -> None:
    last = step(contiguity="next", within_ms=5, within_type="previous_and_current", name="b")
    tree = Pattern.from_document({"steps": [step(), last], "within_ms": 10}).tree
    assert tree.elements[1].within == (Window(10), Window(5, WithinType.PREVIOUS_AND_CURRENT))


def test_quirks_are_a_key_that_the_caller_may_override() -> None:
    document = {"steps": [step(name="a:b")], "flink_quirks": True}
    assert Pattern.from_document(document).tree.flink_quirks
    with pytest.raises(PatternError, match="cuts 'a:b'"):
        Pattern.from_document(document, flink_quirks=False)


UNKNOWN_KEYS: dict[str, Document] = {
    "steps[0].wehre": {"steps": [step(wehre="x = 1")]},
    "stepps": {"steps": [step()], "stepps": []},
    "after_match_skip.steb": {
        "steps": [step()],
        "after_match_skip": {"strategy": "no_skip", "steb": 1},
    },
    "steps[0].times.form": {"steps": [step(times={"from": 1, "to": 2, "form": 1})]},
    "steps[0].group.steps[0].nam": {"steps": [{"group": {"steps": [step(nam="b")]}}]},
    "steps[0].subtype.nme": {"steps": [step(subtype={"name": "x", "nme": "y"})]},
}


@pytest.mark.parametrize("path", UNKNOWN_KEYS)
def test_an_unknown_key_is_refused_with_the_near_one(path: str) -> None:
    told = problems_of(UNKNOWN_KEYS[path])
    near = {"wehre": "where", "stepps": "steps", "steb": "step", "form": "from", "nam": "name"}
    assert list(told) == [path]
    assert (
        told[path]
        == f"unknown key. Did you mean '{near.get(path.rsplit('.', maxsplit=1)[-1], 'name')}'?"
    )


def test_shapes_that_do_not_fit_are_all_told_at_once() -> None:
    told = problems_of(
        {
            "steps": [
                {"where": 3},
                {"name": "b", "contiguity": "folowed_by", "times": "3", "within": 10},
                {"name": "c", "contiguity": "next", "greedy": "yes", "times": {"from": 1}},
                {"group": {"steps": []}, "where": "x = 1"},
            ],
            "within": "ten minutes",
            "after_match_skip": {"strategy": "skip_to_frist"},
        }
    )
    assert sorted(told) == [
        *("after_match_skip.strategy", "steps[0].name", "steps[0].where", "steps[1].contiguity"),
        *("steps[1].times", "steps[1].within", "steps[2].greedy", "steps[2].times.to"),
        *("steps[3].group.steps", "steps[3].where", "within"),
    ]
    assert "Did you mean 'followed_by'?" in told["steps[1].contiguity"]
    assert "Did you mean 'skip_to_first'?" in told["after_match_skip.strategy"]
    assert "without a unit" in told["steps[1].within"]
    assert "a group has no where" in told["steps[3].where"]


def test_values_and_rules_and_conditions_are_told_together() -> None:
    told = problems_of(
        {
            "steps": [
                step(where="x = = 1", greedy=True),
                step(contiguity="next", where="SUM(aa.price) > 1", within="1 s", within_ms=5),
                step(name="c", contiguity="next", within_type="previous_and_current"),
            ],
        }
    )
    assert sorted(told) == [
        *("steps[0].greedy", "steps[0].where", "steps[1].name", "steps[1].where"),
        *("steps[1].within", "steps[2].within_type"),
    ]


COLUMNS = Schema.from_ddl("name STRING, price DOUBLE")
WRONG_SHAPES: dict[str, list[Any]] = {
    "a misspelt key": [step(tims=3)],
    "a value of another type": [step(within=[], times="3")],
    "a name that is none": [step(name=3)],
    "no name": [{"nmae": "a"}],
    "no step": ["a"],
    "no steps in a group": [{"group": {}}],
    "a group that is none": [{"group": 1, "until": {"all_of": [1]}}],
    "a condition of no form": [step(where={"pyton": 1})],
}
WRONG_VALUES: dict[str, Document] = {
    "steps[1].where": {"where": "prize > 1"},
    "steps[1].until": {"until": "price > 'x'", "times": {"from": 1, "to": None}},
    "steps[1].inner": {"inner": "consecutive"},
    "steps[2].contiguity": {},
}


@pytest.mark.parametrize("values", WRONG_VALUES)
@pytest.mark.parametrize("shape", WRONG_SHAPES)
def test_the_wrong_shape_of_one_step_does_not_hide_what_is_wrong_with_others(
    shape: str, values: str
) -> None:
    second = step(name="b", contiguity="next")
    steps = [*WRONG_SHAPES[shape], second | WRONG_VALUES[values], step(name="c")]
    told = problems_in(steps=steps)
    assert values in told
    assert any(path.startswith("steps[0]") for path in told)


def problems_in(**document: Any) -> set[str]:
    with pytest.raises(PatternError) as refusal:
        Pattern.from_document(document, schema=COLUMNS)
    return {each.path for each in refusal.value.problems}


def test_what_a_wrong_shape_may_be_the_cause_of_is_not_told() -> None:
    steps = [
        {"nmae": "a"},
        step(name="b", contiguity="next", where="price > a.price"),
        step(name="c", contiguity="nxet", where="price > SUM(a.price)"),
        step(name="d", contiguity="not_followed_by"),
    ]
    document: Document = {
        "steps": steps,
        "whithin": "1 hour",
        "after_match_skip": {"strategy": "skip_to_last", "step": "a"},
    }
    expected = {"steps[0].name", "steps[0].nmae", "steps[2].contiguity", "whithin"}
    assert problems_in(**document) == expected


def test_of_very_many_mistakes_a_hundred_are_told_and_how_many_more_there_are() -> None:
    with pytest.raises(PatternError) as refusal:
        Pattern.from_document({"steps": [step(**{f"key{index}": 1 for index in range(250)})]})
    *told, last = refusal.value.problems
    assert len(told) == 100
    assert "150 more problems" in last.message


def test_a_document_is_left_as_it_is() -> None:
    document = {"steps": [step(tims=3, times={"form": 1}), 7], "with": {"in": []}}
    before = copy.deepcopy(document)
    problems_of(document)
    assert document == before


def test_a_skip_to_no_step_is_told_beside_a_misspelt_key() -> None:
    skip = {"strategy": "skip_to_last", "step": "c"}
    told = problems_of({"steps": [step(tims=3)], "after_match_skip": skip})
    assert told.keys() == {"steps[0].tims", "after_match_skip.step"}


def test_a_condition_must_fit_the_schema_if_there_is_one() -> None:
    pattern = Pattern.from_document({"steps": [step(where="price > 'x' AND prize = 1")]})
    with pytest.raises(PatternError) as refusal:
        pattern.validate(Schema.from_ddl("name STRING, price DOUBLE"))
    assert {each.path for each in refusal.value.problems} == {"steps[0].where"}
    assert "price" in str(refusal.value)


YAML = """\
steps:
  - name: fail
    where: action = = 'fail'
    greedy: true
  - contiguity: followed_by
    group:
      steps:
        - name: fail
          until: "x = 'é' AND y ="
within: 10
"""


def test_problems_of_yaml_have_line_and_column() -> None:
    of_values = [
        ("steps[0].where", 3, 21),
        ("steps[0].greedy", 4, 5),
        ("steps[1].group.steps[0].name", 8, 11),
        ("steps[1].group.steps[0].until", 9, 33),
    ]
    assert places_of(YAML.replace("within: 10", "within_ms: 10")) == of_values
    of_shape = ("within", 10, 1)
    of_until_without_loop = ("steps[1].group.steps[0].until", 9, 11)
    assert set(places_of(YAML)) - {of_until_without_loop} == {*of_values, of_shape}


@pytest.mark.parametrize("value", ["!!int [1]", "!!bool x", "!!timestamp x", "!!set 3"])
def test_a_yaml_tag_that_does_not_fit_its_value_is_refused(value: str) -> None:
    with pytest.raises(PatternError):
        Pattern.from_yaml(f"steps:\n- name: {value}\n")


def test_problems_of_json_have_line_and_column() -> None:
    text = '{"steps": [\n\t{"name": "a\\u00e9", "greedy": true,\n\t "where": "x = = 1"}]}'
    assert places_of(text, is_json=True) == [("steps[0].greedy", 2, 22), ("steps[0].where", 3, 17)]


def test_a_problem_of_text_shows_the_place_and_the_caret() -> None:
    with pytest.raises(PatternError) as refusal:
        Pattern.from_yaml("steps:\n- name: a\n  where: x = = 1\n")
    first, source, caret = str(refusal.value).splitlines()
    assert first.startswith("steps[0].where (line 3, column 14): ")
    assert source.index("= =") + 2 == caret.index("^")


def test_a_value_of_another_type_is_refused_with_what_to_write() -> None:
    told = problems_of(
        {
            "steps": [
                {"name": 1},
                step(name="b", times=[]),
                step(name="c", optional=1, greedy="no"),
                step(name="d", times={"from": "2", "to": None}),
                {"group": {"steps": {}}},
            ],
            "after_match_skip": "no_skip",
            "within_ms": "long",
        }
    )
    assert told == {
        "steps[0].name": "1 does not fit. Write text.",
        "steps[1].times": "[] does not fit. Write a whole number, or {from: 5, to: null} "
        "for 5 or more.",
        "steps[2].optional": "1 does not fit. Write true or false.",
        "steps[2].greedy": "'no' does not fit. Write true or false.",
        "steps[3].times.from": "'2' does not fit. Write a whole number.",
        "steps[4].group.steps": "{} does not fit. Write a list.",
        "after_match_skip": "'no_skip' does not fit. "
        "Write {strategy: skip_past_last_event}, or another strategy.",
        "within_ms": "'long' does not fit. Write a whole number.",
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("steps:\n- name: a\n  name: b\n", "'name' is given twice"),
        ("steps: &s\n- name: a\nother: *s\n", "aliases are not allowed"),
        ("steps: [", "did not find expected node content"),
        ("", "empty"),
        ("a: 1\n---\nb: 2\n", "expected a single document"),
        ("steps: !!python/object:os.system {}", "could not determine a constructor"),
        ("steps: 2024-99-99", "month must be in"),
        ("steps: \x07", "control characters are not allowed"),
        ("[&a [*a]]", r"line 1, column 6\): aliases are not allowed"),
        ("? [a]\n: 1", "a key is one text, no list or mapping"),
        ("x: &a b\n*a : 2", r"line 2, column 1\): aliases are not allowed"),
        ("? 1" + ":1" * 5000 + "\n: 1", "a number has more than 4300 characters"),
        ("times: 010", r"line 1, column 8\): YAML reads 010 as 8; quote it, or write 8"),
        ("code: 0042", "YAML reads 0042 as 34"),
        ("country: NO", "YAML reads NO as false; quote it, or write false"),
        ("[off]", "YAML reads off as false"),
        ("on: 1", "YAML reads on as true"),
        ("at: 12:30", "YAML reads 12:30 as 750"),
        ("amount: 1_000", "YAML reads 1_000 as 1000"),
        ("a: 1" + ":1" * 5000, "a number has more than 4300 characters"),
        ("a: 1" + ":1" * 500 + ".5", "too large"),
        ("? " + "k" * 5000 + "\n: [" + "1, " * 5000 + "]", "shorter keys"),
        ("[" * 5000, "nested too deeply"),
        ("? " * 100_000, "nested too deeply"),
        ("- a", "does not fit"),
        ("1: x", "missing"),
        ("steps:", r"^steps(?: \(line 1.*\))?: missing\. Write `steps:`"),
        (
            "steps:\n- name: a\n  times:\n    from:",
            r"times\.from.*: missing\. Write a whole number",
        ),
    ],
)
def test_text_that_is_no_document_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(PatternError, match=reason):
        Pattern.from_yaml(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"steps": [], "steps": []}', "'steps' is given twice"),
        ('{"steps": [}', r"line 1, column 12\): not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("3", "does not fit"),
    ],
)
def test_text_that_is_no_json_document_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(PatternError, match=reason):
        Pattern.from_json(text)


def test_the_json_schema_describes_every_key_and_its_examples_are_valid() -> None:
    schema = document_json_schema()
    definitions = [schema, *schema["$defs"].values()]
    undescribed = [
        (definition["title"], key)
        for definition in definitions
        for key, value in definition.get("properties", {}).items()
        if "description" not in value and "$ref" not in value
    ]
    assert undescribed == []
    assert {"Pattern", "StepDocument"} <= {definition["title"] for definition in definitions}
    for example in schema["examples"]:
        assert Pattern.from_document(example).to_document() == example


@pytest.mark.parametrize("wrong", [Path("rule.yaml"), b"steps: []", {"steps": []}, None])
def test_what_is_no_text_is_refused(wrong: Any) -> None:
    for read in (Pattern.from_yaml, Pattern.from_json):
        with pytest.raises(TypeError, match="this takes a text, not a"):
            read(wrong)
