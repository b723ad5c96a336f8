"""`percept work`: the composition root of a worker that runs backtests for the rule service.

Exit codes: 0 = stopped, or with --once nothing waits; 1 = the service refused; 2 = bad options.
"""

import logging
import os
import re
import signal
import socket
import threading
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.logging import RichHandler

from cep.pattern.problems import type_remedy
from cep.signing.keys import SigningKeys
from contract.problem_text import problem_text
from processor_runtime.backtest.command import SigningKeysText
from processor_runtime.backtest.worker.archives import BadArchive, read_archives
from processor_runtime.backtest.worker.turns import Worker, WorkLimits
from processor_runtime.job_file.service import ServiceConnection
from processor_runtime.reporting.rule_service import RuleService, ServiceRefused

_REFUSED: Final = 1
_BAD_OPTIONS: Final = 2


def work(  # noqa: PLR0913 - the options of one command
    *,
    archive: Annotated[
        list[str],
        typer.Option(
            "--archive",
            metavar="STREAM=PATH",
            help="A stream, and the file, folder or pattern with its events: JSON Lines, CSV, "
            "Parquet or Arrow IPC; may be repeated.",
        ),
    ],
    url: Annotated[
        str, typer.Option(envvar="PERCEPT_URL", help="Where the rule service is.", show_envvar=True)
    ] = "http://127.0.0.1:8321",
    token_env: Annotated[
        str | None,
        typer.Option(
            help="Environment variable with a token of the role job. [PERCEPT_TOKEN]",
            show_default=False,
        ),
    ] = None,
    token_file: Annotated[Path | None, typer.Option(help="Or a file with the token.")] = None,
    ca_file: Annotated[
        Path | None, typer.Option(help="Certificates to trust instead of the usual ones.")
    ] = None,
    allow_plain_http: Annotated[
        bool,
        typer.Option("--allow-plain-http", help="Send the token unencrypted to another machine."),
    ] = False,
    name: Annotated[
        str | None, typer.Option(help="Of this worker; each needs one. [the machine's]")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="End when no backtest waits.")] = False,
    seconds: Annotated[float, typer.Option(min=1, help="How long a backtest may take.")] = 900,
    most_events: Annotated[
        int, typer.Option(min=1, help="How many events a backtest may hold.")
    ] = 5_000_000,
    megabytes: Annotated[
        int | None,
        typer.Option(min=200, help="Memory that a backtest may take, on Linux. [what there is]"),
    ] = None,
    signing_keys: SigningKeysText = None,
) -> None:
    """Run the backtests that are asked for at the rule service, until it is stopped (Ctrl-C).

    The events of the past stay where this runs: the service gets what rules find in them. Several
    workers share the backtests; one that dies leaves its backtest to the others.

    Exit code 0 = stopped, or with --once none waits, 1 = the service refused or is away, 2 = an
    option is wrong.
    """
    try:
        archives = read_archives(archive)
        keys = SigningKeys.from_text(signing_keys) if signing_keys else None
        connection = ServiceConnection.model_validate(
            {
                "url": url,
                "token_env": token_env or (None if token_file else "PERCEPT_TOKEN"),
                "token_file": token_file,
                "ca_file": ca_file,
                "allow_plain_http": allow_plain_http,
            }
        )
        service = RuleService.of(connection, os.environ)
    except ValidationError as error:
        _fail(problem_text(error, ServiceConnection), _BAD_OPTIONS)
    except (BadArchive, ValueError, OSError) as error:
        _fail(f"{error}", _BAD_OPTIONS)
    _log_to_terminal()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    limits = WorkLimits(seconds, most_events, megabytes)
    worker = Worker(service, name or _machine_name(), archives, limits, keys, stop)
    try:
        worker.run(until_idle=once)
    except ValidationError as error:
        _fail(f"--name or --archive: {type_remedy(error.errors()[0])}", _BAD_OPTIONS)
    except (ServiceRefused, OSError) as error:
        _fail(f"{error}", _REFUSED)
    finally:
        service.close()


def _machine_name() -> str:
    written = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname()).lstrip("._-")
    return written[:100] or "worker"


def _log_to_terminal() -> None:
    handler = RichHandler(console=Console(stderr=True), show_path=False)
    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[handler])
    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _fail(message: str, code: int) -> NoReturn:
    typer.echo(f"percept: {message}", err=True)
    raise typer.Exit(code)
