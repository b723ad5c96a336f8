"""`percept signing-key`: a new key that Python code is signed with."""

from typing import Annotated

import typer

from cep.signing.keys import SigningKey


def signing_key(
    key_id: Annotated[
        str, typer.Argument(metavar="ID", help="What to call it, such as its month: 2026-11.")
    ],
) -> None:
    """Print a new signing key for PERCEPT_SIGNING_KEYS; it is stored nowhere.

    Service, jobs and those who publish code need the same keys. Newest first, with commas between
    them: the first one signs, all of them verify.
    """
    try:
        typer.echo(SigningKey.new(key_id).to_text())
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="ID") from None
