"""docs/rule-keys.md: it is written from the models and complete; their examples are valid."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
from typer.testing import CliRunner

from docs.rule_keys import DOCUMENTS, IN_A_WORD, PAGE, SAME_KEYS, TITLES, objects, page
from percept.command_line import app
from tests.docs.fences import fences, rows

NAME = "docs/rule-keys.md"
COLUMNS = ("key", "type", "meaning")
WITHOUT_EXAMPLE = {"function", "python", "signature", "payload", "place"}
"""Those that nobody writes by hand."""


def described(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a schema with keys, the schema itself first."""
    yield "", schema
    for name in sorted(objects(schema)):
        yield name, schema["$defs"][name]


def test_the_page_is_what_the_models_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python docs/rule_keys.py"


def test_every_key_of_every_document_has_its_line() -> None:
    lines = rows(NAME, *COLUMNS)
    assert [row for row in lines if not all(row.values())] == []
    shown = [row["key"].strip("`") for row in lines]
    wanted = []
    for model in DOCUMENTS.values():
        schema = model.model_json_schema()
        for name, each in described(schema):
            other = schema["$defs"][SAME_KEYS[name]]["properties"] if name in SAME_KEYS else {}
            own = [key for key, value in each["properties"].items() if other.get(key) != value]
            wanted += [] if name in IN_A_WORD else own
    assert sorted(shown) == sorted(wanted)
    assert len(shown) > 80


def test_no_heading_is_left_over() -> None:
    there = {name for model in DOCUMENTS.values() for name in objects(model.model_json_schema())}
    assert there == TITLES.keys() | IN_A_WORD.keys()


def test_every_key_has_an_example_that_is_valid() -> None:
    for model in DOCUMENTS.values():
        schema = model.model_json_schema()
        lacking = set()
        for name, each in described(schema):
            for key, value in each["properties"].items():
                example = example_of(value, schema)
                if example is None:
                    lacking.add(key)
                    continue
                validator = jsonschema_rs.validator_for({**value, "$defs": schema.get("$defs", {})})
                assert validator.is_valid(example), (name, key, example)
        assert lacking <= WITHOUT_EXAMPLE


def example_of(key: dict[str, Any], schema: dict[str, Any]) -> Any:
    """Return the example that editors show: that of the key, or of its type; `None` without one."""
    alternatives = list(alternatives_of(key))
    for each in alternatives:
        if each.get("examples"):
            return each["examples"][0]
    named = (
        schema["$defs"][each["$ref"].rpartition("/")[2]] for each in alternatives if "$ref" in each
    )
    words = [word for each in (*alternatives, *named) for word in each.get("enum", ())]
    if words:
        return words[-1]
    return not key["default"] if key.get("type") == "boolean" and "default" in key else None


def alternatives_of(key: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield key
    for each in [*key.get("anyOf", ()), *key.get("oneOf", ())]:
        yield from alternatives_of(each)


def test_the_rule_of_the_page_passes_its_example(tmp_path: Path) -> None:
    (text,) = (each.text for each in fences(NAME) if each.language == "yaml")
    (tmp_path / "rules.yaml").write_text(text, encoding="utf-8")
    result = CliRunner().invoke(app, ["test", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "1 example run" in result.output
    schema = json.loads(CliRunner().invoke(app, ["schema", "rule"]).stdout)
    shown = {line.partition(":")[0] for line in text.partition("---")[0].splitlines()}
    assert schema["properties"].keys() - shown == {"function", "effective_until", "paused"}
