"""`percept job check` and `percept job schema`."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from cep.signing.code import CodePlace, CodeUse, sign
from cep.signing.keys import SigningKey
from processor_runtime.commands import job_app
from tests.processor_runtime.job_file.job_files import minimal, written

STREAM = {"name": "logins", "schema": "user STRING, ts TIMESTAMP", "event_time_column": "ts"}


def rule(name: str, **keys: Any) -> dict[str, Any]:
    steps = [{"name": "step", "where": "user = 'eve'"}]
    return {"id": name, "stream": "logins", "pattern": {"steps": steps}} | keys


def rules(folder: Path, *documents: dict[str, Any]) -> dict[str, Any]:
    """Write rules and return the discoverer that finds them."""
    path = folder / "rules.yaml"
    path.write_text(yaml.safe_dump_all([STREAM, *documents]), encoding="utf-8")
    return {"type": "file", "path": str(path), "interval_seconds": 0.05, "settle_seconds": 0}


def check(path: Path, *options: str) -> Result:
    return CliRunner().invoke(job_app, ["check", str(path), *options])


def report(result: Result) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(result.stdout)
    return told


def test_a_good_job_file_is_summed_up(tmp_path: Path) -> None:
    result = check(written(tmp_path, minimal()))
    assert result.exit_code == 0
    assert "logins-job on stream logins" in result.stdout
    assert "console: match, error" in result.stdout
    assert result.stderr == ""


def test_a_wrong_job_file_is_refused_with_places(tmp_path: Path) -> None:
    path = written(tmp_path, minimal(shards="many"))
    result = check(path)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{path}: shards (line 15, column 1): does not fit.")
    (problem,) = report(check(path, "--json"))["problems"]
    assert (problem["path"], problem["line"], problem["column"]) == ("shards", 15, 1)


def test_everything_that_is_missing_around_a_job_is_told_at_once(tmp_path: Path) -> None:
    for name in ("file", "other"):
        (tmp_path / name).write_text("", encoding="utf-8")
    document = minimal(
        discoverer={"type": "http", "url": "https://rules.example", "token_env": "NO_TOKEN"},
        service={"url": "https://rules.example", "token_file": str(tmp_path / "none")},
        signing_keys_env="NO_KEYS",
        checkpoint=str(tmp_path / "file"),
        outputs=[
            {"type": "jdbc", "url": "sqlite:///x", "table": "m", "password_env": "NO_PASSWORD"},
            {"type": "webhook", "url": "https://x.example", "signature_secret_env": "NO_SECRET"},
            {"type": "parquet", "path": f"file://{tmp_path / 'other'}"},
        ],
    )
    result = check(written(tmp_path, document), "--json", "--connect")
    assert result.exit_code == 2
    assert {(each["path"], each["line"] is None) for each in report(result)["problems"]} == {
        ("discoverer.token_env", False),
        ("service.token_file", False),
        ("signing_keys_env", False),
        ("checkpoint", False),
        ("outputs[0].password_env", False),
        ("outputs[1].signature_secret_env", False),
        ("outputs[2].path", False),
    }


@pytest.mark.parametrize(
    ("discoverer", "told"),
    [
        ({"type": "htp"}, "discoverer.type (line 7, column 3): 'htp' is not known. Did you mean"),
        ({}, "discoverer.type (line 6, column 1): missing."),
        ({"type": "file", "pth": "x"}, "discoverer.pth (line 8, column 3): unknown key."),
        (
            {"type": "http", "url": "https://rules.example"},
            "discoverer (line 6, column 1): give either token_env or token_file.",
        ),
    ],
)
def test_the_options_of_the_discoverer_are_checked_at_their_places(
    tmp_path: Path, discoverer: dict[str, Any], told: str
) -> None:
    result = check(written(tmp_path, minimal(discoverer=discoverer)))
    assert result.exit_code == 2
    assert told in result.stderr


def test_what_was_hardly_meant_is_a_warning(tmp_path: Path) -> None:
    kafka = {"type": "kafka", "topic": "t", "options": {"kafka.bootstrap.servers": "k"}}
    document = minimal(
        source={"format": "parqet"},
        outputs=[kafka],
        discoverer={"type": "http", "url": "https://rules.example", "token_env": "PATH"},
    )
    result = check(written(tmp_path, document), "--json")
    assert result.exit_code == 0
    assert {(each["path"], each["remedy"]) for each in report(result)["warnings"]} == {
        ("source.format", "Did you mean 'parquet'?"),
        ("outputs[0]", "Name them under outputs[0].packages, unless the cluster has them."),
        ("service", "Without `service:` its dashboard does not show this job."),
        ("outputs", "Add the kind `error` to one of them."),
    }


def test_connecting_counts_what_would_run(tmp_path: Path) -> None:
    found = rules(tmp_path, rule("one"), rule("two", paused=True))
    document = minimal(discoverer=found, time={"delay": "90 s"})
    path = written(tmp_path, document)
    result = check(path, "--connect")
    assert result.exit_code == 0
    assert "2 processors, 2 versions, 1 paused, 0 scheduled" in result.stdout
    assert "ts, up to 1 minute 30 seconds late" in result.stdout
    snapshot = report(check(path, "--connect", "--json"))["snapshot"]
    assert (snapshot["processors"], snapshot["allowed_delay_ms"]) == (2, 90_000)


def test_processors_that_cannot_run_are_told(tmp_path: Path) -> None:
    code = sign(len, SigningKey("k", b"k" * 32), CodeUse.CONDITION).to_document()
    steps = [{"name": "step", "where": {"python": code}}]
    found = rules(
        tmp_path,
        rule("good"),
        rule("bad", key_by=["nobody"]),
        rule("coded", pattern={"steps": steps}),
    )
    result = check(written(tmp_path, minimal(discoverer=found)), "--connect")
    assert result.exit_code == 1
    assert "processor bad: " in result.stderr
    assert "processor coded: no signing keys are set here" in result.stderr


def test_code_that_is_signed_for_another_rule_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = SigningKey.new("k")
    monkeypatch.setenv("KEYS", key.to_text())
    stream = minimal()["stream"]
    code = {
        name: sign(len, key, CodeUse.CONDITION, place=CodePlace(stream=stream, processor="good"))
        for name in ("good", "bad")
    }
    found = rules(
        tmp_path,
        *(
            rule(name, pattern={"steps": [{"name": "a", "where": {"python": each.to_document()}}]})
            for name, each in code.items()
        ),
    )
    document = minimal(discoverer=found, signing_keys_env="KEYS")
    result = check(written(tmp_path, document), "--connect")
    assert result.exit_code == 1
    assert "processor bad: " in result.stderr
    assert f"is signed for rule 'good' of stream '{stream}'" in result.stderr
    assert "processor good: " not in result.stderr


def test_a_job_file_that_does_not_fit_its_stream_is_refused_with_places(tmp_path: Path) -> None:
    document = minimal(discoverer=rules(tmp_path, rule("one")), time={"order_by": ["usr"]})
    result = check(written(tmp_path, document), "--connect")
    assert result.exit_code == 2
    assert "time.order_by[0] (line 19, column 5): the stream has no column 'usr'. Did" in (
        result.stderr
    )


def test_processors_that_do_not_come_are_told(tmp_path: Path) -> None:
    path = written(tmp_path, minimal(discoverer={"type": "directory", "path": str(tmp_path / "x")}))
    result = check(path, "--connect", "--timeout", "0.2", "--json")
    assert result.exit_code == 1
    assert report(result)["no_processors_because"].startswith("no processors after 0.2 s: ")
    assert not report(result)["usable"]


@pytest.mark.parametrize("key", ["checkpoint", "discoverer", "max_future_skew"])
def test_the_schema_is_printed_with_its_descriptions(key: str) -> None:
    result = CliRunner().invoke(job_app, ["schema"])
    assert result.exit_code == 0
    assert f'"{key}": {{' in result.stdout
