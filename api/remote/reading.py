"""`percept list` and `percept show`: what the service holds."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, NoReturn

import typer

from api.client import Client, NotFound, Processor, ProcessorLine, VersionLine
from api.connected import end, service_command
from api.gitops.exporting import FileFormat
from api.remote.known_rules import deleted_rule, end_unknown, rules_named
from api.remote.printing import AsJson, say_json
from cep.definition.text import in_usual_order
from cep.instants import iso_text
from cep.pattern.document.yaml_writing import yaml_text
from cep.printable import printable, printable_json
from cep.terminal_tables import print_table


class State(StrEnum):
    """In what state rules are."""

    PUBLISHED = "published"
    SCHEDULED = "scheduled"
    SHADOW = "shadow"
    PAUSED = "paused"
    DELETED = "deleted"


@service_command
def list_rules(  # noqa: PLR0913 - the options of one command
    client: Client,
    *,
    stream: Annotated[str | None, typer.Option(help="Only of this stream.")] = None,
    state: Annotated[
        State | None, typer.Option(help="Only in this state; deleted ones only if asked for.")
    ] = None,
    tag: Annotated[str | None, typer.Option(help="Only with this tag.")] = None,
    owner: Annotated[str | None, typer.Option(help="Only of this owner.")] = None,
    text: Annotated[
        str | None, typer.Option(help="Only with this in id, description or definition.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the rules of the service: stream, state, newest version, who changed it last."""
    if stream is not None:
        client.stream(stream)  # one that is not there is no empty list
    lines = client.processors(
        stream, state=state.value if state else None, tag=tag, owner=owner, text=text
    )
    if as_json:
        for line in lines:
            say_json(_as_data(line))
        return
    columns = ("RULE", "STREAM", "STATE", "VERSION", "SEVERITY", "OWNER", "CHANGED", "BY")
    if not print_table(columns, map(_cells, lines)):
        typer.echo("no rules", err=True)


@service_command
def show(
    client: Client,
    rule: Annotated[str, typer.Argument(metavar="RULE", help="Its id.")],
    *,
    version: Annotated[
        int | None, typer.Option(min=1, help="This version; by default the newest.")
    ] = None,
    versions: Annotated[
        bool, typer.Option("--versions", help="List its versions instead, newest first.")
    ] = False,
    file_format: Annotated[
        FileFormat, typer.Option("--format", "-f", help="How it is written.")
    ] = FileFormat.YAML,
) -> None:
    """Show a rule as a document for `percept apply`; in YAML its state is a comment above."""
    if versions:
        _print_versions(client, rule)
        return
    document, said = _shown(client, rule, version)
    document = in_usual_order(document)
    if file_format is FileFormat.JSON:
        typer.echo(printable_json(document, indent=2))
        return
    for line in said:
        typer.echo("# " + printable(line).replace("\n", "\\n"))
    typer.echo(yaml_text([document]), nl=False)


def _shown(client: Client, rule: str, number: int | None) -> tuple[dict[str, Any], list[str]]:
    """Return a document, and what is said of it in front."""
    if number is None:
        (processor,) = rules_named(client, [rule])
        return _document(processor), [_summary(processor)]
    try:
        version = client.version(rule, number)
    except NotFound:
        _end_without_version(client, rule, number)
    try:
        current = client.get(rule).document
    except NotFound:  # deleted; its versions are kept
        line = deleted_rule(client, rule)
        current = {"id": rule, "stream": "" if line is None else line.stream}
    labels = {key: current[key] for key in ("description", "owner", "tags") if key in current}
    names = {"id": rule, "stream": current["stream"]}
    return names | labels | version.document, [_version_summary(rule, version)]


def _end_without_version(client: Client, rule: str, number: int) -> NoReturn:
    try:
        numbers = [str(each.version) for each in client.versions(rule)]
    except NotFound:
        end_unknown(client, rule)
    end(f"rule {rule} has no version {number}; it has {', '.join(reversed(numbers))}")


def _print_versions(client: Client, rule: str) -> None:
    try:
        lines = list(client.versions(rule))
    except NotFound:
        end_unknown(client, rule)
    print_table(
        ("VERSION", "PUBLISHED", "FROM", "UNTIL", "CREATED", "BY", "COMMENT"),
        (
            (
                str(each.version),
                "yes" if each.is_published else "",
                _time(each.effective_from),
                _time(each.effective_until),
                _time(each.created_at),
                each.created_by,
                each.comment,
            )
            for each in lines
        ),
    )


def _document(processor: Processor) -> dict[str, Any]:
    paused = {"paused": True} if processor.is_paused else {}
    return paused | processor.document


def _summary(processor: Processor) -> str:
    message = f"{processor.state}, version {processor.version}"
    if not processor.newest_is_published:
        message += " (cancelled)"
    return f"{message}, changed {iso_text(processor.updated_at)} by {processor.updated_by}"


def _version_summary(rule: str, version: VersionLine) -> str:
    is_published = "" if version.is_published else ", not published"
    comment = f": {version.comment}" if version.comment else ""
    made = f"made {iso_text(version.created_at)} by {version.created_by}"
    return f"version {version.version} of {rule}{is_published}, {made}{comment}"


def _as_data(line: ProcessorLine) -> dict[str, Any]:
    return line.model_dump(mode="json")


def _cells(line: ProcessorLine) -> Sequence[str]:
    return (
        line.id,
        line.stream,
        line.state,
        str(line.version),
        line.severity or "",
        line.owner,
        _time(line.updated_at),
        line.updated_by,
    )


def _time(time_ms: int | None) -> str:
    return "" if time_ms is None else iso_text(time_ms).replace(".000Z", "Z")
