"""Prints outcomes as they come: a line per rule below its file, and a summary."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path

from rich.console import Console
from rich.text import Text

from api.offline.outcomes import Outcome
from cep.definition.rule_files import FileProblem
from cep.printable import printable


class Detail(IntEnum):
    """How much is printed."""

    FAILURES = 0
    RULES = 1
    EXAMPLES = 2


class TestReporter:
    """Prints for people.

    Args:
        detail: how much.
        by_warnings: a warning is a failure.
    """

    __test__ = False

    def __init__(self, detail: Detail, *, by_warnings: bool) -> None:
        self._out = Console(highlight=False, soft_wrap=True)
        self._detail = detail
        self._by_warnings = by_warnings
        self._file: Path | None = None

    @contextmanager
    def progress(self) -> Iterator[Callable[[str], None]]:
        """Yield what says on the last line of a terminal how far it is; elsewhere nothing."""
        if not self._out.is_terminal:
            yield lambda _told: None
            return
        with self._out.status("checking") as status:
            yield status.update

    def outcome(self, outcome: Outcome) -> None:
        """Print how one document went."""
        is_failed = outcome.is_failed(by_warnings=self._by_warnings)
        if self._detail is Detail.FAILURES and not is_failed:
            return
        if outcome.file != self._file:
            self._file = outcome.file
            self._print(str(outcome.file), "bold")
        state, style = ("FAILED", "bold red") if is_failed else ("passed", "green")
        line = Text.assemble("  ", (state, style), printable(f"  {outcome.name}{_beside(outcome)}"))
        self._out.print(line)
        self._problems(outcome.problems, "red")
        for example in outcome.examples:
            if example.problems or self._detail is Detail.EXAMPLES:
                state, style = ("FAILED", "red") if example.problems else ("passed", "green")
                named = printable(f"  {example.name}")
                self._out.print(Text.assemble("    ", (state, style), named))
                self._problems(example.problems, "red", indent=6)
        for what in outcome.not_tested:
            self._print(f"    not tested: {what}", "yellow")
        self._problems(outcome.warnings, "yellow", "warning: ")

    def summary(self, outcomes: Sequence[Outcome], seconds: float) -> None:
        """Print how all of them went."""
        failed = sum(each.is_failed(by_warnings=self._by_warnings) for each in outcomes)
        examples = [example for each in outcomes for example in each.examples]
        parts = [f"{len(outcomes) - failed} passed"]
        parts += [f"{failed} failed"] if failed else []
        parts += [_counted(sum(len(each.warnings) for each in outcomes), "warning")]
        parts += [f"{sum(bool(each.not_tested) for each in outcomes)} not tested in full"]
        message = ", ".join(part for part in parts if part and not part.startswith("0 not"))
        message += f"; {_counted(len(examples), 'example')} run" if examples else "; no examples"
        self._print(f"{message}; {seconds:.1f} s", "bold red" if failed else "bold green")

    def _problems(
        self, problems: Sequence[FileProblem], style: str, kind: str = "", indent: int = 4
    ) -> None:
        for problem in problems:
            message = f"{kind}{problem}".replace("\n", "\n" + " " * indent)
            self._print(" " * indent + message, style)

    def _print(self, text: str, style: str) -> None:
        self._out.print(Text(printable(text), style=style))


def _beside(outcome: Outcome) -> str:
    return f": {_counted(len(outcome.examples), 'example')}" if outcome.examples else ""


def _counted(count: int, one: str) -> str:
    return f"{count} {one}{'' if count == 1 else 's'}" if count else ""
