"""The `percept` command: one root, to which each package adds its own sub-commands.

A package offers a sub-command as an entry point of the group `percept.commands`: its name, and a
typer application or a plain function. It is imported only when it is used.
"""

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points, version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from percept.command_summaries import summary_of


class PackageCommands(TyperGroup):
    """The commands that installed packages offer."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return all names, sorted."""
        del ctx
        return sorted(_offered())

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
        point = _offered().get(cmd_name)
        if point is None:
            return None
        summary = summary_of(point) if self._is_listing else None
        if summary is not None:
            return _click_command(cmd_name, _told(summary))
        try:
            return _click_command(cmd_name, point.load())
        except ImportError as error:
            return _click_command(cmd_name, _not_installed(error))


def _offered() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group="percept.commands")}


def _told(summary: str) -> Callable[[], None]:
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


def _not_installed(error: ImportError) -> Callable[[], None]:
    def missing() -> None:
        typer.echo(f"percept: {error}; install percept with the extra that brings it", err=True)
        raise typer.Exit(2)

    missing.__doc__ = "Not installed: a package it needs is missing."
    return missing


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
    """Run the command line."""
    app()
