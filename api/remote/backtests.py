"""`percept backtests`: asked for at the service, run by its workers, listed, shown, cancelled."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from api.client import Backtest, BacktestLine, Client, NotEnded
from api.client.backtests import NO_WORKER
from api.connected import end, service_command
from api.remote.changing import Comment
from api.remote.known_rules import rules_named
from api.remote.printing import AsJson, say, say_json
from api.remote.readers import until_interrupted
from api.remote.rule_files import one_rule
from cep.instants import iso_text
from cep.printable import printable_json
from cep.terminal_tables import print_table
from contract.backtest_text import report_lines

backtests_app = typer.Typer(
    name="backtests",
    help="Backtests that workers of the service run: ask for one, list, show, cancel.",
    no_args_is_help=True,
)

Number = Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="That of the backtest.")]
_COLUMNS = ("NUMBER", "RULE", "VERSION", "STATE", "MATCHES", "GAINED", "LOST", "REQUESTED", "BY")


@backtests_app.command("run")
@service_command
def run(  # noqa: PLR0913 - the options of one command
    client: Client,
    rule: Annotated[str, typer.Argument(metavar="RULE", help="Its id, or a file with it.")],
    *,
    version: Annotated[
        int | None, typer.Option(min=1, help="Which version of it. [the current one]")
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="Compare with this version; 'published' = what is.")
    ] = None,
    begin: Annotated[
        str | None, typer.Option("--from", help="Only events from here on (ISO 8601).")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", help="Only events before (ISO 8601).")
    ] = None,
    leave_windows_open: Annotated[
        bool,
        typer.Option(
            "--leave-windows-open", help="Do not close windows that are open after the last event."
        ),
    ] = False,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Print its number and do not wait for it.")
    ] = False,
    timeout: Annotated[
        float, typer.Option(min=0, help="How many seconds to wait for its end.")
    ] = 900,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    comment: Comment = "",
) -> None:
    """Run RULE over the events of the past, where workers of the service have them.

    Exit code 0 = done, 1 = it failed, was cancelled or has not ended, or the service refused, 2 =
    an option or the file is wrong.
    """
    with until_interrupted():
        asked = client.backtests.request(
            _tried(client, rule),
            version=version,
            against=_against(against),
            since=begin,
            until=until,
            closes_windows=not leave_windows_open,
            comment=comment,
        )
        if no_wait:
            say(printable_json(asked.model_dump(mode="json")) if as_json else f"{asked.number}")
            return
        say(f"backtest {asked.number} of {asked.processor_id} waits for a worker", err=True)
        try:
            ended = client.backtests.wait(asked.number, timeout_seconds=timeout)
        except NotEnded as error:
            end(f"{error}; `percept backtests show {asked.number}` goes on looking at it")
        _print(ended, as_json=as_json)


@backtests_app.command("list")
@service_command
def list_backtests(
    client: Client,
    *,
    rule: Annotated[str | None, typer.Option(help="Only of this rule.")] = None,
    stream: Annotated[str | None, typer.Option(help="Only of this stream.")] = None,
    state: Annotated[
        str | None, typer.Option(help="Only queued, running, done, failed or cancelled ones.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the backtests that are kept, newest first."""
    with until_interrupted():
        found = client.backtests.list(rule=rule, stream=stream, state=state)
        if as_json:
            for each in found:
                say_json(each)
        elif not print_table(_COLUMNS, map(_cells, found)):
            typer.echo("no backtests", err=True)


@backtests_app.command("show")
@service_command
def show(
    client: Client,
    number: Number,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show how far a backtest is, or what it has found.

    Exit code 0 = done, 1 = it failed or was cancelled, or the service did not answer or refused, 2
    = an option is wrong.
    """
    found = client.backtests.read(number)
    if found.has_ended:
        _print(found, as_json=as_json)
    elif as_json:
        say_json(found)
    else:
        say(f"backtest {number} is {_how_far(client, found)}")


@backtests_app.command("cancel")
@service_command
def cancel(
    client: Client,
    number: Number,
    *,
    comment: Comment = "",
) -> None:
    """Cancel a backtest that waits or runs; one that has ended stays as it is."""
    say(f"backtest {number} is {client.backtests.cancel(number, comment=comment).state}")


def _tried(client: Client, rule: str) -> str | Mapping[str, Any]:
    path = Path(rule)
    if path.is_file():
        return one_rule(path)
    (known,) = rules_named(client, [rule])
    return known.id


def _against(text: str | None) -> Any:
    return int(text) if text is not None and text.isdecimal() else text


def _print(backtest: Backtest, *, as_json: bool) -> None:
    if as_json:
        say_json(backtest)
    elif backtest.report is not None:
        for line in report_lines(backtest.report):
            typer.echo(line)
    if backtest.state != "done" or backtest.error:
        end(f"backtest {backtest.number} {backtest.state}: {backtest.error or 'by hand'}")


def _how_far(client: Client, backtest: BacktestLine) -> str:
    if backtest.state == "queued":
        workers = client.backtests.workers(backtest.stream)
        return "queued" if workers else f"queued; {NO_WORKER}"
    return f"running: {backtest.events_done:,} of {backtest.events_total or '?':,} events"


def _cells(each: BacktestLine) -> tuple[str, ...]:
    tried = "draft" if each.version is None else f"{each.version}"
    against = "" if each.against_version is None else f" against {each.against_version}"
    counts = (each.matches, each.gained, each.lost)
    return (
        f"{each.number}",
        each.processor_id,
        f"{tried}{against}",
        each.state,
        *("" if count is None else f"{count:,}" for count in counts),
        iso_text(each.created_at),
        each.created_by,
    )
