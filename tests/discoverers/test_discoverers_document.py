"""docs/discoverers.md: its job files can be used, its documents run, no option is left out; and its
example of a discoverer of one's own, run as a job would."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from discoverers import HealthStatus, create_discoverer
from discoverers.factories import BUILT_IN, _factory_class
from tests.discoverers.sources import actions, newest_of, numbers, running, surroundings
from tests.patience import PATIENCE_SECONDS, eventually

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "discoverers.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
ENVIRONMENT = {"PERCEPT_TOKEN": "percept_…", "RULES_DATABASE_URL": "postgresql://rules/fraud"}


def job_files() -> list[dict[str, Any]]:
    return [yaml.safe_load(block) for block in BLOCKS if block.startswith("discoverer:")]


def test_every_job_file_shown_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    shown = [job_file["discoverer"] for job_file in job_files()]
    for config in shown:
        create_discoverer(config, surroundings(ENVIRONMENT))
    assert len(shown) == 4


def test_the_documents_shown_run(tmp_path: Path) -> None:
    (block,) = [each for each in BLOCKS if each.startswith("name: logins")]
    (tmp_path / "rules.yaml").write_text(block, encoding="utf-8")
    with running({"type": "directory", "path": str(tmp_path)}) as job:
        assert numbers(job.first(PATIENCE_SECONDS)) == {"failed-logins": [1, 2]}
        assert list(actions(job.latest())) == ["failed-logins"]
        assert job.health.problems == ()


@pytest.mark.parametrize("kind", BUILT_IN)
def test_every_option_is_explained(kind: str) -> None:
    sections = re.split(r"^## ", TEXT, flags=re.MULTILINE)
    (section,) = (each for each in sections if f"`type: {kind}`" in each.partition("\n")[0])
    explained = set(re.findall(r"^\| (`.*?) \|", section, re.MULTILINE))
    names = set(re.findall(r"`(\w+)`", " ".join(explained)))
    assert set(_factory_class(kind).model_fields) <= names


EXAMPLE = ROOT / "examples" / "own_discoverer"


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
        assert numbers(newest_of(job)) == {"failures-staff": [2]}
