"""`percept webhooks`: where the service tells what needs attention; for admins."""

from typing import Annotated

import typer

from api.client import Client
from api.connected import end, service_command
from api.remote.printing import say
from cep.instants import iso_text
from cep.pattern.problems import did_you_mean
from cep.terminal_tables import print_table
from contract.service.webhooks import EVENT_KINDS, WebhookView, WebhookWithSecret

webhooks_app = typer.Typer(
    name="webhooks",
    help="Webhooks of the service: list, create, test, enable, disable, delete; their deliveries.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="That of the webhook.")]


@webhooks_app.command("list")
@service_command
def list_webhooks(
    client: Client,
) -> None:
    """List all webhooks."""
    found = client.webhooks.list()
    lines = (
        (
            each.name,
            "enabled" if each.enabled else "disabled",
            each.stream or "all",
            ", ".join(each.events),
            f"{each.pending:,}",
            each.url,
        )
        for each in found
    )
    if not print_table(("NAME", "STATE", "STREAM", "EVENTS", "PENDING", "URL"), lines):
        typer.echo("there are no webhooks", err=True)


@webhooks_app.command("create")
@service_command
def create(
    client: Client,
    name: Name,
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="https://… of the receiver.")],
    *,
    event: Annotated[
        list[str],
        typer.Option(help="What it is told of, as job.stale; again for each. [all of them]"),
    ] = [*EVENT_KINDS],  # noqa: B006 - never changed
    stream: Annotated[str | None, typer.Option(help="Only of this stream.")] = None,
) -> None:
    """Make a webhook and print its secret, which is shown this once."""
    _print_secret(client.webhooks.create(name, address, event, stream=stream))


@webhooks_app.command("new-secret")
@service_command
def new_secret(
    client: Client,
    name: Name,
) -> None:
    """Give a webhook another secret and print it; the one before signs nothing any more."""
    _print_secret(client.webhooks.renew_secret(_named(client, name).id))


@webhooks_app.command("test")
@service_command
def send_test(
    client: Client,
    name: Name,
) -> None:
    """Send a test message; `percept webhooks deliveries` tells what became of it."""
    sent = client.webhooks.test(_named(client, name).id)
    say(f"{name}: test {sent.number} is on its way")


@webhooks_app.command("enable")
@service_command
def enable(
    client: Client,
    name: Name,
) -> None:
    """Let a webhook be told again; messages that have waited are sent."""
    client.webhooks.change(_named(client, name).id, enabled=True)
    say(f"{name}: enabled")


@webhooks_app.command("disable")
@service_command
def disable(
    client: Client,
    name: Name,
) -> None:
    """Tell a webhook nothing for now."""
    client.webhooks.change(_named(client, name).id, enabled=False)
    say(f"{name}: disabled")


@webhooks_app.command("delete")
@service_command
def delete(
    client: Client,
    name: Name,
) -> None:
    """Remove a webhook with all its messages."""
    client.webhooks.delete(_named(client, name).id)
    say(f"{name}: deleted")


@webhooks_app.command("deliveries")
@service_command
def deliveries(
    client: Client,
    name: Name,
) -> None:
    """List messages to a webhook, newest first, and what became of them."""
    found = list(client.webhooks.deliveries(_named(client, name).id))
    lines = (
        (
            str(each.number),
            iso_text(each.created_at),
            each.event,
            each.state,
            str(each.attempts),
            each.error or ("" if each.status is None else str(each.status)),
        )
        for each in found
    )
    if not print_table(("NUMBER", "AT", "EVENT", "STATE", "ATTEMPTS", "ANSWER"), lines):
        typer.echo("nothing was sent to it", err=True)


def _named(client: Client, name: str) -> WebhookView:
    known = {webhook.name: webhook for webhook in client.webhooks.list()}
    if name not in known:
        end(f"there is no webhook {name}. {did_you_mean(name, known)}".rstrip())
    return known[name]


def _print_secret(made: WebhookWithSecret) -> None:
    say(f"{made.name}: its secret, shown this once:")
    say("")
    say(f"  {made.secret}")
