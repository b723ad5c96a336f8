"""Code of a rule that ends, hangs or fills its worker: it alone is out, in that batch and for good.

Each job is compared with the same job without that rule.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from cep.processor import select
from cep.signing.code import CodeUse, sign
from cep.signing.keys import SigningKey, SigningKeys
from percept import Pattern
from processor_runtime.driver.batch_record import BatchRecord, read_record
from processor_runtime.driver.job_status import JobStatus
from tests.processor_runtime.resilience.job_process import (
    PERCEPT,
    JobProcess,
    job_document,
    numbers,
    write_documents,
    write_events,
)
from tests.processor_runtime.resilience.pinned_batches import content
from tests.processor_runtime.rule_documents import put_job, rule_of, stream_of
from tests.processor_runtime.spark.finished_job import job
from tests.processor_runtime.written_rows import written

pytestmark = [pytest.mark.spark, pytest.mark.nightly]

KEYS = SigningKeys((SigningKey("k1", b"k" * 32),))
HERE = sys.modules[__name__]
STREAM = stream_of("letters", "user STRING, name STRING, ts BIGINT")
# On a busy machine code that does no harm takes its time, too.
BATCHES_WITHOUT_EVENTS: Final = "spark.sql.streaming.noDataMicroBatches.enabled"
LIMITS = {"rule_call_seconds": 6.0, "worker_memory_mb": 2_000}


def condition(harm: Callable[[], object]) -> Callable[[Any, Any], bool]:
    """Return a condition that holds for b and does harm at an exclamation mark."""

    @wraps(harm)
    def holds(event: Any, context: Any) -> bool:
        del context
        if event["name"] == "!":
            harm()
        return bool(event["name"] == "b")

    return holds


@condition
def leaves() -> None:
    os._exit(3)


@condition
def kills() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@condition
def hangs() -> None:
    while True:
        pass


@condition
def hangs_in_c() -> None:
    re.match(r"(a|aa)+$", "a" * 200 + "b")


KEPT: list[bytes] = []


@condition
def fills() -> None:
    while True:
        KEPT.append(bytes(10_000_000))


@condition
def wants_all() -> None:
    bytes(10**12)


@condition
def exits() -> None:
    sys.exit(4)


@condition
def interrupts() -> None:
    raise KeyboardInterrupt


def is_b(event: Any, context: Any) -> bool:
    del context
    return bool(event["name"] == "b")


@condition
def dies_later() -> None:
    """Let the worker die as soon as it has been noted that this has returned."""

    def profile(frame: Any, kind: str, argument: Any) -> None:
        del argument
        if kind == "return" and frame.f_code.co_name == "leave":
            os._exit(5)

    sys.setprofile(profile)


def leaves_with_a_match(match: Any) -> str:
    if match["b"][0]["ts"] >= 2_000:
        os._exit(6)
    return "match"


class Loading:
    """Ends the process that loads it, which must be nobody but the one that tries it."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os._exit, (7,)


DEADLY = {
    "leaves": (leaves, "the condition leaves: the Python worker died with it at work"),
    "kills": (kills, "the condition kills: the Python worker died with it at work"),
    "hangs": (hangs, "it did not return within 6 seconds"),
    "hangs-in-c": (hangs_in_c, "it did not return within 6 seconds"),
    "fills": (fills, "it took more memory than a worker may have (2,000 MB)"),
}
RAISING = {
    "exits": (exits, "SystemExit: 4"),
    "interrupts": (interrupts, "KeyboardInterrupt"),
    "wants-all": (wants_all, "MemoryError"),
}
LOADING = {"loading": (Loading(), "its code, loaded: the process that loaded it ended with code 7")}
MATCHING = "its process function: the Python worker died with it at work"


def rule(name: str, condition: Any, function: Any = None) -> dict[str, Any]:
    """Return a rule: an a, then what a condition holds for; a text, a callable, or any code."""
    is_plain = callable(condition) or isinstance(condition, str)
    found = Pattern.begin("a").where("name = 'a'").followed_by("b")
    pattern = found.where(condition if is_plain else "TRUE").sign_code(KEYS, [HERE]).to_document()
    if not is_plain:
        code = sign(condition, KEYS.newest, CodeUse.CONDITION, [HERE])
        pattern["steps"][1]["where"] = {"python": code.to_document()}
    document = rule_of(name, "letters", pattern, key_by=["user"])
    if function is not None:
        code = sign(select(function), KEYS.newest, CodeUse.FUNCTION, [HERE])
        document["function"] = code.to_document()
    return document


OTHERS = (rule("plain", "name = 'b'"), rule("steady", is_b))


def prepared(folder: Path) -> Path:
    """Return a folder with three files of events, the second of which holds what code minds."""
    put_job(folder, STREAM)
    keys = ",".join(key.to_text() for key in KEYS.keys)
    (folder / "keys").write_text(keys, encoding="utf-8")
    for number, letters in enumerate(("ab", "a!b", "ab")):
        give(folder, number, letters)
    return folder


def give(folder: Path, number: int, letters: str) -> None:
    events = [
        {"user": user, "name": letter, "ts": 1_000 * number + 10 * place + 1_000}
        for place, letter in enumerate(letters)
        for user in "uvwx"
    ]
    write_events(folder, f"{number}", events)


