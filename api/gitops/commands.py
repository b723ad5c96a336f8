"""`percept apply` and `percept export`: the composition root of rules in files.

Exit codes: 0 = done, or nothing to do; 1 = something failed; 2 = what was given is wrong;
3 = with `--dry-run --detailed-exitcode`, there is something to do.
"""

import sys
from itertools import groupby
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer
from rich.text import Text

from api.client import Client, ServiceError
from api.connected import BAD_INPUT, FAILED, service_command
from api.gitops.changes import Plan
from api.gitops.execution import Execution
from api.gitops.exporting import FileFormat
from api.gitops.exporting import export as export_files
from api.gitops.planning import make_plan, problems_without_service
from api.gitops.proposing import changes_to_approve, propose
from api.gitops.reporting import Reporter
from cep.definition.rule_files import FileProblem, read_documents
from cep.file_trouble import file_trouble

CHANGES_WAIT: Final = 3

OneStream = Annotated[str | None, typer.Option("--stream", help="Only what belongs to it.")]


@service_command
def apply(  # noqa: PLR0913 - the options of one command
    client: Client,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH…", help="Files or folders of YAML or JSON documents; - = stdin."
        ),
    ],
    *,
    stream: OneStream = None,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            help="Delete processors of these streams that no file mentions, and lists if there are "
            "files of lists.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan and change nothing.")
    ] = False,
    detailed_exitcode: Annotated[
        bool,
        typer.Option("--detailed-exitcode", help="With --dry-run: exit code 3 if changes wait."),
    ] = False,
    as_proposals: Annotated[
        bool,
        typer.Option("--propose", help="Make proposals for others to approve instead."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    comment: Annotated[
        str, typer.Option(help="Why; kept in the log of the service, such as a commit id.")
    ] = "",
) -> None:
    """Bring the rule service to the state in files: show a plan, then carry it out.

    Nothing is changed unless every document is valid and fits the others. The rules of a stream are
    changed together, as one epoch, or not at all. A processor stays paused
    or running unless its file has `paused: true` or `paused: false`. Where a stream asks for
    approvals, what needs some can only be proposed, by --propose.

    Exit code 0 = done or nothing to do, 1 = something failed, 2 = a file or an option is wrong,
    3 = changes wait (--dry-run --detailed-exitcode).
    """
    reporter = Reporter()
    documents, unreadable = read_documents(files)
    if not documents:
        # An empty folder is a mistake far more often than the wish to delete everything.
        nothing = [FileProblem(file, "there is no document in it.") for file in files]
        _refuse(unreadable or nothing, reporter)
    try:
        plan, problems = make_plan(client, documents, stream, prune=prune)
    except ServiceError:
        if found := [*unreadable, *problems_without_service(documents)]:
            reporter.problems(found)
        raise
    if found := [*unreadable, *problems]:
        _refuse(found, reporter)
    reporter.plan(plan)
    if dry_run:
        raise typer.Exit(CHANGES_WAIT if detailed_exitcode and plan.changes else 0)
    if not as_proposals and (required := changes_to_approve(client, plan)):
        reporter.approvals_needed(required)
        raise typer.Exit(FAILED)
    if plan.changes and _agreed(yes=yes):
        if as_proposals:
            _propose(client, plan, comment, reporter)
        else:
            _carry_out(client, plan, comment, reporter)


@service_command
def export(
    client: Client,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write to.")],
    *,
    stream: OneStream = None,
    file_format: Annotated[
        FileFormat, typer.Option("--format", help="How files are written.")
    ] = FileFormat.YAML,
) -> None:
    """Write streams, lists and processors to files that `percept apply` finds unchanged."""
    if str(folder) == "-":
        message = "these are many files, which standard output cannot take; name a folder."
        raise typer.BadParameter(message, param_hint="DIR")
    reporter = Reporter()
    before = {*folder.rglob(f"*.{file_format.value}"), *folder.glob("lists/*/*.csv")}
    try:
        written = set(export_files(client, folder, stream, file_format))
    except OSError as error:
        reporter.err.print(
            Text(f"percept: cannot write {error.filename}: {file_trouble(error)}", style="red")
        )
        raise typer.Exit(FAILED) from None
    reporter.out.print(Text(f"{len(written)} files written to {folder}"))
    spellings = groupby(sorted(sorted(written), key=_folded), key=_folded)
    if alike := [same for _, files in spellings if len(same := list(files)) > 1]:
        text = "One of these replaces the other where the file system ignores capital letters:"
        reporter.err.print(Text(text, style="yellow"))
        for same in alike:
            reporter.err.print(Text(f"    {', '.join(map(str, same))}"))
    if stream is None and (others := sorted(before - written)):
        reporter.err.print(Text("Not on the service, and left as they are:", style="yellow"))
        for file in others:
            reporter.err.print(Text(f"    {file}"))


def _folded(file: Path) -> str:
    return str(file).lower()


def _refuse(problems: list[FileProblem], reporter: Reporter) -> NoReturn:
    reporter.problems(problems)
    raise typer.Exit(BAD_INPUT)


def _agreed(*, yes: bool) -> bool:
    """Return whether to continue; asks only on a terminal."""
    if yes or not _has_terminal():
        return True
    return typer.confirm("Make these changes?", abort=True)


def _has_terminal() -> bool:
    return sys.stdin.isatty()


def _propose(client: Client, plan: Plan, comment: str, reporter: Reporter) -> None:
    outcomes = propose(client, plan, comment, reporter.proposed)
    if any(outcome.error for outcome in outcomes):
        raise typer.Exit(FAILED)


def _carry_out(client: Client, plan: Plan, comment: str, reporter: Reporter) -> None:
    outcomes = Execution(client, comment, reporter.outcome, reporter.note).carry_out(plan)
    if not all(outcome.is_made for outcome in outcomes):
        reporter.failure(outcomes)
        raise typer.Exit(FAILED)
