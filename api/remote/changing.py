"""`percept pause`, `percept resume` and `percept rollback`: what runs is changed at once.

Rules are read first: a name that is not known ends the command before anything is changed, and a
change is made only to the state that was read.
"""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from api.client import Client, NotFound, Outdated, Processor
from api.connected import FAILED, end, service_command, tell_error
from api.gitops.checking import LABELS
from api.gitops.comparison import text_diff
from api.remote.known_rules import (
    as_it_was_read,
    changed_meanwhile,
    deleted_rule,
    end_unknown,
    rules_named,
)
from api.remote.printing import say
from cep.definition.text import in_usual_order

Rules = Annotated[list[str], typer.Argument(metavar="RULE…", help="Ids of rules.")]
Comment = Annotated[str, typer.Option(help="Why; kept in the log of the service.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be changed, and change nothing.")
]


@service_command
def pause(
    client: Client,
    rules: Rules,
    *,
    comment: Comment = "",
    dry_run: DryRun = False,
) -> None:
    """Pause rules: jobs stop them and drop their partial matches; their versions are kept."""
    _switch(client, rules, client.pause, "paused", comment=comment, dry_run=dry_run)


@service_command
def resume(
    client: Client,
    rules: Rules,
    *,
    comment: Comment = "",
    dry_run: DryRun = False,
) -> None:
    """Resume paused rules."""
    _switch(client, rules, client.resume, "resumed", comment=comment, dry_run=dry_run)


@service_command
def rollback(
    client: Client,
    rule: Annotated[str, typer.Argument(metavar="RULE", help="Its id.")],
    *,
    to: Annotated[int, typer.Option("--to", min=1, help="The version whose content it gets.")],
    comment: Comment = "",
    dry_run: DryRun = False,
) -> None:
    """Publish the content of an old version of a rule as a new version; a deleted rule comes back.

    The lines that differ are shown. `percept show RULE --versions` lists the versions.
    """
    current, etag, old = _now(client, rule)
    try:
        wanted = client.version(rule, to).document
    except NotFound:
        numbers = [str(each.version) for each in client.versions(rule)]
        end(f"rule {rule} has no version {to}; it has {', '.join(reversed(numbers))}")
    _print_diff(old, _content(wanted))
    if dry_run:
        say(f"{rule}: would get the content of version {to}; {current}")
        return
    with as_it_was_read(rule):
        changed = client.roll_back(rule, to, if_match=etag, comment=comment)
    say(f"{rule}: version {changed.version} has the content of version {to}")
    for number in changed.withdrawn:
        say(f"{rule}: version {number}, which has a schedule, is withdrawn")


def _switch(  # noqa: PLR0913 - two commands in one
    client: Client,
    names: list[str],
    change: Callable[..., Processor],
    done: str,
    *,
    comment: str,
    dry_run: bool,
) -> None:
    failed = False
    for rule in rules_named(client, names):
        now = f"{rule.state}, version {rule.version}"
        if rule.is_paused == (done == "paused"):
            say(f"{rule.id}: nothing to do, it is {now}")
        elif dry_run:
            say(f"{rule.id}: would be {done}; it is {now}")
        else:
            try:
                change(rule.id, if_match=rule.etag, comment=comment)
            except Outdated:
                failed = True
                tell_error(changed_meanwhile(rule.id))
            else:
                say(f"{rule.id}: {done}")
    if failed:
        raise typer.Exit(FAILED)


def _now(client: Client, rule: str) -> tuple[str, str, dict[str, Any]]:
    """Return what a rule is now, in words, its ETag and its content; of a deleted one none."""
    try:
        processor = client.get(rule)
    except NotFound:
        line = deleted_rule(client, rule)
        if line is None:
            end_unknown(client, rule)
        return "it is deleted", line.etag, {}
    message = f"it is {processor.state}, version {processor.version}"
    return message, processor.etag, _content(processor.document)


def _content(document: dict[str, Any]) -> dict[str, Any]:
    names = {"id", "stream", *LABELS}
    return in_usual_order({key: value for key, value in document.items() if key not in names})


def _print_diff(old: dict[str, Any], new: dict[str, Any]) -> None:
    for line in text_diff([old] if old else [], [new]):
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        say(f"    {line}", style)
