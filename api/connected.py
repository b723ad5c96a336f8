"""What every command that speaks with a rule service has: its options, and how errors end it.

    --url, --token, PERCEPT_* ──► service_command ──► Client; errors ──► standard error, exit code

Exit codes: 1 = the service did not answer, or refused; 2 = what was given is wrong.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, getdoc, signature
from typing import Annotated, Any, Concatenate, Final, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from api.client import Client, Invalid, ServiceError
from cep.printable import printable

FAILED: Final = 1
BAD_INPUT: Final = 2
EXIT_CODES: Final = (
    "Exit code 0 = done, 1 = something is not there or does not allow it, the service did not "
    "answer or refused, 2 = what was given is wrong."
)
DEFAULT_URL: Final = "http://127.0.0.1:8321"

Url = Annotated[
    str, typer.Option(envvar="PERCEPT_URL", help="Where the rule service is.", show_envvar=True)
]
Token = Annotated[
    str,
    typer.Option(
        envvar="PERCEPT_TOKEN",
        help="Access token; better given by the variable, since others see the arguments.",
        show_envvar=True,
    ),
]
PlainHttp = Annotated[
    bool,
    typer.Option(
        "--allow-plain-http",
        envvar="PERCEPT_ALLOW_PLAIN_HTTP",
        help="Send the token unencrypted to another machine.",
        show_envvar=True,
    ),
]


@contextmanager
def connected(url: str, token: str, *, allow_plain_http: bool) -> Iterator[Client]:
    """Yield a client; an error of the service ends the command and is told.

    Raises:
        Exit: the service did not answer, refused, or what it was asked is wrong.
    """
    try:
        client = Client(url, token, allow_plain_http=allow_plain_http)
    except ValueError as error:
        raise typer.BadParameter(f"{error}.", param_hint="--url") from None
    with client:
        try:
            yield client
        except ServiceError as error:
            end(str(error), code=BAD_INPUT if isinstance(error, Invalid) else FAILED)


def service_command(command: Callable[Concatenate[Client, ...], None]) -> Callable[..., None]:
    """Return a command that is called with a client instead of the options to make it from.

    Its `--token` and `--url` come behind its arguments, `--allow-plain-http` at the end. An error
    of the service ends it and is told. Its help ends with exit codes, its own if it has some.
    """

    @wraps(command)
    def run(*, token: str, url: str, allow_plain_http: bool, **options: Any) -> None:
        with connected(url, token, allow_plain_http=allow_plain_http) as client:
            command(client, **options)

    _, *own = signature(command).parameters.values()
    parameters = [
        *(each for each in own if each.kind is not Parameter.KEYWORD_ONLY),
        Parameter("token", Parameter.KEYWORD_ONLY, annotation=Token),
        Parameter("url", Parameter.KEYWORD_ONLY, annotation=Url, default=DEFAULT_URL),
        *(each for each in own if each.kind is Parameter.KEYWORD_ONLY),
        Parameter("allow_plain_http", Parameter.KEYWORD_ONLY, annotation=PlainHttp, default=False),
    ]
    run.__signature__ = signature(command).replace(  # type: ignore[attr-defined] # Typer reads it
        parameters=[each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters]
    )
    text = getdoc(command) or ""
    run.__doc__ = text if "Exit code" in text else f"{text}\n\n{EXIT_CODES}"
    return run


def tell_error(message: str) -> None:
    """Print what is wrong to standard error."""
    err = Console(stderr=True, highlight=False, soft_wrap=True)
    err.print(Text(printable(f"percept: {message}"), style="red"))


def end(message: str, *, code: int = FAILED) -> NoReturn:
    """End the command and say why."""
    tell_error(message)
    raise typer.Exit(code)
