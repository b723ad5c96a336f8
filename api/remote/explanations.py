"""Tells why a rule of the service found no match for a key in a span, as one of its workers does.

Client.why_no_match ──► lines for people, or one JSON object
"""

import typer
from rich.console import Console
from rich.text import Text

from api.client import Client, NotExplained, NotFound
from api.connected import end
from api.remote.known_rules import end_unknown
from cep.printable import printable, printable_json
from cep.trials.key_history import KeySpan


def tell_explanation(  # noqa: PLR0913 - options of the command
    client: Client, rule: str, span: KeySpan, attempts: int, *, wait_seconds: float, as_json: bool
) -> None:
    """Print why there was no match.

    Raises:
        Exit: there is no such rule, or no worker has told.
        ServiceError: the service does not answer, or refuses; no worker has the archive.
    """
    try:
        told = client.why_no_match(
            rule,
            span.key,
            since=span.from_ms,
            until=span.until_ms,
            attempts=attempts,
            timeout_seconds=wait_seconds,
        )
    except NotFound:
        end_unknown(client, rule)
    except NotExplained as error:
        end(f"{error}")
    if as_json:
        typer.echo(printable_json(told.model_dump(mode="json")))
        return
    console = Console(highlight=False, soft_wrap=True)
    for line in told.lines:
        console.print(Text(printable(line.text), style=line.style))
