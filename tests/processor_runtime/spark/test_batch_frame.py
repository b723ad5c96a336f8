"""Groups and budgets on rows in Spark: as on rows in a list, whatever is found where."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from cep.instants import iso_text
from contract.service.tokens import Role
from processor_runtime.alerting import groups
from processor_runtime.alerting.alert_decisions import ListedRows
from processor_runtime.alerting.budgets import Cutoff, Overrun, candidates_in, settled_rows
from processor_runtime.alerting.groups import Grouper
from processor_runtime.alerting.match_tags import tag_rows
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rules.alerts import Grouping
from processor_runtime.spark.batch_frame import BatchFrame
from processor_runtime.spark.micro_batches import BatchDone
from processor_runtime.spark.plan.stages import OUTPUT_DDL, STAGE_DDL
from tests.discoverers.rule_service import RuleService
from tests.patience import eventually
from tests.processor_runtime.rule_documents import put_events, put_job, rule_of, stream_of
from tests.processor_runtime.spark.finished_job import job
from tests.processor_runtime.written_rows import written


def found_rows(random: Random) -> list[OutputRow]:
    rows = []
    for number in range(400):
        name, end_ms = random.choice("pqr"), random.randrange(-20, 40)
        first = OutputRow("match", None, name, random.randint(1, 2), 1, "[]", f"{number:032x}")
        first = first._replace(start_ms=end_ms, end_ms=end_ms)
        match_id = f"{random.getrandbits(128):032x}"
        rows += [first, first._replace(match_id=match_id, tag=f":{first.match_id}::")]
        rows.append(first._replace(kind=random.choice(["side", "shadow", "suppressed"]), tag="t"))
    return [*rows, OutputRow("late", start_ms=3), OutputRow("error", error="{}")]


def shown(frame: DataFrame) -> list[str]:
    return sorted(map(repr, frame.collect()))


@pytest.mark.long
def test_spark_holds_back_the_same_rows(spark: SparkSession) -> None:
    random = Random(7)  # noqa: S311 - for a test
    rows = found_rows(random)
    frame = spark.createDataFrame(rows, OUTPUT_DDL).repartition(3)
    overruns = [
        Overrun("p", 1, -10, 0, 3),
        Overrun("p", 1, 0, 10, 0),
        Overrun("p", 2, 0, 10, 500),
        Overrun("q", 2, 10, 20, 4),
    ]
    in_list: dict[Overrun, list[tuple[int, str]]] = {each: [] for each in overruns}
    in_frame: dict[Overrun, list[tuple[int, str]]] = {each: [] for each in overruns}
    for found, into in (
        (candidates_in(rows, overruns), in_list),
        (BatchFrame(frame).candidates(overruns), in_frame),
    ):
        for each in found:
            (of,) = (
                overrun
                for overrun in overruns
                if overrun[:2] == each[:2] and overrun.from_ms <= each.end_ms < overrun.until_ms
            )
            into[of].append((each.end_ms, each.match_id))
    for overrun, matches in in_list.items():
        assert sorted(in_frame[overrun]) == sorted(matches)[: overrun.left + 1]
        assert len(in_frame[overrun]) > 0
    cutoffs = [
        Cutoff(*overrun[:4], *sorted(matches)[overrun.left])
        for overrun, matches in in_list.items()
        if len(matches) > overrun.left
    ]
    cutoffs.append(Cutoff("r", 1, -10, 0, -10, ""))
    expected = list(settled_rows(rows, cutoffs))
    settled = BatchFrame(frame)
    held_back = settled.settle(cutoffs)
    written = settled.frame
    assert written.columns == frame.columns
    assert shown(written) == shown(spark.createDataFrame(expected, OUTPUT_DDL))
    changes = [a.kind != b.kind for a, b in zip(rows, expected, strict=True)]
    assert held_back == sum(changes) > 0
    untouched = BatchFrame(frame)
    assert untouched.settle([]) == 0
    expected = list(settled_rows(rows, []))
    assert shown(untouched.frame) == shown(spark.createDataFrame(expected, OUTPUT_DDL))


@pytest.mark.long
def test_spark_gathers_the_same_groups(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In several parts, and where not all groups have a place."""
    monkeypatch.setattr(groups, "MOST_GROUPS", 3)
    random = Random(11)  # noqa: S311 - for a test
    groupings = {f"{name}@{number}@x": Grouping(("a",), 10) for name in "pq" for number in (1, 2)}
    rows: list[OutputRow] = []
    for number in range(300):
        first = OutputRow("match", None, random.choice("pqr"), random.randint(1, 2), 1)
        end_ms, key = random.randrange(40), f"[{random.randrange(20)}]"
        first = first._replace(end_ms=end_ms, key=key, output=f'{{"a":{random.randrange(6)}}}')
        of_match = [
            first._replace(match_id=f"{random.getrandbits(100):030x}{number % 7:02x}")
            for _ in range(random.randint(1, 2))
        ]
        of_match.append(first._replace(kind="side", tag="a:b::[]"))
        rows += of_match if first.processor_id == "r" else tag_rows(of_match, Grouping(("a",), 10))
    listed = ListedRows(rows)
    in_spark = BatchFrame(spark.createDataFrame(rows, OUTPUT_DDL).repartition(3))
    found = []
    for each, most in ((listed, 1_000), (in_spark, 70)):
        gathering = Grouper(groupings, {}, {}, 30)
        for part in each.tagged(240, most):
            gathering.add(part)
        found.append(gathering.done())
        each.gather(found[-1])
    assert found[0].overflowing
    assert len(found[0].open) > 2
    assert (found[0].open, found[0].done) == (found[1].open, found[1].done)
    assert found[0].grouped == found[1].grouped
    assert found[0].grouped_rows == found[1].grouped_rows > 0
    assert in_spark.settle([]) == listed.settle([]) == 0
    expected = spark.createDataFrame(listed.rows, OUTPUT_DDL)
    assert shown(in_spark.frame) == shown(expected)
    assert Counter(row.kind for row in listed.rows)["grouped"] == found[0].grouped_rows


