"""`percept job`: what can be done with a job file without running it."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from processor_runtime.job_file.check_report import CheckReport, check_job_file
from processor_runtime.job_file.job import job_file_schema

JobFilePath = Annotated[Path, typer.Argument(metavar="JOB", help="Job file, YAML or JSON.")]

job_app = typer.Typer(
    name="job",
    help="Check a job file, mend a job's checkpoint, or prepare this machine for jobs.",
    no_args_is_help=True,
)


@job_app.command("check")
def check(
    path: JobFilePath,
    *,
    connect: Annotated[
        bool,
        typer.Option(
            "--connect", help="Ask for the rules and check them, and whether the source is there."
        ),
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0.001, help="With --connect: seconds to wait. Default: as the job file says."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check whether the job in JOB could start, without starting Spark.

    With --connect the first events in local JSON and CSV files are read, too.

    Exit code 0 = it could, 1 = the source of events is not there, no processors arrived, some of
    them cannot run, or no event can be read, 2 = the job file is wrong, or something it refers to
    is missing.
    """
    # What the discoverer logs is part of the report.
    logging.getLogger("percept").addHandler(logging.NullHandler())
    report = check_job_file(path, os.environ, connect=connect, timeout_seconds=timeout)
    if as_json:
        typer.echo(json.dumps(report.as_json(), indent=2, ensure_ascii=False))
    else:
        _print(report)
    raise typer.Exit(report.exit_code)


@job_app.command("schema")
def schema() -> None:
    """Print the JSON Schema of job files, for editors."""
    typer.echo(json.dumps(job_file_schema(), indent=2, ensure_ascii=False))


@job_app.command("skip-rule")
def skip(
    path: JobFilePath, rule: Annotated[str, typer.Argument(metavar="RULE", help="Id of the rule.")]
) -> None:
    """Leave RULE out of the batch that the job in JOB cannot finish, and of all after it.

    For a rule that ends the job, where the job does not find that out itself. The job must not be
    running. The rule stays out until it is replaced, paused or deleted.

    Exit code 0 = it is left out; 1 = nothing was changed; 2 = the job file is wrong.
    """
    from processor_runtime.skipping import skip_rule  # noqa: PLC0415 - Spark loads when needed

    raise typer.Exit(skip_rule(path, rule, Console(stderr=True)))


@job_app.command("prepare")
def prepare_machine() -> None:
    """Compile the matcher ahead on this machine: a minute of one core, once for each version.

    For images, and for machines that are measured. Without it the first job compiles it beside its
    work, with low priority, and runs rules in Python until that is done.

    Exit code 0 = it is compiled, 1 = it cannot be: numba is missing, or a place to keep it.
    """
    from cep.compiling import is_available  # noqa: PLC0415 - NumPy loads when it is needed

    if not is_available():
        message = (
            "compiled code needs numba (extra `spark`), and a directory such as ~/.cache/percept"
        )
        Console(stderr=True).print(message, style="red", markup=False, highlight=False)
        raise typer.Exit(1)
    for package in ("cep.nfa_kernel", "processor_runtime.output.compiled"):
        command = [sys.executable, "-m", package]
        if code := subprocess.run(command, check=False).returncode:  # noqa: S603 - our own
            raise typer.Exit(code)


def _print(report: CheckReport) -> None:
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    for line in report.trouble():
        errors.print(Text(line))
    table = Table.grid(padding=(0, 2))
    for name, value in report.summary():
        table.add_row(Text(name, style="bold"), Text(value))
    console = Console(highlight=False)
    if table.rows:
        console.print(table)
    if report.exit_code == 0:
        console.print(Text("good", style="green"))


def run(
    path: JobFilePath,
    *,
    spark_log: Annotated[
        Path | None,
        typer.Option(help="Where Spark's own log goes. Default: a file among temporary files."),
    ] = None,
) -> None:
    """Run the job in JOB until it ends or is stopped (Ctrl-C).

    Exit code 0 = it ended, or was stopped; 1 = it failed; 2 = the job file is wrong.
    """
    from processor_runtime.running import run_job  # noqa: PLC0415 - Spark loads when it is needed

    raise typer.Exit(run_job(path, spark_log, Console(stderr=True)))
