"""docs/discoverers.md: its job files can be used, its documents run, no option is left out."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from discoverers import create_discoverer
from discoverers.factories import BUILT_IN, _factory_class
from tests.discoverers.sources import actions, numbers, running, surroundings
from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "discoverers.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
ENVIRONMENT = {"PERCEPT_TOKEN": "percept_…", "RULES_DATABASE_URL": "postgresql://rules/fraud"}


def job_files() -> list[dict[str, Any]]:
    """Return the job files shown."""
    return [yaml.safe_load(block) for block in BLOCKS if block.startswith("discoverer:")]


def test_every_job_file_shown_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "own_discoverer"))
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
