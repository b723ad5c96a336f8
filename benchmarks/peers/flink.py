"""Real Flink 2.3, from the package on PyPI, in one JVM that stays warm.

PyPI ──pip download──► jars ──javac harness──► a JVM that takes work line by line
"""

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Self

VERSION: Final = "2.3.0"
HARNESSES: Final = Path(__file__).parent
CACHE: Final = Path.home() / ".cache" / "percept-peers" / "flink"
_OPENED: Final = ("java.util", "java.lang", "java.time", "java.nio", "java.math", "java.text")


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run counted, and its seconds: by the clock, and of CPU in all processes."""

    count: int
    seconds: float
    cpu_seconds: float

    def per_second(self, events: int) -> float:
        """Return the rate at which it took so many events."""
        return events / self.seconds


def installed(directory: Path) -> Path:
    """Return the class path of Flink and the harness; downloads 330 MB from PyPI at first."""
    jars = directory / "pyflink" / "lib"
    if not jars.is_dir():
        directory.mkdir(parents=True, exist_ok=True)
        package = f"apache-flink-libraries=={VERSION}"
        print(f"downloading {package} (330 MB) from PyPI to {directory}", flush=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", package]
        subprocess.run([*pip, "--dest", str(directory)], check=True)  # noqa: S603 - fixed words
        (wheel,) = directory.glob("apache_flink_libraries-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            archive.extractall(directory, [n for n in names if n.startswith("pyflink/lib/")])
        wheel.unlink()
    return jars


class Flink:
    """A JVM with a harness of Flink, which takes work line by line; use it as a context manager.

    Args:
        directory: where Flink is kept, outside of the repository.
        sources: the harness; the class of the first file is its program.
        build: where it is compiled to.
        parallelism: how many tasks run at a time.
        memory: the most heap, as `java -Xmx` has it.
    """

    def __init__(
        self,
        directory: Path,
        sources: Sequence[Path],
        build: Path,
        parallelism: int = 2,
        memory: str = "4g",
    ) -> None:
        java, javac = shutil.which("java"), shutil.which("javac")
        if java is None or javac is None:
            sys.exit("Flink needs a JDK (java and javac), 17 or newer")
        class_path = f"{installed(directory)}/*:{build}"
        compiler = [javac, "-nowarn", "-cp", class_path, "-d", str(build), *map(str, sources)]
        subprocess.run(compiler, check=True)  # noqa: S603 - fixed words
        opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
        program = [sources[0].stem, str(parallelism)]
        command = [java, f"-Xmx{memory}", *opened, "-cp", class_path, *program]
        self._log = (directory / "flink.log").open("w")
        self._process = subprocess.Popen(  # noqa: S603 - fixed words
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _open(self._process.stdin).close()
        self._process.wait()
        self._log.close()

    def run(self, work: str) -> Measured:
        """Run a piece of work to its end: a statement, or the name of a directory.

        Raises:
            RuntimeError: Flink failed; its log says why.
        """
        sink = _open(self._process.stdin)
        sink.write(" ".join(work.split()) + "\n")
        sink.flush()
        for line in _open(self._process.stdout):
            if line.startswith("RESULT "):
                _, count, seconds, cpu_seconds = line.split()
                return Measured(int(count), float(seconds), float(cpu_seconds))
        raise RuntimeError(f"Flink failed; see {self._log.name}")


def _open(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise RuntimeError("the JVM has no such stream")
    return stream
