"""`make demo`: a rule service, a streaming job and real events, and rules that change meanwhile.

options ──► java ──► service ──► rules ──► job ──► replay ──► summary ──► exit code
"""

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import httpx2
import typer
from rich.console import Console

from examples.demo.events import STREAM, Feeder, load_events
from examples.demo.java import missing_java
from examples.demo.job import (
    KEYS_VARIABLE,
    TOKEN_VARIABLE,
    ChangeLines,
    output_rows,
    start_job,
    start_worker,
)
from examples.demo.processes import ProcessEnded
from examples.demo.replay import DemoFailed, Replay
from examples.demo.rules import FIRST_RULES, WATCH_LIST, WATCHED
from examples.demo.service import DemoService, demo_service, plain_environment
from examples.demo.story import ACTS
from examples.demo.summary import summarize
from examples.demo.team import Team
from examples.demo.terminal import Terminal, demo_console
from percept import ServiceError, SigningKey, SigningKeys

_STOPPED = 130  # as shells report Ctrl-C


def demo(
    *,
    once: Annotated[bool, typer.Option("--once", help="End after the summary.")] = False,
    keep: Annotated[
        Path | None,
        typer.Option(help="Directory for all files, which are kept; must be empty or not exist."),
    ] = None,
    pace: Annotated[
        float, typer.Option(min=0.1, help="Hours of event time per second.", show_default=True)
    ] = 5.0,
    fast: Annotated[bool, typer.Option("--fast", help="As fast as the job reads.")] = False,
) -> None:
    """Replay real ssh logs to a Spark job while its rules change, and show it in the dashboard.

    Afterwards the service and the job stay up until Ctrl-C. Exit code 0 = all checks passed, 1 = a
    check failed, 2 = it could not start.
    """
    if reason := missing_java(os.environ):
        raise _refused(reason)
    if keep is not None and keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise _refused(f"--keep: {keep} is not empty; choose another directory.")
    console = demo_console()
    is_good = False
    has_ended = False
    try:
        with _stopping_signals(), ExitStack() as stack:
            directory = _directory(stack, keep)
            is_good = _Demo(console, directory, None if fast else pace).run(stack)
            has_ended = True
            if not once:
                console.print("\nThe dashboard stays up; Ctrl-C ends the demo.", style="bold")
                while True:
                    signal.pause()
    except KeyboardInterrupt:
        console.print("Stopped.", style="bold")
        if not has_ended:
            raise typer.Exit(_STOPPED) from None
    except (DemoFailed, ProcessEnded, ServiceError, httpx2.HTTPError, OSError) as error:
        console.print(f"The demo has failed: {error}", style="bold red", markup=False)
        raise typer.Exit(1) from None
    raise typer.Exit(0 if is_good else 1)


class _Demo:
    """One run of the demo; everything it starts ends with the given stack."""

    def __init__(self, console: Console, directory: Path, pace: float | None) -> None:
        self._console = console
        self._directory = directory
        self._pace = pace

    def run(self, stack: ExitStack) -> bool:
        """Run the demo; return whether all checks passed."""
        keys = SigningKeys((SigningKey.new("demo"),))
        environment = plain_environment(
            **{
                KEYS_VARIABLE: keys.newest.to_text(),
                "PERCEPT_HEARTBEAT_SECONDS": "0.5",
                "PERCEPT_STALE_AFTER_HEARTBEATS": "120",
            }
        )
        self._console.print(f"Files: {self._directory}", style="dim", markup=False)
        service = stack.enter_context(demo_service(self._directory, environment, keys))
        self._introduce(service)
        (self._directory / "events").mkdir()
        token = service.create_token("demo job", "job")
        job = stack.enter_context(
            start_job(self._directory, service.url, environment | {TOKEN_VARIABLE: token})
        )
        stack.enter_context(
            start_worker(self._directory, service.url, environment | {TOKEN_VARIABLE: token})
        )
        team = stack.enter_context(Team.of(service, keys))
        feeder = Feeder(load_events(), self._directory / "events")
        with Terminal(self._console, len(feeder.events)) as terminal:
            lines = ChangeLines(job.log)
            replay = Replay(feeder, service, team, terminal, job.check, lines.new_lines, self._pace)
            last = replay.run(ACTS)
        summary = summarize(replay, last, list(output_rows(self._directory)), service)
        terminal.summarize(summary)
        return summary.is_good

    def _introduce(self, service: DemoService) -> None:
        """Register the stream, publish the first rules and print the address of the dashboard."""
        service.client.register_stream(STREAM)
        lists = service.client.lists(str(STREAM["name"]))
        lists.create(WATCH_LIST, description="Addresses whose sign-ins somebody looks at.")
        lists.put(WATCH_LIST, WATCHED.listed, comment="before the start")
        for rule in FIRST_RULES:
            rule.publish(service.client, "before the start")
        service.ask_for_approvals(1)
        self._console.print(f"Stream {STREAM['name']}, {len(FIRST_RULES)} rules published.")
        self._console.print(f"Dashboard: {service.url}", style="bold")
        token = service.create_token("demo dashboard", "publisher")
        self._console.print(f"Token:     {token}", style="bold")
        self._console.print("           (of a publisher; it ends with the demo's database)\n")


def _directory(stack: ExitStack, keep: Path | None) -> Path:
    if keep is None:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="percept-demo-")))
    keep.mkdir(parents=True, exist_ok=True)
    return keep.resolve()


@contextmanager
def _stopping_signals() -> Iterator[None]:
    """Make SIGTERM and SIGHUP end the demo like Ctrl-C, so that nothing is left running."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _refused(reason: str) -> typer.Exit:
    typer.echo(reason, err=True)
    return typer.Exit(2)


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(demo)
    app(prog_name="make demo")
