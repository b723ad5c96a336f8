"""The output of the demo: a line per change; a progress bar on a terminal, lines elsewhere."""

import time
from collections.abc import Iterable
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from rich.text import Text

from cep.instants import iso_text
from examples.demo.replay import Done
from examples.demo.service import ReportedJob
from examples.demo.story import Act, Deed
from examples.demo.summary import Promise, Summary

_PLAIN_LINE_SECONDS: Final = 5.0
_PLAIN_WIDTH: Final = 110
_SYMBOLS: Final = {
    Deed.PAUSE: "‖",
    Deed.RESUME: "▶",
    Deed.LIST: "≡",
    Deed.WATCH: "!",
    Deed.PUBLISH: "+",
    Deed.SHADOW: "◐",
    Deed.PROMOTE: "●",
}


class Terminal:
    """The screen of the demo; a context manager, because the progress bar must be removed.

    Args:
        console: where to print.
        total_events: how many events there are to be fed.
    """

    def __init__(self, console: Console, total_events: int) -> None:
        self.console = console
        self._is_live = console.is_terminal
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            console=console,
            transient=True,
            disable=not self._is_live,
        )
        self._task = self._progress.add_task("Spark starts", total=total_events)
        self._told = ""
        self._told_at = 0.0

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def progress(self, job: ReportedJob, fed: int) -> None:
        """Show the progress of the job."""
        line = _progress_line(job)
        if self._is_live:
            self._progress.update(self._task, completed=fed, description=line)
        elif line != self._told and time.monotonic() - self._told_at >= _PLAIN_LINE_SECONDS:
            self._told, self._told_at = line, time.monotonic()
            self.say(f"  {line} · {fed:,} events fed", "dim")

    def begin(self, act: Act) -> None:
        """Show that an act begins."""
        symbol = _SYMBOLS[act.deed]
        what = f"{act.rule.id} v{act.version} {act.headline}"
        self.say(f"{symbol} {what}", "bold red" if act.deed is Deed.WATCH else "bold cyan")

    def note(self, line: str) -> None:
        """Show what is to be told of an act."""
        self.say(f"  {line}", "cyan")

    def taken(self, done: Done) -> None:
        """Show that it is in effect."""
        since = "" if done.active_from_ms is None else f", from {_short(done.active_from_ms)}"
        meanwhile = "1 event" if done.events == 1 else f"{done.events} events"
        self.say(
            f"  {done.act.wanted}{since}; took {done.seconds:.1f} s, {meanwhile} meanwhile", "green"
        )
        if done.error:
            self.say(f"  {done.error.rpartition(' raised ')[2]}", "red")

    def tell(self, lines: Iterable[str]) -> None:
        """Show a line of the job's own log."""
        for line in lines:
            head, raised, error = line.partition(" raised ")
            self.say(
                f"  job: {head.partition(', ')[0]}, {error}" if raised else f"  job: {line}", "dim"
            )

    def say(self, text: str, style: str = "") -> None:
        """Print a line without interpreting markup."""
        self.console.print(Text(text, style), soft_wrap=not self._is_live)

    def summarize(self, summary: Summary) -> None:
        """Print the results."""
        self.console.print(_versions_table(summary))
        self.console.print(_changes_table(summary))
        for promise in summary.promises:
            self.say(*_promise_line(promise))


def demo_console() -> Console:
    """Return the console; where there is no terminal, lines are not cut at 80 characters."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_PLAIN_WIDTH)


def _progress_line(job: ReportedJob) -> str:
    reached = "no events yet" if job.newest_event_time is None else _short(job.newest_event_time)
    parts = [
        reached,
        f"watermark {'none' if job.watermark is None else _short(job.watermark)}",
        f"epoch {job.epoch or 0}",
        f"{job.events_per_second:,.0f} events/s",
        f"{job.counters.matches:,} matches",
    ]
    return " · ".join(parts)


def _promise_line(promise: Promise) -> tuple[str, str]:
    if promise.is_kept:
        return f"kept    {promise.text}", "green"
    return f"BROKEN  {promise.text}: {promise.reason}", "bold red"


def _versions_table(summary: Summary) -> Table:
    table = Table(title="Matches per version", title_justify="left")
    table.add_column("rule")
    table.add_column("version", justify="right")
    table.add_column("found", justify="right")
    table.add_column("same events without a job", justify="right")
    for check in summary.versions:
        expected = f"{check.expected:,}" + ("" if check.is_same else " (others)")
        style = "" if check.is_same else "red"
        table.add_row(check.rule_id, str(check.version), f"{check.found:,}", expected, style=style)
    return table


def _changes_table(summary: Summary) -> Table:
    table = Table(title="Changes while the job ran", title_justify="left")
    table.add_column("rule")
    table.add_column("change", overflow="fold")
    table.add_column("job says")
    table.add_column("after", justify="right")
    for done in summary.done:
        table.add_row(
            f"{done.act.rule.id} v{done.act.version}",
            done.act.headline,
            done.act.wanted,
            f"{done.seconds:.1f} s",
        )
    return table


def _short(time_ms: int) -> str:
    return iso_text(time_ms)[:16].replace("T", " ")
