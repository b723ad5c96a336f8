"""`percept job prepare`: the matcher is compiled before the first job, or it is said why not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PERCEPT = str(Path(sys.executable).with_name("percept"))


def prepare(cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return subprocess.run(  # noqa: S603 - ours
        [PERCEPT, "job", "prepare"],
        env=environment | {"XDG_CACHE_HOME": str(cache)},
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.nightly  # a minute of CPU; `make prepare` runs the same for each change
def test_what_is_compiled_ahead_is_ready(tmp_path: Path) -> None:
    done = prepare(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(list(tmp_path.glob("percept/compiled-*/ready-*"))) == 2


@pytest.mark.long
def test_where_nothing_can_be_kept_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = prepare(tmp_path / "file")
    assert refused.returncode == 1
    assert "a directory such as ~/.cache/percept" in " ".join(refused.stderr.split())
