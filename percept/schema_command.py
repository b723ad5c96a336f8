"""`percept schema`: the JSON Schema of what people write in files, for their editors.

models of documents ──► JSON Schema (draft 2020-12) ──► completion and checks while one writes

A schema knows shapes: keys, types, words. Whether a condition fits its columns `percept test` says.
"""

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from percept._packages import own_packages

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class Kind(StrEnum):
    """What is written."""

    FILE = "file"
    RULE = "rule"
    PATTERN = "pattern"
    STREAM = "stream"
    LIST = "list"
    JOB = "job"


def schema(
    kind: Annotated[
        Kind,
        typer.Argument(
            help="rule, stream, list: one document. file: any of a folder of rules, one or "
            "several. pattern: a pattern alone. job: the file of a streaming job."
        ),
    ] = Kind.FILE,
) -> None:
    """Print the JSON Schema of rule files, for completion and checks in editors.

    In VS Code with the YAML extension: `percept schema > rules.schema.json`, and as the first line
    of a file `# yaml-language-server: $schema=rules.schema.json`.
    """
    try:
        written = _SCHEMAS[kind]()
    except ImportError as error:
        typer.echo(f"percept schema: {error}", err=True)
        raise typer.Exit(2) from None
    typer.echo(json.dumps({"$schema": _DIALECT, **written}, indent=2, ensure_ascii=False))


def _rule() -> dict[str, Any]:
    from cep.definition.document import ProcessorFile  # noqa: PLC0415 - only what is asked for

    return {**ProcessorFile.model_json_schema(), "title": "Percept rule"}


def _stream() -> dict[str, Any]:
    from contract.service.streams import StreamDocument  # noqa: PLC0415 - as above

    return {**StreamDocument.model_json_schema(), "title": "Percept stream"}


def _list() -> dict[str, Any]:
    from cep.definition.list_documents import ListFile  # noqa: PLC0415 - as above

    return {**ListFile.model_json_schema(), "title": "Percept list"}


def _pattern() -> dict[str, Any]:
    from cep.pattern.document.schema import document_json_schema  # noqa: PLC0415 - as above

    return {**document_json_schema(), "title": "Percept pattern"}


def _job() -> dict[str, Any]:
    with own_packages("processor_runtime", extra="spark"):
        from processor_runtime.job_file.job import job_file_schema  # noqa: PLC0415 - as above

    return job_file_schema()


def _file() -> dict[str, Any]:
    """Return the schema of a whole file: what a document is meant to be shows in its keys."""
    rule, stream, listed = _rule(), _stream(), _list()
    definitions = {**rule.pop("$defs", {}), **stream.pop("$defs", {}), **listed.pop("$defs", {})}
    is_no_rule = {"not": {"required": ["pattern"]}}
    one = {
        "if": {"type": "object", "required": ["schema"], **is_no_rule},
        "then": {"$ref": "#/$defs/stream"},
        "else": {
            "if": {"type": "object", "required": ["list"], **is_no_rule},
            "then": {"$ref": "#/$defs/list"},
            "else": {"$ref": "#/$defs/rule"},
        },
    }
    return {
        "title": "Percept rules, streams and lists",
        "if": {"type": "array"},
        "then": {"items": {"$ref": "#/$defs/document"}},
        "else": {"$ref": "#/$defs/document"},
        "$defs": {**definitions, "rule": rule, "stream": stream, "list": listed, "document": one},
    }


_SCHEMAS: Final[Mapping[Kind, Callable[[], dict[str, Any]]]] = {
    Kind.FILE: _file,
    Kind.RULE: _rule,
    Kind.PATTERN: _pattern,
    Kind.STREAM: _stream,
    Kind.LIST: _list,
    Kind.JOB: _job,
}
