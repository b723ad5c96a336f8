"""docs/operations.md: its metrics, settings and links are those there are."""

import re
from pathlib import Path

from fastapi.testclient import TestClient

from api.app import create_app
from api.settings import Settings
from api.store.database import Database, migrate
from tests.docs.fences import ROOT, rows

PAGE = "docs/operations.md"
JOB_METRICS = (ROOT / "api/jobs/metrics.py").read_text(encoding="utf-8")


def test_every_metric_is_explained_and_every_one_that_is_explained_exists(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'percept.db'}"
    database = Database(url)
    migrate(database.engine)
    database.close()
    with TestClient(create_app(Settings(database_url=url, metrics_open=True))) as client:
        shown = set(re.findall(r"^# TYPE (percept_\w+)", client.get("/metrics").text, re.MULTILINE))
    # Those of jobs have no series without a job; the names stand in the collector.
    of_jobs = {f"percept_job_{name}" for name in re.findall(r'_gauge\(\s+"(\w+)"', JOB_METRICS)}
    explained = {
        row["metric"].strip("`").partition("{")[0] for row in rows(PAGE, "metric", "meaning")
    }

    assert explained == {name for name in shown if not name.endswith("_created")} | of_jobs | {
        "percept_job_versions"
    }


def test_every_setting_of_the_service_is_in_the_table_with_its_default() -> None:
    table = {
        cell: row["default"]
        for row in rows(PAGE, "setting", "default", "")
        for cell in re.findall(r"`(\w+)`", row["setting"])
    }
    told = " ".join(table.values()).replace(",", "")

    assert set(table) == set(Settings.model_fields)
    for field in Settings.model_fields.values():
        if field.default is not None:
            default = (
                str(field.default).lower() if isinstance(field.default, bool) else field.default
            )
            assert str(default) in told
