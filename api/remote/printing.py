"""How commands print what the service answers: lines for people, JSON Lines for programs."""

from typing import Annotated, Any

import typer
from pydantic import BaseModel
from rich.console import Console
from rich.text import Text

from cep.printable import printable, printable_json

AsJson = Annotated[bool, typer.Option("--json", help="JSON Lines, for programs.")]


def say(text: str, style: str = "", *, err: bool = False) -> None:
    """Print a line, whatever is in it; to standard error if `err`."""
    Console(stderr=err, highlight=False, soft_wrap=True).print(Text(printable(text), style=style))


def say_json(told: BaseModel | Any) -> None:
    """Print what was answered as a line of JSON, with the names that the service gives to it."""
    is_model = isinstance(told, BaseModel)
    data = told.model_dump(mode="json", by_alias=True) if is_model else told
    typer.echo(printable_json(data))
