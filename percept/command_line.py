"""The `percept` command: one root, to which each package adds its own sub-commands.

A package offers a sub-command as an entry point of the group `percept.commands`: its name, and a
typer application or a plain function. It is imported only when it is used.
"""

import ast
import os
import select
import sys
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points, version
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperGroup

from percept.extras import missing_text


class PackageCommands(TyperGroup):
    """The commands that installed packages offer."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return all names, sorted."""
        del ctx
        return sorted(offered())

    _is_listing = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands, which wants one line of each."""
        self._is_listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._is_listing = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command with this name, importing it if it is to run."""
        del ctx
        point = offered().get(cmd_name)
        if point is None:
            return None
        summary = summary_of(point) if self._is_listing else None
        if summary is not None:
            return _click_command(cmd_name, _listed_command(summary))
        try:
            return _click_command(cmd_name, point.load())
        except ImportError as error:
            return _missing_command(cmd_name, missing_text(error, point.module))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is meant; the refusal of an unknown one names the nearest."""
        near = get_close_matches(args[0], offered(), n=1)
        if near and args[0] not in offered() and not ctx.resilient_parsing:
            ctx.fail(f"No such command '{args[0]}'. Did you mean '{near[0]}'?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what it lacks only while it runs is told like what it lacks at once."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            point = offered().get(str(ctx.invoked_subcommand))
            library = (error.name or "").partition(".")[0]
            if point is None or library == point.module.partition(".")[0]:
                raise
            _tell_missing(point.name, missing_text(error, point.module))


@cache
def offered() -> dict[str, EntryPoint]:
    """Return all commands by name, found in the metadata of every installed package, once."""
    return {point.name: point for point in entry_points(group="percept.commands")}


def _listed_command(summary: str) -> Callable[[], None]:
    def listed() -> None:
        """Do nothing: what is listed is not run."""

    listed.__doc__ = summary
    return listed


def _click_command(name: str, offered: Any) -> Any:
    if not isinstance(offered, typer.Typer):
        function, offered = offered, typer.Typer(pretty_exceptions_enable=False)
        offered.command(name)(function)
    command = typer.main.get_command(offered)
    command.name = name
    return command


# Its arguments are those of the command that is missing, so none is wrong, not even `--help`.
_ANY_ARGUMENTS: Final[dict[str, Any]] = {
    "ignore_unknown_options": True,
    "allow_extra_args": True,
    "help_option_names": [],
}


def _missing_command(name: str, told: str) -> Any:
    def missing() -> None:
        _tell_missing(name, told)

    lacking = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    lacking.command(name, context_settings=_ANY_ARGUMENTS)(missing)
    return typer.main.get_command(lacking)


def _tell_missing(name: str, told: str) -> NoReturn:
    typer.echo(f"percept {name}: {told}", err=True)
    raise typer.Exit(2)


app = typer.Typer(
    name="percept",
    cls=PackageCommands,
    help="Dynamic multi-pattern rules over live event streams.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it with the option's value
    if wanted:
        typer.echo(f"percept {version('percept')}")
        raise typer.Exit


@app.callback()
def root(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Dynamic multi-pattern rules over live event streams."""


def main() -> None:
    """Run the command line.

    What the encoding of its output lacks is written as an escape. Once nobody reads that any more,
    as after `| head -1`, the command ends in silence with 0.
    """
    output = sys.stdout
    if not isinstance(output, TextIOWrapper):
        app()
        return
    output.reconfigure(errors="backslashreplace")
    descriptor = output.fileno()
    pipe = os.dup(descriptor)
    try:
        app()
    except SystemExit as end:
        # Where a pipe breaks, click ends with 1 and puts a wrapper in place of the output; so does
        # Rich, and nothing in place of its file.
        is_replaced = sys.stdout is not output or not os.path.sameopenfile(pipe, descriptor)
        if (is_replaced or not end.code) and _is_unread(pipe):
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
            raise SystemExit(0) from None
        raise


def _is_unread(descriptor: int) -> bool:
    """Return whether this is a pipe that nobody reads."""
    if sys.platform == "win32":
        return False
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(found & select.POLLERR for _, found in poll.poll(0))


def summary_of(point: EntryPoint) -> str | None:
    """Return the first sentence of a command's help; `None` if its source does not show it.

    It is read from the source, so that nothing is imported for a list of commands.
    """
    source = _source_of(point.module)
    if source is None:
        return None
    for node in ast.parse(source.read_bytes()).body:
        text = _help_in(node, point.attr)
        if text:
            return text.partition("\n\n")[0].replace("\n", " ")
    return None


def _source_of(module: str) -> Path | None:
    top, *rest = module.split(".")
    found = find_spec(top)  # of a package in another one it would import that
    if found is None or found.origin is None:
        return None
    place = Path(found.origin)
    path = place.parent.joinpath(*rest).with_suffix(".py") if rest else place
    return path if path.is_file() else None


def _help_in(node: ast.stmt, name: str) -> str | None:
    match node:
        case ast.FunctionDef(name=found) if found == name:
            return ast.get_docstring(node)
        case ast.Assign(targets=[ast.Name(id=found)], value=ast.Call(keywords=keywords)) if (
            found == name
        ):
            for keyword in keywords:
                if keyword.arg == "help" and isinstance(keyword.value, ast.Constant):
                    return str(keyword.value.value)
    return None
