"""A PostgreSQL cluster of a test's own, which it may stop and crash as it likes.

initdb ──► data directory of its own ──pg_ctl──► server on a free port, restarted, crashed, removed
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import pytest

from tests.ports import free_port

_USER: Final = "postgres"
_PLACES: Final = "/usr/lib/postgresql/*/bin"
_SETTINGS: Final = (
    "-c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=150 -c unix_socket_directories="
)


@dataclass
class PrivatePostgresql:
    """A running cluster."""

    directory: Path
    programs: Path
    port: int

    @property
    def url(self) -> str:
        return f"postgresql://{_USER}@127.0.0.1:{self.port}/postgres"

    def restart(self, mode: Literal["fast", "immediate"]) -> None:
        """End it cleanly, or as a crash would, and start it again."""
        self.stop(mode)
        self.start()

    def stop(self, mode: Literal["fast", "immediate"]) -> None:
        """End it, as `restart` does."""
        self._ctl("stop", "-m", mode)

    def start(self) -> None:
        log = self.directory / "log"
        self._ctl("start", "-l", str(log), "-o", f"-p {self.port} {_SETTINGS}{self.directory}")

    def end(self) -> None:
        self._ctl("stop", "-m", "immediate")

    def initialise(self) -> None:
        self._run("initdb", "-D", str(self._data), "-A", "trust", "-U", _USER, "--no-sync")

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    def _ctl(self, *arguments: str) -> None:
        self._run("pg_ctl", "-D", str(self._data), "-w", "-t", "120", *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        # PostgreSQL does not run as root. What a server writes must not keep this from ending.
        user = _USER if os.geteuid() == 0 else None
        with (self.directory / f"{program}.out").open("ab") as output:
            subprocess.run(  # noqa: S603 - programs of PostgreSQL
                [self.programs / program, *arguments],
                check=True,
                user=user,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )


@contextmanager
def private_postgresql() -> Iterator[PrivatePostgresql]:
    """Yield a cluster with an empty database; skips the test where PostgreSQL is not installed."""
    found = shutil.which("initdb")
    programs = [Path(found).parent] if found else sorted(Path("/").glob(_PLACES.lstrip("/")))
    if not programs:
        pytest.skip("PostgreSQL is not installed: there is no initdb")
    if os.geteuid() == 0 and not _has_user():
        pytest.skip(f"PostgreSQL does not run as root, and there is no user {_USER}")
    with tempfile.TemporaryDirectory(prefix="percept-postgresql-") as directory:
        if os.geteuid() == 0:
            shutil.chown(directory, _USER)
        cluster = PrivatePostgresql(Path(directory), programs[-1], free_port())
        cluster.initialise()
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.end()


def _has_user() -> bool:
    try:
        pwd.getpwnam(_USER)
    except KeyError:
        return False
    return True
