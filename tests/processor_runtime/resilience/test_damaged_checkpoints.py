"""A checkpoint that is damaged is refused by the name of the part, or nothing is wrong with it.

Nearly all are found before a query begins, so a case takes a moment.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from processor_runtime.driver.checked_files import REMEDY, CheckpointDamaged
from processor_runtime.driver.checkpoint_identity import CheckpointMismatch
from tests.letters import followed
from tests.processor_runtime.resilience.job_process import write_events
from tests.processor_runtime.rule_documents import FAILED_THEN_IN, put_job, rule_of, stream_of
from tests.processor_runtime.spark.finished_job import job
from tests.processor_runtime.written_rows import Row, written

pytestmark = [pytest.mark.faults, pytest.mark.spark]

USERS: Final = 40
FILES: Final = 4
GUESS: Final = followed(*FAILED_THEN_IN)
FAIL: Final = followed(FAILED_THEN_IN[0])
BUDGET: Final = {"budget": {"at_most": 100, "for": "1 hour"}}
GROUP: Final = {"group": {"for": "10 seconds"}}
RULES: Final[list[dict[str, Any]]] = [
    stream_of("logins", "user STRING, action STRING, ts BIGINT"),
    rule_of("guess", "logins", GUESS, key_by=["user"]),
    rule_of("fails", "logins", FAIL, key_by=["user"], alert=BUDGET),
    rule_of("grouped", "logins", FAIL, key_by=["user"], alert=GROUP),
]
Damage = Callable[[Path], object]


def events_of(number: int) -> list[dict[str, Any]]:
    """Return events of users of their own: each fails, and logs in with the next file."""
    begin_ms = 1_000_000 + 100_000 * number
    coming = [(f"user-{number - 1}-{each}", "login") for each in range(USERS)]
    failing = [(f"user-{number}-{each}", "fail") for each in range(USERS)]
    return [
        {"user": user, "action": action, "ts": begin_ms + place}
        for place, (user, action) in enumerate([*coming, *failing])
    ]


def found(rows: list[Row]) -> list[str]:
    """Return what was found, without what differs from run to run."""
    return sorted(f"{row['kind']} {row['processor_id']} {row['key']}" for row in rows)


class Whole:
    """A checkpoint after some batches, with events that are still to be read."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self._aside = folder / "aside"
        self._aside.mkdir()
        put_job(folder, *RULES)
        for number in range(FILES):
            write_events(folder, str(number), events_of(number))
        self._run()
        write_events(folder, str(FILES), events_of(FILES))
        for name in ("checkpoint", "out"):
            shutil.copytree(folder / name, self._aside / name)
        self.expected = self._run()

    def _run(self) -> list[str]:
        job(self._spark, self._folder, stream="logins", shards=1).run()
        return found(written(self._folder))

    def after(self, damage: Damage) -> list[str]:
        """Return what a job finds in all that goes on from here after this damage."""
        for name in ("checkpoint", "out"):
            shutil.rmtree(self._folder / name)
            shutil.copytree(self._aside / name, self._folder / name)
        damage(self._folder / "checkpoint")
        return self._run()


@pytest.fixture(scope="module")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return Whole(spark, tmp_path_factory.mktemp("whole"))


def newest(checkpoint: Path, pattern: str) -> Path:
    """Return the newest file of those whose names are numbers, or the only one."""
    paths = [path for path in checkpoint.glob(pattern) if not path.name.startswith(".")]
    return max(paths, key=lambda path: (len(path.name), path.name))


def deletes(pattern: str) -> Damage:
    def damage(checkpoint: Path) -> None:
        path = newest(checkpoint, pattern)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            _unchecked(path).unlink()

    return damage


def rewrites(pattern: str, change: Callable[[bytes], bytes]) -> Damage:
    def damage(checkpoint: Path) -> None:
        path = _unchecked(newest(checkpoint, pattern))
        before = path.read_bytes()
        after = change(before)
        assert after != before
        path.write_bytes(after)

    return damage


