"""Prints why a rule found no match for one key in a span of time."""

import typer
from rich.console import Console
from rich.text import Text

from cep.printable import printable, printable_json
from cep.trials.reports import SpanReport
from cep.trials.words import span_lines


def print_span(name: str, report: SpanReport, *, as_json: bool) -> None:
    """Print a report, in words or as one JSON object.

    Args:
        name: of the rule.
        report: what was found.
        as_json: whether it is for programs.
    """
    if as_json:
        typer.echo(printable_json(report.model_dump(mode="json")))
        return
    console = Console(highlight=False, soft_wrap=True)
    for line, style in span_lines(name, report):
        console.print(Text(printable(line), style=style))
