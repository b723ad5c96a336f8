"""Small programs that import Percept, each in a Python of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

LIBRARIES = ("pandas", "polars", "pydantic", "pyspark", "fastapi", "httpx2", "sqlglot", "typer")


def run(
    program: str,
    folder: Path,
    *arguments: str,
    path: Sequence[Path] = (),
    python: Path = Path(sys.executable),
) -> subprocess.CompletedProcess[str]:
    """Run a program, or `-m` and a module; `path` goes before everything else on `sys.path`."""
    words = [str(python), *(["-c", program] if program else []), *arguments]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
    return subprocess.run(  # noqa: S603 - our own command
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def hiding(modules: Iterable[str]) -> str:
    """Return the beginning of a program to which modules, and what is below them, do not exist."""
    return f"""
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if any(f"{{name}}.".startswith(f"{{each}}.") for each in {sorted(modules)!r}):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
"""


def libraries_after(statements: str, folder: Path) -> Any:
    """Return which of the libraries Percept uses are loaded after some statements."""
    program = (
        f"import json, sys\n{statements}\n"
        f"print(json.dumps([name for name in {LIBRARIES} if name in sys.modules]))"
    )
    done = run(program, folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
