"""`percept schema`: good documents are valid in an editor, and most bad ones are not."""

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from typer.testing import CliRunner

from cep.definition.checking import check_definition
from cep.definition.document import ProcessorFile
from cep.expression import Schema
from cep.pattern.document.text import items_of, read_json_text, read_yaml_documents
from percept.command_line import app
from tests.api.documents import STREAM, processor_document
from tests.api.test_malformed_documents import GOOD, mutant
from tests.api.test_one_checker import WRONG
from tests.docs.fences import ROOT, fences

KINDS = ["file", "rule", "pattern", "stream", "list", "job"]
COLUMNS = Schema.from_ddl(f"{STREAM['schema']}, type STRING, tags ARRAY<STRING>")


def schema(*words: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["schema", *words])
    assert result.exit_code == 0, result.output
    printed: dict[str, Any] = json.loads(result.stdout)
    return printed


@pytest.fixture(scope="module")
def validators() -> dict[str, Any]:
    return {
        kind: jsonschema_rs.validator_for(schema(kind), validate_formats=True) for kind in KINDS
    }


def shipped() -> Iterator[tuple[Path, Any]]:
    """Yield the documents of all rule files and job files of the repository."""
    folders = [ROOT / "examples", ROOT / "tests/data"]
    of_others = {ROOT / "examples/kubernetes", ROOT / "examples/monitoring"}
    for folder in folders:
        for file in sorted(folder.rglob("*.yaml")):
            if file.parent in of_others:
                continue
            # Variables of job files are put in before a file is read.
            text = re.sub(r"\$\{\w*URL\w*\}", "http://x", file.read_text(encoding="utf-8"))
            text = re.sub(r"\$\{\w+\}", "x", text)
            for source in read_yaml_documents(text):
                for document in items_of(source):
                    yield file, document.data


def kind_of(document: dict[str, Any]) -> str:
    keys = document.keys()
    for key, kind in {
        "pattern": "rule",
        "schema": "stream",
        "list": "list",
        "checkpoint": "job",
    }.items():
        if key in keys:
            return kind
    return "pattern"


def test_every_schema_is_one_and_every_key_is_described() -> None:
    for kind in KINDS:
        jsonschema_rs.meta.validate(schema(kind))
    assert schema() == schema("file")
    assert CliRunner().invoke(app, ["schema", "nothing"]).exit_code == 2
    for kind in KINDS:
        assert list(_undescribed(schema(kind), "")) == []


def test_all_shipped_documents_and_those_on_the_page_are_valid(validators: dict[str, Any]) -> None:
    kinds = []
    for file, document in shipped():
        kind = kind_of(document)
        kinds.append(kind)
        errors = [error.message for error in validators[kind].iter_errors(document)]
        assert errors == [], file
        assert validators["file"].is_valid(document) == (kind in {"rule", "stream"})
    assert kinds.count("rule") > 25
    assert set(kinds) == {"rule", "stream", "pattern", "job"}
    pages = [fence for fence in fences("docs/command-line.md") if fence.language == "yaml"]
    assert len(pages) >= 3
    for fence in pages:
        assert validators["file"].is_valid(yaml.safe_load(fence.text)), fence.line


def test_a_file_may_hold_a_list_of_both_in_json_as_in_yaml(validators: dict[str, Any]) -> None:
    good = [STREAM, processor_document(paused=True)]
    assert validators["file"].is_valid(good)
    assert validators["file"].is_valid(read_json_text(json.dumps(good)).data)
    for wrong in (STREAM | {"shcema": ""}, processor_document(on_update="x")):
        assert not validators["file"].is_valid([*good, wrong])
    assert not validators["file"].is_valid("just text")


# Whether these are wrong, columns, expressions, times or other keys decide.
BEYOND_SHAPE = {
    *("a key of lists", "a column of no step", "a column without step beside an unknown one"),
    *("an unknown column", "an end before the beginning", "a rule of the language"),
    "conditions that are none",
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_document_is_refused_unless_its_shape_is_right(
    case: str, validators: dict[str, Any]
) -> None:
    document = processor_document(stream="tagged") | WRONG[case][0]
    for kind in ("rule", "file"):
        assert validators[kind].is_valid(document) == (case in BEYOND_SHAPE)


@pytest.mark.long
def test_no_good_document_is_refused_and_most_bad_shapes_are(validators: dict[str, Any]) -> None:
    refused = missed = good = 0
    for seed in range(20):
        choice = random.Random(seed)  # noqa: S311 - mutants that can be made again
        for _ in range(100):
            document = mutant(choice)
            checked = check_definition(document, COLUMNS, ProcessorFile)
            is_valid = validators["rule"].is_valid(document)
            if not checked.problems:
                good += 1
                errors = validators["rule"].iter_errors(document)
                # A position that is written as text or truth is taken as a number, and marked.
                assert all(error.instance_path[0] == "examples" for error in errors), document
            elif checked.content is None:
                refused += not is_valid
                missed += is_valid
    assert good > 100
    assert refused > 600
    assert missed < refused / 20
    assert all(validators["rule"].is_valid(document) for document in GOOD)


def _undescribed(node: Any, path: str) -> Iterator[str]:
    if isinstance(node, list):
        for item in node:
            yield from _undescribed(item, path)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key == "properties":
                for name, inner in value.items():
                    if not {"description", "$ref", "const"} & inner.keys():
                        yield f"{path}.{name}"
            if key not in {"examples", "default"}:
                yield from _undescribed(value, f"{path}/{key}")


def test_only_what_is_asked_for_is_imported() -> None:
    program = """
import sys
from typer.testing import CliRunner
from percept.command_line import app
assert CliRunner().invoke(app, ["schema", "rule"]).exit_code == 0
print(*sorted({"api", "processor_runtime", "pyspark", "fastapi", "httpx2"} & set(sys.modules)))
"""
    answer = subprocess.run(  # noqa: S603 - fixed words
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert answer.stdout.strip() == ""
