"""The example of a discoverer of one's own, run as a job would."""

import shutil
from pathlib import Path

import pytest

from discoverers import HealthStatus
from tests.discoverers.sources import numbers, running
from tests.patience import PATIENCE_SECONDS, eventually

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_discoverer"


def test_a_discoverer_of_ones_own_is_named_by_module_and_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    lines = Path(shutil.copy(EXAMPLE / "thresholds.csv", tmp_path))
    options = {"path": str(lines), "interval_seconds": 0.02}
    with running({"type": "thresholds:ThresholdsFactory"} | options) as job:
        found = numbers(job.first(PATIENCE_SECONDS))
        assert found == {"failures-partners": [1], "failures-staff": [1]}

        lines.write_text("group,failures,minutes\nstaff,many,5\n", encoding="utf-8")
        eventually(lambda: job.health.status is HealthStatus.FAILING)
        assert "ValueError" in (job.health.last_error or "")

        lines.write_text("group,failures,minutes\nstaff,4,5\n", encoding="utf-8")
        eventually(lambda: (newest := job.latest()) and newest.epoch == 2)
        newest = job.latest()
        assert newest is not None
        assert numbers(newest) == {"failures-staff": [2]}
