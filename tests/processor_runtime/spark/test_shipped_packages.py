"""The packages that reach the executors of a cluster."""

import subprocess
import sys
from pathlib import Path

import pytest

from processor_runtime.spark.session import package_archive

ROOT = Path(__file__).parents[3]
IMPORTS = """
import sys
sys.path[:] = [sys.argv[1], *(path for path in sys.path if path not in ("", sys.argv[2]))]
import processor_runtime.spark.plan.stages
from percept import Output, match_patterns
print(processor_runtime.__file__)
"""


@pytest.mark.long
def test_the_code_of_workers_can_be_imported_from_what_is_sent_to_them(tmp_path: Path) -> None:
    archive = package_archive(tmp_path)
    command = [sys.executable, "-c", IMPORTS, str(archive), str(ROOT)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(archive))