def run(spark: SparkSession, folder: Path, *rules: dict[str, Any]) -> JobStatus:
    """Run a job until it has read everything; return its last status."""
    write_documents(folder, "rules", *rules)
    seen: list[JobStatus] = []
    # As in the session of a job: the last batch is the last one that reads something.
    spark.conf.set(BATCHES_WITHOUT_EVENTS, "false")
    try:
        keys = {"stream": "letters", "limits": LIMITS, "signing_keys_file": str(folder / "keys")}
        job(spark, folder, lambda done: seen.append(done.status), **keys).run()
    finally:
        spark.conf.unset(BATCHES_WITHOUT_EVENTS)
    return seen[-1]


def of_others(folder: Path, before_ms: int = 10_000) -> Counter[str]:
    """Return the rows of the rules that do no harm, up to a time; without their epochs."""
    return Counter(
        json.dumps(row | {"epoch": None}, sort_keys=True)
        for row in written(folder)
        if row["processor_id"] in {"plain", "steady"} and row["end_ms"] < before_ms
    )


def amended(folder: Path) -> dict[str, BatchRecord]:
    """Return the amended records, as they are in the checkpoint."""
    checkpoint = folder / "checkpoint"
    names = [path.name for path in checkpoint.glob("epochs/[0-9]*.[0-9]*")]
    return {name: read_record(content(checkpoint, f"epochs/{name}")) for name in names}


def quarantined(status: JobStatus) -> dict[str, str]:
    stopped = [each for each in status.versions if each.state == "quarantined"]
    return {each.processor_id: str(each.error) for each in stopped}


def let_run_again(folder: Path, batch_id: int) -> None:
    """Take the checkpoint back to where the last batch has run and is not done."""
    checkpoint = folder / "checkpoint"
    assert max(numbers(checkpoint / "commits")) == batch_id
    for name in (f"{batch_id}", f".{batch_id}.crc"):
        (checkpoint / "commits" / name).unlink()


def test_code_that_takes_its_worker_with_it_is_out_and_nothing_else(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder, alone = prepared(tmp_path / "job"), prepared(tmp_path / "alone")
    run(spark, alone, *OTHERS)
    kinds = {**DEADLY, **RAISING, **LOADING}
    bad = [rule(name, condition) for name, (condition, _) in kinds.items()]
    bad.append(rule("matching", "name = 'b'", leaves_with_a_match))
    status = run(spark, folder, *bad, *OTHERS)
    assert of_others(alone).total() == 16
    assert of_others(folder) == of_others(alone)
    reasons = quarantined(status)
    told = {name: text for name, (_, text) in kinds.items()} | {"matching": MATCHING}
    assert {name: text for name, text in told.items() if text not in reasons.get(name, "")} == {}
    assert reasons.keys() == told.keys()
    records = amended(folder)
    # The conditions see their event in one batch, the function its match in the next.
    assert sorted(records) == [*(f"1.{number + 1}" for number in range(len(DEADLY))), "2.1"]
    # A start that runs the batch again has nobody die again, and finds the same.
    before = Counter(json.dumps(row, sort_keys=True) for row in written(folder))
    let_run_again(folder, 2)
    shutil.rmtree(folder / "out/batch=2")
    caplog.clear()
    run(spark, folder, *bad, *OTHERS)
    assert "is run again" not in caplog.text
    assert amended(folder) == records
    assert Counter(json.dumps(row, sort_keys=True) for row in written(folder)) == before
    # Once the rules are deleted nothing is left of them.
    for number in (3, 4):  # the last may wait for its watermark
        for each in (folder, alone):
            give(each, number, "ab")
        status = run(spark, folder, *OTHERS)
        run(spark, alone, *OTHERS)
    assert quarantined(status) == {}
    assert of_others(folder, 4_000).total() > 16
    assert of_others(folder, 4_000) == of_others(alone, 4_000)


def test_code_that_says_nothing_is_found_by_trial(spark: SparkSession, tmp_path: Path) -> None:
    folder, alone = prepared(tmp_path / "job"), prepared(tmp_path / "alone")
    run(spark, alone, *OTHERS)
    status = run(spark, folder, rule("another", is_b), rule("deadly", dies_later), *OTHERS)
    told = "Python workers die where its code runs, and only there"
    assert quarantined(status) == {"deadly": told}
    assert of_others(folder) == of_others(alone)


def test_a_job_that_is_to_fail_names_the_rule_which_people_can_leave_out(tmp_path: Path) -> None:
    folder = prepared(tmp_path / "job")
    write_documents(folder, "rules", rule("deadly", leaves), *OTHERS)
    more = {"on_error": "fail", "signing_keys_file": "keys", "trigger": {"available_now": True}}
    document = job_document(stream="letters", **more)
    with JobProcess(folder, document) as failing:
        assert failing.wait() == 1
    last_line = failing.text.splitlines()[-1]
    assert "RuleFailed: rule deadly, version 1: the condition leaves" in last_line
    told = [skip_rule(folder, "steadi"), skip_rule(folder, "deadly"), skip_rule(folder, "deadly")]
    assert [done.returncode for done in told] == [1, 0, 1]
    assert "does not run steadi; it runs deadly, plain, steady" in told[0].stderr
    assert "deadly is left out of batch 1 and of all after it" in told[1].stderr
    with JobProcess(folder, document) as going_on:
        assert going_on.wait() == 0, going_on.text
    matches = Counter(row["processor_id"] for row in written(folder))
    assert matches["plain"] == matches["steady"] == 8


def skip_rule(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own command
        [PERCEPT, "job", "skip-rule", "job.yaml", name],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )
