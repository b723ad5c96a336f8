"""Makes an archive of a job that was stopped half-way: what `test_older_checkpoints` goes on from.

    order_events, rules ──JobProcess, twice──► folder ──pack──► <date>.tar.gz

From the root of the repository: python -m tests.processor_runtime.resilience.checkpoints.make
"""

import json
import os
import platform
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import yaml

from api.client.documents import processor_document
from percept import SigningKeys
from tests.processor_runtime.resilience.checkpoints.archive import ENVIRONMENT, pack
from tests.processor_runtime.resilience.checkpoints.order_events import (
    BEGIN,
    FILE_MINUTES,
    FILES_BEFORE_CHANGE,
    FILES_BEFORE_STOP,
    files_of_events,
)
from tests.processor_runtime.resilience.job_process import JobProcess, job_document

_HERE: Final = Path(__file__).parent
_KEYS_NAME: Final = "PERCEPT_SIGNING_KEYS"
_STREAM: Final = "orders"

Document = dict[str, Any]


def make(folder: Path, archive: Path) -> None:
    """Run the first half of the job, in two starts with a change of rules between, and pack it.

    Args:
        folder: an empty one to run it in.
        archive: what to write.
    """
    _write_events(folder / "later")
    for name in ("in", "rules", "rules-at-once"):
        (folder / name).mkdir()
    for directory in (folder / "rules", folder / "rules-at-once"):
        shutil.copy(_HERE / "rules/kept.yaml", directory)
        (directory / "python.json").write_text(json.dumps(_python_rules()), encoding="utf-8")
    shutil.copy(_HERE / "rules/at_first.yaml", folder / "rules/changing.yaml")
    _run(folder, FILES_BEFORE_CHANGE)
    _write_rules_at_once(folder)
    shutil.copy(_HERE / "rules/changed.yaml", folder / "rules/changing.yaml")
    _run(folder, FILES_BEFORE_STOP)
    (folder / "made.json").write_text(json.dumps(_made(), indent=2) + "\n", encoding="utf-8")
    pack(folder, archive)
    print(f"{archive.name}: {archive.stat().st_size:,} bytes")  # noqa: T201 - a command


def _write_events(directory: Path) -> None:
    directory.mkdir()
    for number, events in enumerate(files_of_events()):
        path = directory / f"{number:02}.json"
        lines = [f"{json.dumps(event, ensure_ascii=False)}\n" for event in events]
        path.write_text("".join(lines), encoding="utf-8")
        # Spark reads files in the order in which they were modified.
        modified = BEGIN + timedelta(minutes=(number + 1) * FILE_MINUTES)
        os.utime(path, (modified.timestamp(), modified.timestamp()))


def _run(folder: Path, files: int) -> None:
    """Run the job until it has read the first so many files, and what time alone brings then."""
    for path in sorted((folder / "later").iterdir()):
        if int(path.stem) < files:
            path.rename(folder / "in" / path.name)
    document = job_document(
        stream=_STREAM, trigger={"available_now": True}, signing_keys_env=_KEYS_NAME
    )
    with JobProcess(folder, document, ENVIRONMENT) as job:
        code = job.wait()
        print(job.text)  # noqa: T201 - a command
    if code != 0:
        raise SystemExit(code)


def _python_rules() -> list[Document]:
    """Return the documents of the rules in Python, whose code knows no path of this machine."""
    text = (_HERE / "python_rules.py").read_text(encoding="utf-8")
    found: dict[str, Any] = {"__name__": "python_rules"}
    exec(compile(text, "python_rules.py", "exec"), found)  # noqa: S102 - our own code
    keys = SigningKeys.from_text(ENVIRONMENT[_KEYS_NAME])
    return [
        processor_document(_STREAM, name, pattern, {"key_by": ["user"], "function": function}, keys)
        for name, pattern, function in (
            ("rising", found["RISING"], found["LARGEST"]),
            ("filled", found["FILLING"], found["Filled"]()),
        )
    ]


def _write_rules_at_once(folder: Path) -> None:
    """Write the change of rules as one that is scheduled for when it took place."""
    changed_at = _newest_event(folder / "in") + timedelta(milliseconds=1)
    at_first, changed = _documents("at_first.yaml"), _documents("changed.yaml")
    documents = [document for document in changed if "effective_from" in document]
    now = {each["id"]: each for each in changed if each not in documents}
    for document in at_first:
        later = now.get(document["id"])
        if later == document:
            documents.append(document)
        elif later is None or later.get("paused"):
            documents.append(document | {"effective_until": changed_at.isoformat()})
        else:
            documents += [document, later | {"effective_from": changed_at.isoformat()}]
    text = json.dumps(documents)
    (folder / "rules-at-once/changing.json").write_text(text, encoding="utf-8")


def _documents(name: str) -> list[Document]:
    return list(yaml.safe_load_all((_HERE / "rules" / name).read_text(encoding="utf-8")))


def _newest_event(directory: Path) -> datetime:
    lines = [line for path in directory.iterdir() for line in path.read_text("utf-8").splitlines()]
    return max(datetime.fromisoformat(json.loads(line)["ts"]) for line in lines)


def _made() -> dict[str, str]:
    git = shutil.which("git") or "git"
    commit = subprocess.run(  # noqa: S603 - our own command
        [git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True, cwd=_HERE
    )
    major, minor, _ = platform.python_version_tuple()
    return {
        "commit": commit.stdout.strip(),
        "date": datetime.now(UTC).date().isoformat(),
        "python": f"{major}.{minor}",
        "spark": version("pyspark"),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="percept-") as name:
        today = datetime.now(UTC).date().isoformat()
        make(Path(name).resolve(), _HERE / f"{today}.tar.gz")
