"""`percept job prepare`: what each start of a job on this machine then need not do again.

matcher ──compiled──► numba's files · a small job's Java process, at its end ──► archive of classes
"""

import json
import os
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from cep.compiling.functions import is_available
from processor_runtime.running import run_job
from processor_runtime.spark.class_archive import archive_path
from processor_runtime.spark.session import end_java

_BYTES_PER_MB: Final = 1_000_000
_FILES: Final = 3
_EVENTS_PER_FILE: Final = 100
_STREAM: Final = {
    "name": "numbers",
    "schema": "kind STRING, value BIGINT, ts BIGINT",
    "event_time_column": "ts",
}
_RULE: Final = {
    "id": "positive",
    "stream": "numbers",
    "pattern": {"steps": [{"name": "a", "where": "value > 0"}], "within_ms": 1_000},
}


def prepare(console: Console) -> int:
    """Compile the matcher and write the archive of Spark's classes anew; return the exit code.

    Args:
        console: where lines go.
    """
    archive = archive_path(os.environ)
    if archive is None:
        return _refused(console, "Spark needs Java 17 or 21: there is no `java` on the PATH")
    if is_available():
        console.print("compiling the matcher …", highlight=False)
        subprocess.run([sys.executable, "-m", "cep.nfa_kernel"], check=True)
    console.print("running a small job, to archive the classes it loads …", highlight=False)
    try:
        archive.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="percept-prepare-") as folder:
            # Beside the old archive, which jobs that run may be reading.
            written = archive.with_name(f"{archive.name}-{os.getpid()}")
            try:
                if (told := _archived(Path(folder), written)) is not None:
                    return _refused(console, told)
                written.replace(archive)
            finally:
                written.unlink(missing_ok=True)
    except OSError as error:
        return _refused(console, f"nothing can be kept beside {archive}: {error}")
    size_mb = archive.stat().st_size // _BYTES_PER_MB
    console.print(
        f"jobs on this machine now start from {archive} ({size_mb} MB)",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    return 0


def _refused(console: Console, told: str) -> int:
    console.print(told, style="red", markup=False, highlight=False, soft_wrap=True)
    return 1


def _archived(folder: Path, archive: Path) -> str | None:
    """Run a job whose Java process writes the archive when it ends; return what went wrong."""
    _write_events(folder)
    rules = folder / "rules"
    rules.mkdir()
    (rules / "rules.json").write_text(json.dumps([_STREAM, _RULE]), encoding="utf-8")
    job = folder / "job.json"
    job.write_text(json.dumps(_job(folder, archive)), encoding="utf-8")
    lines = StringIO()
    log = folder / "spark.log"
    code = run_job(job, log, Console(file=lines, width=200))
    end_java()
    if code == 0 and archive.is_file():
        return None
    told = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    return f"the small job failed, or Java wrote no archive:\n{lines.getvalue()}{told[-2_000:]}"


def _write_events(folder: Path) -> None:
    events = folder / "in"
    events.mkdir()
    for number in range(_FILES):
        rows = [
            {"kind": "value", "value": value, "ts": 1_000 * number + value}
            for value in range(_EVENTS_PER_FILE)
        ]
        text = "\n".join(map(json.dumps, rows))
        (events / f"{number}.json").write_text(text, encoding="utf-8")


def _job(folder: Path, archive: Path) -> dict[str, Any]:
    return {
        "name": "prepare",
        "stream": _STREAM["name"],
        "source": {"format": "json", "path": str(folder / "in"), "max_files_per_batch": 1},
        "discoverer": {"type": "directory", "path": str(folder / "rules")},
        "outputs": [{"type": "json", "path": str(folder / "out"), "kinds": ["match"]}],
        "checkpoint": str(folder / "checkpoint"),
        "trigger": {"available_now": True},
        "shards": 2,
        "spark": {
            "spark.master": "local[2]",
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraJavaOptions": f"-XX:ArchiveClassesAtExit={archive}",
        },
    }
