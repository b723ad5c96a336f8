"""`percept test`: the composition root of tests of rules in files.

Exit codes: 0 = all passed; 1 = something failed; 2 = nothing could be tested.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from api.offline.junit import write_junit
from api.offline.outcomes import Outcome
from api.offline.reporting import Detail, TestReporter
from api.offline.streams import streams_at_hand
from api.offline.testing import Surroundings, outcomes_of
from api.trials.processes import TrialProcesses
from cep.definition.given_lists import GivenList, read_list_options
from cep.definition.list_documents import is_list, lists_beside
from cep.definition.rule_files import STANDARD_INPUT, FileDocument, read_documents
from cep.file_trouble import file_trouble
from cep.printable import printable
from cep.signing.keys import SigningKeys

FAILED = 1
NOTHING_TESTED = 2


def run_tests(  # noqa: PLR0913 - the options of one command
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH…", help="Files or folders of YAML or JSON documents; - = stdin."
        ),
    ],
    *,
    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select",
            "-k",
            help="Only rules with this in their id, stream or file; * and ? as in file names. May "
            "be repeated: any of them.",
        ),
    ] = None,
    streams: Annotated[
        list[Path] | None,
        typer.Option(help="File or folder to look for documents of streams in; may be repeated."),
    ] = None,
    lists: Annotated[
        list[str] | None,
        typer.Option(
            "--list",
            metavar="NAME=FILE",
            help="CSV with the values of a list that rules name; NAME:BIGINT=FILE, NAME:DATE=FILE "
            "if they are no text; may be repeated.",
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(help="Write the outcomes to this file, too, as JUnit XML.")
    ] = None,
    fail_on_warning: Annotated[
        bool, typer.Option("--fail-on-warning", help="A warning is a failure.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Only failures and the summary.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Every example, too.")] = False,
    seconds: Annotated[
        float,
        typer.Option(min=0.1, max=600, help="How long the examples of one rule may take."),
    ] = 10,
    megabytes: Annotated[
        int, typer.Option(min=50, help="How much memory they may take; enforced on Linux only.")
    ] = 500,
    signing_keys: Annotated[
        str | None,
        typer.Option(
            envvar="PERCEPT_SIGNING_KEYS",
            help="Keys that Python code in rules is signed with, to check it.",
            show_envvar=True,
        ),
    ] = None,
) -> None:
    """Test the rules in files without a service: all checks, warnings, and their examples.

    The documents are those that `percept apply` takes; the columns come from the documents of
    streams among them, or beside a file that is named alone.

    Exit code 0 = all passed, 1 = something failed, 2 = nothing could be tested.
    """
    begun = time.perf_counter()
    detail = Detail.FAILURES if quiet else Detail.EXAMPLES if verbose else Detail.RULES
    named = (path for path in (*paths, *(streams or ())) if path != STANDARD_INPUT)
    if missing := [path for path in named if not path.exists()]:
        _fail(f"there is no file or folder {missing[0]}")
    reporter = TestReporter(detail, by_warnings=fail_on_warning)
    keys, given = _keys(signing_keys), _given(lists or ())
    documents, unreadable = read_documents(paths)
    known, unread_streams = streams_at_hand(documents, paths, streams or ())
    with closing(TrialProcesses(seconds, megabytes)) as processes:
        found = outcomes_of(
            documents,
            dict.fromkeys([*unreadable, *unread_streams]),
            Surroundings(known, keys, processes, given, _neighbours(paths, streams or ())),
            lambda place: _is_selected(place, select or ()),
        )
        outcomes = list(_printed(found, reporter, len(documents)))
    if not outcomes:
        _fail(_nothing(documents, paths))
    reporter.summary(outcomes, time.perf_counter() - begun)
    if junit is not None:
        try:
            write_junit(junit, outcomes, by_warnings=fail_on_warning)
        except OSError as error:
            _fail(f"cannot write {junit}: {file_trouble(error)}")
    if any(outcome.is_failed(by_warnings=fail_on_warning) for outcome in outcomes):
        raise typer.Exit(FAILED)


def _printed(found: Iterator[Outcome], reporter: TestReporter, count: int) -> Iterator[Outcome]:
    """Yield outcomes, each printed; on a terminal a line says how far it is."""
    with reporter.progress() as tell:
        for number, outcome in enumerate(found, start=1):
            reporter.outcome(outcome)
            tell(f"{number:,} of {count:,} documents")
            yield outcome


def _is_selected(place: FileDocument, wanted: list[str] | tuple[()]) -> bool:
    texts = [*map(place.data.get, ("id", "name", "stream")), place.file.name]
    lowered = [str(text).lower() for text in texts if text is not None]
    patterns = [f"*{word.lower()}*" for word in wanted]
    return not patterns or any(fnmatchcase(text, each) for text in lowered for each in patterns)


def _keys(text: str | None) -> SigningKeys | None:
    try:
        return SigningKeys.from_text(text) if text else None
    except ValueError as error:
        _fail(f"PERCEPT_SIGNING_KEYS: {error}")


def _given(options: Sequence[str]) -> dict[str, GivenList]:
    try:
        return read_list_options(options)
    except ValueError as error:
        _fail(f"{error}")


def _neighbours(paths: Sequence[Path], more: Sequence[Path]) -> list[FileDocument]:
    """Return the documents of lists beside files that are named alone, and where streams are."""
    others, _ = read_documents(more)
    return [*(each for each in others if is_list(each.data)), *lists_beside(paths)]


def _nothing(documents: list[FileDocument], paths: list[Path]) -> str:
    if documents:
        return f"--select leaves none of {len(documents)} documents"
    return f"there is no document in {', '.join(map(str, paths))}"


def _fail(message: str) -> NoReturn:
    typer.echo(f"percept test: {printable(message)}", err=True)
    raise typer.Exit(NOTHING_TESTED)