STREAM = stream_of("logins", "user STRING, place STRING, ts BIGINT")
ANY = {"steps": [{"name": "a"}]}
BUDGET = {"budget": {"at_most": 5, "for": "1 second"}}
RULE = rule_of("p", "logins", ANY, key_by=["user"], alert=BUDGET)
GROUPS = {"group": {"by": ["place"], "for": "1 second"}}
GROUPED = rule_of("q", "logins", ANY, key_by=["user"], select={"place": "a.place"}, alert=GROUPS)
CLOSES = {"available_now": True, "close_at_end": True}


class _Crash(Exception):
    """The job dies after a batch was written, before Spark knows that it is done."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[RuleService]:
    """A rule service that runs and has the stream."""
    service = RuleService(tmp_path)
    service.start()
    service.request("POST", "/v1/streams", json=STREAM)
    yield service
    service.stop()


@pytest.mark.nightly
@pytest.mark.long
def test_a_job_tells_once_whatever_dies(
    spark: SparkSession, tmp_path: Path, served: RuleService
) -> None:
    """Twelve matches a second, of many keys in two shards; a second is in two batches.

    One rule has a budget and another groups. Files and the service are told the same.
    """
    put_job(tmp_path, STREAM, RULE, GROUPED)
    times = [1_000_000 + place * 250 // 3 for place in range(32)]
    events = [
        {"user": f"user {place % 7}", "place": "xy"[place % 2], "ts": ts}
        for place, ts in enumerate(times)
    ]
    put_events(tmp_path / "in", [events[:16], events[16:]])
    done: list[BatchDone] = []

    def on_batch(batch: BatchDone) -> None:
        done.append(batch)
        if len(done) == 2:
            raise _Crash

    kinds = ["match", "suppressed", "grouped", "group"]
    output = {"type": "json", "path": str(tmp_path / "out"), "kinds": kinds}
    (tmp_path / "token").write_text(served.token_of[Role.JOB], encoding="utf-8")
    keys = {
        "stream": "logins",
        "trigger": CLOSES,
        "outputs": [output, {"type": "service", "kinds": ["match", "grouped", "group"]}],
        "service": {"url": served.url, "token_file": str(tmp_path / "token")},
        "time": {"delay": 0},
    }
    with pytest.raises(_Crash):
        job(spark, tmp_path, on_batch, **keys).run()
    job(spark, tmp_path, on_batch, **keys).run()
    rows = written(tmp_path)
    out = Counter[int]()
    budgeted = [row for row in rows if row["processor_id"] == "p"]
    for row in sorted(budgeted, key=lambda row: (row["end_ms"], row["match_id"])):
        window = row["end_ms"] // 1_000
        assert row["kind"] == ("match" if out[window] < 5 else "suppressed"), row
        assert row.get("tag") is None
        out[window] += 1
    assert out == {1_000 + second: 12 for second in range(2)} | {1_002: 8}
    assert max(batch.status.totals.suppressed for batch in done) > 0
    held = {each.processor_id: each for each in done[-2].status.versions}
    assert held["p"].throttled_until_ms is not None
    assert held["q"].throttled_until_ms is None
    assert list((tmp_path / "checkpoint/budgets").iterdir())
    grouped = [row for row in rows if row["processor_id"] == "q"]
    by_group = defaultdict(list)
    for row in sorted(grouped, key=lambda row: (row["end_ms"], row["match_id"])):
        by_group[row["tag"]].append(row)
    assert len(by_group) == 6
    for of_group in by_group.values():
        *found, told = sorted(of_group, key=lambda row: row["kind"] == "group")
        assert [row["kind"] for row in found] == ["match"] + ["grouped"] * (len(found) - 1)
        assert told["output"]["matches"] == len(found)
        assert told["output"]["keys"] == len({row["key"][0] for row in found})
        assert told["output"]["group"] == found[0]["output"]
        assert told["output"]["match_ids"] == [row["match_id"] for row in found[:5]]
        assert (told["start_ms"], told["end_ms"]) == (found[0]["end_ms"], found[-1]["end_ms"])
    assert list((tmp_path / "checkpoint/groups").iterdir())
    check_service(served, by_group)


def check_service(served: RuleService, by_group: dict[str, list[dict[str, Any]]]) -> None:
    """Check that the service has the matches of groups, and what those that went out stand for."""

    def kept(kind: str) -> dict[str, Any]:
        path = f"/v1/streams/logins/matches?processor=q&kind={kind}&limit=500"
        items = served.request("GET", path).json()["items"]
        return {each["match_id"]: each for each in items}

    def stand_for() -> int:
        return sum(each["stands_for"] is not None for each in kept("match").values())

    eventually(lambda: stand_for() == len(by_group))
    assert len(kept("match")) == len(by_group)
    for match_id, each in kept("match").items():
        (told,) = (row["output"] for row in by_group[each["group_id"]] if row["kind"] == "group")
        assert told["match_ids"][0] == match_id
        stands_for = each["stands_for"]
        for name in ("matches", "keys", "group"):
            assert stands_for[name] == told[name]
        assert stands_for["since"] == iso_text(told["from_ms"])
        assert stands_for["until"] == iso_text(told["until_ms"])
    rows = [row for of_group in by_group.values() for row in of_group]
    assert {name: each["group_id"] for name, each in kept("grouped").items()} == {
        row["match_id"]: row["tag"] for row in rows if row["kind"] == "grouped"
    }


def test_rows_that_are_lines_stay_as_they_are(spark: SparkSession) -> None:
    lines = [("match", *[None] * 11, f'{{"number":{number}}}'.encode()) for number in range(3)]
    first = OutputRow("match", None, "p", 1, 1, "[1]", "a", 1, 2)
    both = (first, first._replace(match_id="b", end_ms=3))
    told = [row for each in both for row in tag_rows([each], None)]
    frame = spark.createDataFrame([*lines, *((*row, None) for row in told)], STAGE_DDL)
    rows = BatchFrame(frame)
    assert [each.match_id for each in rows.candidates([Overrun("p", 1, 0, 9, 1)])] == ["a", "b"]
    assert rows.settle([Cutoff("p", 1, 0, 9, 3, "b")]) == 1
    rows.add([OutputRow("group", processor_id="p")])
    found = rows.frame.orderBy("kind", "lines").select("kind", "lines").collect()
    kinds = ["group", "match", *["match"] * 3, "suppressed"]
    assert [tuple(row) for row in found] == list(
        zip(kinds, [None, None, *(line[-1] for line in lines), None], strict=True)
    )
    assert rows.frame.columns == frame.columns
