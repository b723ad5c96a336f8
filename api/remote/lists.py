"""`percept lists`: values of a list are put from files, added, removed, rolled back, deleted.

file.csv ──put──► version of a list ──get──► file.csv
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from api.client import ChangedList, Client
from api.client.lists import ListClient
from api.connected import BAD_INPUT, end, service_command
from api.remote.changing import Comment, DryRun
from api.remote.known_rules import as_it_was_read
from api.remote.list_reading import (
    Name,
    StreamOption,
    list_lists,
    list_versions,
    lists_of,
    named_list,
    print_values,
    show_list,
)
from api.remote.printing import say
from cep.file_trouble import file_trouble
from cep.list_content import ListType

lists_app = typer.Typer(
    name="lists",
    help="Lists of a stream, for IN LIST('vip') in conditions: values in and out, versions.",
    no_args_is_help=True,
)

lists_app.command("list")(list_lists)
lists_app.command("show")(show_list)
lists_app.command("get")(print_values)
lists_app.command("log")(list_versions)

Values = Annotated[list[str], typer.Argument(metavar="VALUE…", help="Values, as they are.")]
EffectiveFrom = Annotated[
    str, typer.Option(help="First event time it is for (ISO 8601). [at once]")
]


@lists_app.command("put")
@service_command
def put(  # noqa: PLR0913 - the options of one command
    client: Client,
    name: Name,
    file: Annotated[str, typer.Argument(metavar="FILE", help="CSV of one column; - = input.")],
    *,
    stream: StreamOption = None,
    header: Annotated[
        bool, typer.Option("--header", help="The first line is a column name.")
    ] = False,
    create: Annotated[
        str | None,
        typer.Option("--create", metavar="TYPE", help="Create it: STRING, BIGINT or DATE."),
    ] = None,
    effective_from: EffectiveFrom = "",
    comment: Comment = "",
    dry_run: DryRun = False,
) -> None:
    """Give a list the values in FILE instead of those it has.

    If a line is wrong, nothing is taken, and the lines are told.
    """
    content = _content(file)
    lists = lists_of(client, stream)
    if create is not None:
        _create(lists, name, create, comment, dry_run=dry_run)
        if dry_run:
            return
    known = named_list(lists, name)
    _change(
        name,
        lambda: lists.put(
            name,
            content,
            has_header=header,
            effective_from=effective_from,
            if_match=known.etag,
            comment=comment,
            dry_run=dry_run,
        ),
        dry_run=dry_run,
    )


@lists_app.command("add")
@service_command
def add(  # noqa: PLR0913 - the options of one command
    client: Client,
    name: Name,
    values: Values,
    *,
    stream: StreamOption = None,
    effective_from: EffectiveFrom = "",
    comment: Comment = "",
    dry_run: DryRun = False,
) -> None:
    """Add values to a list; those that are there already stay."""
    given: dict[str, Any] = {"add": values, "effective_from": effective_from, "comment": comment}
    _change_values(lists_of(client, stream), name, given, dry_run=dry_run)


@lists_app.command("remove")
@service_command
def remove(  # noqa: PLR0913 - the options of one command
    client: Client,
    name: Name,
    values: Values,
    *,
    stream: StreamOption = None,
    effective_from: EffectiveFrom = "",
    comment: Comment = "",
    dry_run: DryRun = False,
) -> None:
    """Remove values from a list; those that are not there do not matter."""
    given: dict[str, Any] = {"remove": values, "effective_from": effective_from, "comment": comment}
    _change_values(lists_of(client, stream), name, given, dry_run=dry_run)


@lists_app.command("rollback")
@service_command
def rollback(  # noqa: PLR0913 - the options of one command
    client: Client,
    name: Name,
    *,
    to: Annotated[int, typer.Option("--to", min=1, help="The version to go back to.")],
    stream: StreamOption = None,
    comment: Comment = "",
    dry_run: DryRun = False,
) -> None:
    """Give a list the values of an old version, at once, as a new one."""
    lists = lists_of(client, stream)
    known = named_list(lists, name)
    more: dict[str, Any] = {"if_match": known.etag, "comment": comment, "dry_run": dry_run}
    _change(name, lambda: lists.roll_back(name, to, **more), dry_run=dry_run)


@lists_app.command("delete")
@service_command
def delete(
    client: Client,
    name: Name,
    *,
    stream: StreamOption = None,
    comment: Comment = "",
    dry_run: DryRun = False,
) -> None:
    """Take a list and its values away, unless a rule names it."""
    lists = lists_of(client, stream)
    known = named_list(lists, name)
    if dry_run:
        named = f"; {known.rule_count} rules name it" if known.rule_count else ""
        say(f"{name}: nothing is changed; it has {known.count:,} values{named}")
        return
    with as_it_was_read(name):
        lists.delete(name, if_match=known.etag, comment=comment)
    say(f"{name}: deleted, with {known.count:,} values")


def _create(lists: ListClient, name: str, data_type: str, comment: str, *, dry_run: bool) -> None:
    chosen: ListType
    match data_type.upper():
        case "STRING" | "BIGINT" | "DATE" as found:
            chosen = found
        case _:
            raise typer.BadParameter(f"'{data_type}' is none of STRING, BIGINT, DATE")
    if dry_run:
        say(f"{name}: nothing is changed; it would be created with type {chosen}")
        return
    lists.create(name, chosen, comment=comment)
    say(f"{name}: created with type {chosen}")


def _content(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        end(f"{file}: cannot read: {file_trouble(error)}", code=BAD_INPUT)


def _change_values(
    lists: ListClient, name: str, given: Mapping[str, Any], *, dry_run: bool
) -> None:
    named_list(lists, name)
    _change(name, lambda: lists.change(name, **given, dry_run=dry_run), dry_run=dry_run)


def _change(name: str, make: Callable[[], ChangedList], *, dry_run: bool) -> None:
    with as_it_was_read(name):
        done = make()
    counts = f"{done.added:,} added, {done.removed:,} removed, {done.new_count:,} values"
    if not done.is_changed:
        say(f"{name}: nothing to do, version {done.version} has these values")
    elif dry_run:
        say(f"{name}: nothing is changed; it would be: {counts}")
        for sign, values, count in (
            ("+", done.first_added, done.added),
            ("-", done.first_removed, done.removed),
        ):
            for value in values:
                say(f"{sign} {value}")
            if count > len(values):
                say(f"{sign} … {count - len(values):,} more")
    else:
        say(f"{name}: version {done.version}: {counts}")
    for number in done.withdrawn:
        say(f"{name}: version {number}, which has a schedule, is withdrawn")
