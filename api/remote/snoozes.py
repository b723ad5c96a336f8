"""`percept snooze`, `percept snoozes` and `percept unsnooze`: a rule is quiet for a while."""

from typing import Annotated

import typer

from api.client import Client
from api.connected import BAD_INPUT, end, service_command
from api.remote.changing import Comment
from api.remote.known_rules import rules_named
from api.remote.printing import AsJson, say, say_json
from cep.instants import iso_text
from cep.terminal_tables import print_table
from contract.service.snoozes import SnoozeView

Rule = Annotated[str, typer.Argument(metavar="RULE", help="Its id.")]
Key = Annotated[str | None, typer.Option(help="Only for this key, as `percept matches` shows it.")]


@service_command
def snooze(  # noqa: PLR0913 - the options of one command
    client: Client,
    rule: Rule,
    *,
    key: Key = None,
    until: Annotated[str | None, typer.Option(help="An instant, as 2026-11-24T08:00Z.")] = None,
    for_time: Annotated[
        str | None, typer.Option("--for", help="How long from now on, as 1h or '2 days'.")
    ] = None,
    comment: Comment = "",
) -> None:
    """Hold the matches of a rule back for a while; they are counted and kept as suppressed."""
    if (until is None) == (for_time is None):
        end("until when? Give --until or --for, one of them", code=BAD_INPUT)
    (found,) = rules_named(client, [rule])
    begun = client.snoozes(found.id).begin(until=until, for_time=for_time, key=key, comment=comment)
    say(f"{rule}: {_begin_text(begun)}")


@service_command
def snoozes(
    client: Client,
    rule: Annotated[str | None, typer.Argument(metavar="[RULE]", help="Only this one.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List what is snoozed, of one rule or all."""
    if rule is None:
        found = [each for stream in client.streams() for each in client.snoozed(stream.name)]
    else:
        (known,) = rules_named(client, [rule])
        found = client.snoozes(known.id).list()
    if as_json:
        for each in found:
            say_json(each)
        return
    lines = (
        (
            each.processor_id,
            "all keys" if each.key is None else each.key,
            _instant(each) + (", over" if each.is_over else ""),
            each.created_by,
            each.comment,
        )
        for each in found
    )
    if not print_table(("RULE", "KEY", "UNTIL", "BY", "WHY"), lines):
        typer.echo("nothing is snoozed", err=True)


@service_command
def unsnooze(
    client: Client,
    rule: Rule,
    *,
    key: Key = None,
    everything: Annotated[bool, typer.Option("--all", help="End all snoozes of the rule.")] = False,
    comment: Comment = "",
) -> None:
    """End a snooze of a rule before its time: that of all keys, unless --key or --all says else."""
    if everything and key is not None:
        end("--key and --all do not go together", code=BAD_INPUT)
    (known,) = rules_named(client, [rule])
    handle = client.snoozes(known.id)
    found = [each for each in handle.list() if everything or each.key == key]
    if not found:
        end(f"{rule} is not snoozed so; `percept snoozes {rule}` shows how it is")
    for each in found:
        handle.end(each.number, comment=comment)
        say(f"{rule}: no longer snoozed for {_of(each)}")


def _begin_text(begun: SnoozeView) -> str:
    return f"snoozed for {_of(begun)} until {_instant(begun)}"


def _of(each: SnoozeView) -> str:
    return "all keys" if each.key is None else f"key {each.key}"


def _instant(each: SnoozeView) -> str:
    return iso_text(each.until)