def empties(pattern: str) -> Damage:
    return rewrites(pattern, lambda _before: b"")


def halves(pattern: str) -> Damage:
    return rewrites(pattern, lambda before: before[: len(before) // 2])


def alters(pattern: str, old: bytes, new: bytes) -> Damage:
    return rewrites(pattern, lambda before: before.replace(old, new))


def alters_beside_its_checksum(pattern: str, old: bytes, new: bytes) -> Damage:
    def damage(checkpoint: Path) -> None:
        path = newest(checkpoint, pattern)
        path.write_bytes(path.read_bytes().replace(old, new))

    return damage


def puts_another(pattern: str) -> Damage:
    """Put the content of the file before in the place of the newest."""

    def damage(checkpoint: Path) -> None:
        path = newest(checkpoint, pattern)
        before = path.with_name(str(int(path.name) - 1))
        _unchecked(path).write_bytes(before.read_bytes())

    return damage


def flips(pattern: str) -> Damage:
    def flipped(before: bytes) -> bytes:
        at = len(before) // 2
        return before[:at] + bytes([before[at] ^ 0x55]) + before[at + 1 :]

    return rewrites(pattern, flipped)


def adds(name: str) -> Damage:
    return lambda checkpoint: (checkpoint / name).write_bytes(b"{")


def all_of(*damages: Damage) -> Damage:
    return lambda checkpoint: [each(checkpoint) for each in damages]


def _unchecked(path: Path) -> Path:
    """Return a path without the checksum that Hadoop keeps beside it, as many copies are."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    return path


REFUSED: Final[dict[str, tuple[Damage, str]]] = {
    "no identity": (deletes("percept.json"), "percept.json is missing"),
    "an empty identity": (empties("percept.json"), "percept.json is not as"),
    "half an identity": (halves("percept.json"), "percept.json is not as"),
    "other shards": (
        alters("percept.json", b'"shards":1', b'"shards":3'),
        "percept.json is not as",
    ),
    "no records": (deletes("epochs"), r"epochs/\d+ is missing"),
    "not the newest record": (deletes("epochs/*"), r"epochs/\d+ is missing"),
    "an empty record": (empties("epochs/*"), r"epochs/\d+ is not as"),
    "half a record": (halves("epochs/*"), r"epochs/\d+ is not as"),
    "a record with another time": (
        alters("epochs/*", b'"watermark_ms":1', b'"watermark_ms":2'),
        r"epochs/\d+ is not as",
    ),
    "the record of another batch": (puts_another("epochs/*"), r"epochs/\d+ is not as"),
    "no rules": (deletes("rules"), r"rules/\w+-\w+\.json is missing"),
    "no snapshot": (deletes("rules/snapshot-*"), r"rules/snapshot-\w+\.json is missing"),
    "no timeline": (deletes("rules/timeline-*"), r"rules/timeline-\w+\.json is missing"),
    "a snapshot with another word": (
        alters("rules/snapshot-*", b"'fail'", b"'warn'"),
        r"rules/snapshot-\w+\.json is not as",
    ),
    "a snapshot with another word beside its checksum": (
        alters_beside_its_checksum("rules/snapshot-*", b"'fail'", b"'warn'"),
        r"rules/snapshot-\w+\.json is not as",
    ),
    "a timeline with another word": (
        alters("rules/timeline-*", b"'fail'", b"'warn'"),
        r"rules/timeline-\w+\.json is not as",
    ),
    "half a timeline": (halves("rules/timeline-*"), r"rules/timeline-\w+\.json is not as"),
    "no plans": (deletes("offsets"), r"offsets/\d+ is missing"),
    "not the newest plan": (deletes("offsets/*"), r"offsets/\d+ is missing"),
    "an empty plan": (empties("offsets/*"), r"offsets/\d+ is not as Spark"),
    "half a plan": (halves("offsets/*"), r"offsets/\d+ is not as Spark"),
    "no batch that is done": (deletes("commits"), r"commits/\d+ is missing"),
    "an empty mark of a batch that is done": (empties("commits/*"), r"commits/\d+ is not as Spark"),
    "no metadata": (deletes("metadata"), "metadata is missing"),
    "empty metadata": (empties("metadata"), "metadata is not as Spark"),
    "no log of files": (deletes("sources"), r"sources/0/\d+ is missing"),
    "not the newest entry of the log": (deletes("sources/0/*"), r"sources/0/\d+ is missing"),
    "an empty entry of the log": (empties("sources/0/*"), r"sources/0/\d+ is not as Spark"),
    "half an entry of the log": (halves("sources/0/*"), r"sources/0/\d+ is not as Spark"),
    "nothing but rules and state": (
        all_of(deletes("offsets"), deletes("epochs"), deletes("commits")),
        "offsets is missing",
    ),
    "no state": (deletes("state"), r"state/0/0/\d+\.zip is missing"),
    "no state of a shard": (deletes("state/0/0"), r"state/0/0/\d+\.zip is missing"),
    "not the newest state": (deletes("state/0/0/*.zip"), r"state/0/0/\d+\.zip is missing"),
    "an empty state": (empties("state/0/0/*.zip"), r"state/0 cannot be read \("),
    "half a state": (halves("state/0/0/*.zip"), r"state/0 cannot be read \("),
    "a state without its table": (deletes("state/0/0/SSTs/*.sst"), r"state/0 cannot be read \("),
    "half a table of the state": (halves("state/0/0/SSTs/*.sst"), r"state/0 cannot be read \("),
    "another bit in the state": (flips("state/0/0/SSTs/*.sst"), r"state/0 cannot be read \("),
    "no schema of the state": (deletes("state/0/_stateSchema"), r"state/0 cannot be read \("),
    "no metadata of the state": (deletes("state/0/_metadata"), r"state/0 cannot be read \("),
    "no budgets": (deletes("budgets"), r"budgets/\d+ is missing"),
    "not the newest budgets": (deletes("budgets/*"), r"budgets/\d+ is missing"),
    "half of the budgets": (halves("budgets/*"), r"budgets/\d+ is not as"),
    "no groups": (deletes("groups"), r"groups/\d+ is missing"),
    "another bit in the groups": (flips("groups/*"), r"groups/\d+ is not as"),
}
"""What is done to a checkpoint, and what the refusal names."""

HARMLESS: Final[dict[str, Damage]] = {
    "nothing": lambda _checkpoint: None,
    "the last mark of a batch that is done": deletes("commits/*"),
    "an owner that is no JSON": empties("owner.json"),
    "no owner": deletes("owner.json"),
    "files that are nobody's": all_of(
        adds("epochs/.1.tmp"), adds("rules/.1.tmp"), adds("offsets/.1.tmp")
    ),
}


@pytest.mark.parametrize("how", REFUSED)
def test_a_damaged_checkpoint_is_refused_by_the_name_of_the_part(how: str, whole: Whole) -> None:
    damage, named = REFUSED[how]
    with pytest.raises(CheckpointDamaged, match=f"^checkpoint: {named}") as raised:
        whole.after(damage)
    assert str(raised.value).endswith(REMEDY)


@pytest.mark.parametrize("how", HARMLESS)
def test_what_is_harmless_loses_and_repeats_nothing(how: str, whole: Whole) -> None:
    assert whole.after(HARMLESS[how]) == whole.expected


def test_the_checkpoint_of_another_query_is_not_taken(whole: Whole) -> None:
    damage = all_of(deletes("percept.json"), deletes("epochs"), deletes("rules"))
    with pytest.raises(CheckpointMismatch, match="a query that is not Percept's"):
        whole.after(damage)
