"""Runs the conformance vectors on any engine: `python -m tests.conformance --help`.

Prints totals per vector file and the first differences; pytest runs the same cases in
`test_conformance`.
"""

from importlib import import_module
from typing import Annotated

import typer

from tests.conformance.cases import ANSWERED, Case, load
from tests.conformance.outcome import (
    Agreement,
    Failure,
    Outcome,
    agreement,
    counts_agree,
    differences,
)
from tests.conformance.target import Target
from tests.conformance.totals import Verdict, table


def main(
    files: Annotated[list[str] | None, typer.Argument(help="Vector files; all by default.")] = None,
    target: Annotated[
        str, typer.Option(help="The engine, as module:function (see target.Target).")
    ] = "tests.conformance.target:find_matches_outcome",
    only: Annotated[str, typer.Option(help="Run only cases whose id contains this.")] = "",
    show: Annotated[int, typer.Option(help="How many differing cases to print.")] = 5,
) -> None:
    """Print how far an engine agrees with Flink; exit with 1 if a case differs as a multiset."""
    module, _, function = target.partition(":")
    run: Target = getattr(import_module(module), function)
    verdicts, shown = [], 0
    for file in files or ANSWERED:
        for case in load(file):
            if only not in case.id:
                continue
            actual = _outcome(run, case)
            reached, counts = agreement(case.expected, actual), counts_agree(case.expected, actual)
            verdicts.append(Verdict(file, reached, counts))
            if shown < show and (reached < Agreement.LIST or not counts):
                shown += 1
                typer.echo(f"{case.id}: {case.note or ''}\n  {case.pattern}")
                typer.echo("".join(f"  {line}\n" for line in differences(case.expected, actual)))
    for line in table(verdicts):
        typer.echo(line)
    raise typer.Exit(any(verdict.agreement == Agreement.NONE for verdict in verdicts))


def _outcome(run: Target, case: Case) -> Outcome:
    try:
        return run(case.pattern, case.events, case.final_watermark_ms)
    except Exception as error:  # noqa: BLE001 - one crash must not hide the other cases
        typer.echo(f"{case.id}: {type(error).__name__}: {error}")
        return Outcome(failure=Failure.CRASHED)


if __name__ == "__main__":
    typer.run(main)
