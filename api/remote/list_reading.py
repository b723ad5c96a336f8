"""`percept lists list`, `show`, `get` and `log`: the lists of a stream are read."""

from typing import Annotated

import typer

from api.client import Client, ListVersionLine, NotFound, ValueList
from api.client.lists import ListClient
from api.connected import BAD_INPUT, end, service_command
from api.remote.printing import AsJson, say, say_json
from api.remote.readers import until_interrupted
from cep.instants import iso_text
from cep.pattern.problems import did_you_mean
from cep.terminal_tables import print_table

Name = Annotated[str, typer.Argument(metavar="NAME", help="That of the list.")]
StreamOption = Annotated[
    str | None, typer.Option(help="The stream; left out, the only one that the service has.")
]
VersionOption = Annotated[int | None, typer.Option(min=1, help="Of this version. [the newest]")]
_COLUMNS = ("NAME", "TYPE", "VALUES", "VERSION", "RULES", "CHANGED", "BY", "DESCRIPTION")
_LOG = ("VERSION", "VALUES", "ADDED", "REMOVED", "FROM", "STATE", "CREATED", "BY", "COMMENT")


@service_command
def list_lists(
    client: Client,
    *,
    stream: StreamOption = None,
    as_json: AsJson = False,
) -> None:
    """List the lists of a stream."""
    with until_interrupted():
        found = lists_of(client, stream).all()
        if as_json:
            for each in found:
                say_json(each)
            return
        rows = (
            (
                each.name,
                each.data_type,
                f"{each.count:,}",
                f"{each.version}",
                f"{each.rule_count}",
                iso_text(each.updated_at),
                each.updated_by,
                each.description,
            )
            for each in found
        )
        if not print_table(_COLUMNS, rows):
            typer.echo("no lists", err=True)


@service_command
def show_list(
    client: Client,
    name: Name,
    *,
    stream: StreamOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show a list: what jobs are given of it, and the rules that name it."""
    found = named_list(lists_of(client, stream), name)
    if as_json:
        say_json(found)
        return
    say(f"{name}: {found.count:,} values of type {found.data_type}, version {found.version}")
    if found.description:
        say(found.description)
    for version in found.published:
        say(f"version {version.version}: {version.count:,} values, {_since(version)}")
    for rule in found.rules:
        versions = ", ".join(map(str, rule.versions))
        say(f"named by {rule.processor_id}, version {versions}")
    if found.rule_count > len(found.rules):
        say(f"and by {found.rule_count - len(found.rules):,} rules more")


@service_command
def print_values(
    client: Client,
    name: Name,
    *,
    stream: StreamOption = None,
    version: VersionOption = None,
) -> None:
    """Print all values of a list as CSV, one on each line: `percept lists get vip > vip.csv`."""
    with until_interrupted():
        lists = lists_of(client, stream)
        named_list(lists, name)
        with lists.csv(name, version=version) as pieces:
            for piece in pieces:
                typer.echo(piece, nl=False)


@service_command
def list_versions(
    client: Client,
    name: Name,
    *,
    stream: StreamOption = None,
    as_json: AsJson = False,
) -> None:
    """List the versions of a list, newest first."""
    with until_interrupted():
        lists = lists_of(client, stream)
        named_list(lists, name)
        found = lists.versions(name)
        if as_json:
            for each in found:
                say_json(each)
        else:
            print_table(_LOG, map(_log_row, found))


def lists_of(client: Client, stream: str | None) -> ListClient:
    """Return the lists of a stream, or of the only one that there is.

    Raises:
        Exit: there are several, or none.
    """
    if stream is None:
        names = [each.name for each in client.streams()]
        if len(names) != 1:
            listed = ", ".join(names[:20]) or "none yet"
            end(f"which stream? Give --stream; there are: {listed}", code=BAD_INPUT)
        (stream,) = names
    return client.lists(stream)


def named_list(lists: ListClient, name: str) -> ValueList:
    """Return a list; one that is not there ends the command.

    Raises:
        Exit: it is not there; the message says what may have been meant.
    """
    try:
        return lists.read(name)
    except NotFound:
        hint = did_you_mean(name, [each.name for each in lists.all()])
        end(f"there is no list {name}. {hint}".rstrip())


def _since(version: ListVersionLine) -> str:
    if version.effective_from is None:
        return "at once"
    return f"from {iso_text(version.effective_from)}"


def _log_row(each: ListVersionLine) -> tuple[str, ...]:
    state = "published" if each.is_published else "kept" if each.has_values else ""
    return (
        f"{each.version}",
        f"{each.count:,}",
        f"{each.added:,}",
        f"{each.removed:,}",
        "" if each.effective_from is None else iso_text(each.effective_from),
        state,
        iso_text(each.created_at),
        each.created_by,
        each.comment,
    )
