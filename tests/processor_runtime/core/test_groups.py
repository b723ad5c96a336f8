"""Matches of all keys that are one alert: beside a run without, for any batches and shards."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from contract.snapshot import SnapshotRollout
from processor_runtime.alerting import groups
from processor_runtime.alerting.key_sketch import KEYS_HELD, keys_in, merged
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rules.alerts import Grouping
from tests.letters import event, letters, processor, version
from tests.processor_runtime.core.alert_jobs import (
    AB,
    ALL_KINDS,
    ALL_ROWS,
    PRICE,
    A,
    alerting_arrivals,
    pipeline,
    run_at_once,
    run_divided,
)
from tests.processor_runtime.core.pipeline import Event
from tests.processor_runtime.core.test_snoozes import snooze
from tests.properties import slow_property


def alert(by: Sequence[str] = (), for_time: int | str = 10, **more: Any) -> dict[str, Any]:
    return {"group": {"by": list(by), "for": for_time}, **more}


def told(rows: Iterable[OutputRow]) -> list[str]:
    """Return `kind time` of matches and `group first-last matches/keys` of groups, in order."""
    found = []
    for row in rows:
        if row.kind == "timeout":
            continue
        text = f"{row.kind} {row.end_ms}"
        if row.kind == "group":
            output = from_json(row.output or "")
            text = f"group {row.start_ms}-{row.end_ms} {output['matches']}/{output['keys']}"
        found.append(((row.end_ms or 0, row.kind == "group"), text))
    return [text for _, text in sorted(found)]


class TestOneRule:
    def test_an_attack_on_many_keys_is_one_alert_and_how_many_it_was(self) -> None:
        job = pipeline(version(1, A, select=PRICE, alert=alert(["price"], "10 minutes")))
        attack = [event("a", 600_000 + n, user=f"user {n % 480}", price=7) for n in range(500)]
        job.batch([*attack, event("a", 600_001, user="another", price=8)], until_ms=601_000)
        matches = [row for row in job.rows if row.kind == "match"]
        assert [row.end_ms for row in matches] == [600_000, 600_001]
        assert all(row.kind in {"match", "grouped"} for row in job.rows)
        job.advance(1_199_998)
        assert not job.rows_of("group")
        job.advance(1_199_999)
        (one,) = job.rows_of("group")
        assert told([one]) == ["group 600000-600499 500/480"]
        output = from_json(one.output or "")
        assert output == {
            "group": {"price": 7},
            "matches": 500,
            "keys": 480,
            "versions": [1],
            "from_ms": 600_000,
            "until_ms": 1_200_000,
            "match_ids": output["match_ids"],
        }
        assert output["match_ids"][0] == matches[0].match_id
        of_group = [row for row in job.rows if row.tag == matches[0].tag]
        assert len(of_group) == 501
        assert (one.processor_id, one.version, one.key) == ("p", 1, None)
        totals = job.job_status.totals
        assert (totals.matches, totals.grouped, totals.suppressed) == (2, 499, 0)
        assert job.alerts.groups == {}

    def test_one_match_is_no_group_and_has_its_id(self) -> None:
        job = pipeline(version(1, A, select=PRICE, alert=alert(["price"])))
        job.batch([event("a", 1_000, price=1), event("a", 1_001, price=2)], until_ms=2_000)
        assert told(job.rows) == ["match 1000", "match 1001"]
        assert len({row.tag for row in job.rows}) == 2
        assert all(len(row.tag or "") == 32 for row in job.rows)

    def test_an_update_goes_on_with_the_group(self) -> None:
        job = pipeline(version(1, A, alert=alert((), "1 hour")))
        job.batch(letters("aa", 1_000))
        job.publish(processor("p", version(2, A, alert=alert((), "1 hour"))))
        job.batch(letters("aa", 1_002))
        job.restart()
        job.publish()
        job.advance(3_600_000)
        assert told(job.rows) == [
            "match 1000",
            "grouped 1001",
            "grouped 1002",
            "grouped 1003",
            "group 1000-1003 4/1",
        ]
        (row,) = job.rows_of("group")
        assert row.version == 1
        assert from_json(row.output or "")["versions"] == [1, 2]

    def test_snoozed_suppressed_grouped_and_then_the_budget(self) -> None:
        rule = alert((), 10, suppress={"for": 5}, budget={"at_most": 1, "for": "1 hour"})
        job = pipeline(version(1, A, alert=rule))
        snooze(job, ("w", 1_900))
        users = {999: "w", 1_000: "u", 1_001: "u", 1_002: "v", 1_010: "u", 1_011: "v"}
        job.batch([event("a", time_ms, user=user) for time_ms, user in users.items()])
        job.advance(2_000)
        # The first is snoozed, the third suppressed by key, the fourth in the group of the second.
        # The fifth is the first of its group, and the budget is spent.
        assert told(job.rows) == [
            "suppressed 999",
            "match 1000",
            "suppressed 1001",
            "grouped 1002",
            "group 1000-1002 2/2",
            "suppressed 1010",
            "grouped 1011",
            "group 1010-1011 2/2",
        ]
        totals = job.job_status.totals
        assert (totals.matches, totals.suppressed, totals.grouped) == (1, 3, 2)

    def test_what_a_shadow_finds_is_in_no_group(self) -> None:
        tried = SnapshotRollout(id="p", version=version(2, A, alert=alert()), share=0)
        rule, wanted = version(1, A, alert=alert()), ALL_KINDS | {"shadow"}
        job = pipeline(rule, rollouts=[tried], wanted=wanted)
        job.batch(letters("aa", 1_000), until_ms=2_000)
        assert told(job.rows) == [
            "match 1000",
            "shadow 1000",
            "grouped 1001",
            "shadow 1001",
            "group 1000-1001 2/1",
        ]

    def test_all_rows_of_a_match_are_in_one_group(self) -> None:
        alerting = alert((), "1 hour", budget={"at_most": 1, "for": "1 hour"})
        job = pipeline(version(1, ALL_ROWS, key_by=None, alert=alerting))
        job.batch([event("a", 1_000 + n, price=n) for n in range(9)], until_ms=3_600_000)
        assert told(job.rows) == [
            *["match 1002"] * 3,
            *["grouped 1005"] * 3,
            *["grouped 1008"] * 3,
            "group 1002-1008 3/1",
        ]
        assert len({row.tag for row in job.rows}) == 1
        assert (job.job_status.totals.matches, job.job_status.totals.grouped) == (1, 2)

    def test_a_job_that_closes_tells_of_all_groups(self) -> None:
        job = pipeline(version(1, A, alert=alert((), "1 hour")))
        job.batch(letters("aa", 1_000))
        job.close()
        job.restart()
        job.batch(letters("aa", 1_010))
        job.close()
        assert told(job.rows) == [
            "match 1000",
            "grouped 1001",
            "group 1000-1001 2/1",
            "match 1010",
            "grouped 1011",
            "group 1010-1011 2/1",
        ]
        assert len({row.match_id for row in job.rows}) == 6
        assert len({row.tag for row in job.rows}) == 1


class TestBounds:
    def test_groups_without_a_place_are_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(groups, "MOST_GROUPS", 2)
        job = pipeline(version(1, A, select=PRICE, alert=alert(["price"], "1 hour")))
        for prices in ([1], [2, 3, 1], [4, 2, 3, 5]):
            begin_ms = 1_000 + 10 * job.batch_id
            job.batch([event("a", begin_ms + n, price=price) for n, price in enumerate(prices)])
        job.advance(3_600_000)
        assert told(job.rows) == [
            "match 1000",
            "match 1010",
            "match 1011",
            "grouped 1012",
            "group 1000-1012 2/1",
            "grouped 1020",
            "grouped 1021",
            "group 1010-1021 2/1",
            "grouped 1022",
            "grouped 1023",
            "group 1011-1023 4/1",
        ]
        rest = job.rows_of("group")[-1]
        assert from_json(rest.output or "")["is_rest"]
        of_rest = {row.end_ms for row in job.rows if row.tag == rest.tag}
        assert of_rest == {1_011, 1_020, 1_022, 1_023}

    def test_long_values_are_shortened_and_told_apart_as_they_are(self) -> None:
        rule = version(1, A, select={"who": "a.user"}, alert=alert(["who"], "1 hour"))
        job = pipeline(rule)
        names = ["x" * 5_000 + end for end in "aab"]
        job.batch([event("a", 1_000 + n, user=name) for n, name in enumerate(names)])
        job.advance(3_600_000)
        assert told(job.rows) == ["match 1000", "grouped 1001", "group 1000-1001 2/1", "match 1002"]
        assert len(job.rows_of("group")[0].output or "") < 600

    def test_keys_are_estimated_where_there_are_many(self) -> None:
        hashes = sketched(f"user {number}" for number in range(100_000))
        found = hashes[:KEYS_HELD]
        assert merged(hashes[::2][:KEYS_HELD], hashes[1::3]) != tuple(found)
        assert merged(hashes[::2][:KEYS_HELD], hashes[1::2][:KEYS_HELD]) == tuple(found)
        number, is_estimated = keys_in(found)
        assert is_estimated
        assert number == pytest.approx(100_000, rel=0.15)
        assert keys_in(found[: KEYS_HELD - 1]) == (KEYS_HELD - 1, False)

    @pytest.mark.long
    def test_a_million_groups_cost_little(self) -> None:
        """Of a flood whose every match is of its own group, and of one in tiny windows."""
        count = 1_000_000
        numbers = pl.int_range(count, eager=True)
        for for_ms in (3_600_000, 10):
            window = f"{for_ms:016x}"
            ids = numbers.cast(pl.String).str.zfill(16)
            part = pl.DataFrame(
                {
                    "processor_id": "p",
                    "version": pl.Series([1], dtype=pl.Int32).extend_constant(1, count - 1),
                    "end_ms": numbers // 100,
                    "match_id": ids,
                    "tag": window + ids + "::" + ids + ":[1]",
                }
            )
            began = time.monotonic()
            gathering = groups.Grouper({"p@1@x": Grouping((), for_ms)}, {}, {}, 10_000)
            gathering.add(part)
            gathered = gathering.done()
            seconds = time.monotonic() - began
            assert len(gathered.open) <= groups.MOST_GROUPS + 1
            assert seconds < 30, seconds


@slow_property()
@given(
    arrived=alerting_arrivals("uvwxyz"),
    for_ms=st.sampled_from([1, 7, 20, 1_000]),
    by=st.sampled_from([(), ("user",)]),
    at_most=st.sampled_from([None, 1, 3]),
    most_groups=st.sampled_from([1, 2, 100]),
    shards=st.integers(1, 4),
    data=st.data(),
)
def test_the_same_goes_out_however_events_come(  # noqa: PLR0913 - drawn by name
    *,
    arrived: tuple[int, list[Event]],
    for_ms: int,
    by: tuple[str, ...],
    at_most: int | None,
    most_groups: int,
    shards: int,
    data: st.DataObject,
) -> None:
    delay_ms, events = arrived
    select = {"user": "a.user"}
    plain = run_at_once(version(1, AB, select=select), arrived)
    budget = {} if at_most is None else {"budget": {"at_most": at_most, "for": 20}}
    rule = version(1, AB, select=select, alert=alert(by, for_ms, **budget))
    job = pipeline(rule, delay_ms=delay_ms, shards=shards)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "MOST_GROUPS", most_groups)
        run_divided(job, events, data)
        job.advance(9_000)
    assert told(job.rows) == by_hand(plain.rows, by, for_ms, at_most, most_groups)
    kinds = Counter(row.kind for row in job.rows)
    gone = job.rows_of("match")
    ends = {(row.tag, row.end_ms) for row in job.rows_of("group")}
    for tag, last_ms in ends:
        of_group = [row for row in job.rows if row.tag == tag and row.kind != "group"]
        assert max(row.end_ms or 0 for row in of_group) == last_ms
        assert sum(row.kind != "grouped" for row in of_group) == 1
    totals = job.job_status.totals
    assert totals.matches <= len(gone)
    assert totals.grouped <= kinds["grouped"]
    assert totals.suppressed <= kinds["suppressed"]
    assert not job.alerts.groups


def by_hand(
    rows: Iterable[OutputRow], by: Sequence[str], for_ms: int, at_most: int | None, most_groups: int
) -> list[str]:
    """Return what `told` of a run without groups should be with them."""
    out = Counter[int]()
    matches_of: dict[tuple[int, str], list[OutputRow]] = defaultdict(list)
    found = []
    matches = [row for row in rows if row.kind == "match"]
    for row in sorted(matches, key=lambda row: (row.end_ms or 0, row.match_id or "")):
        end_ms = row.end_ms or 0
        window = end_ms // for_ms
        user = from_json(row.output or "")["user"] if by else ""
        places = {name for of, name in matches_of if of == window and name != "(rest)"}
        if user not in places and len(places) >= most_groups:
            user = "(rest)"
        matches_of[window, user].append(row)
        kind = "grouped"
        if len(matches_of[window, user]) == 1:
            out[end_ms // 20] += 1
            is_over = at_most is not None and out[end_ms // 20] > at_most
            kind = "suppressed" if is_over else "match"
        found.append(((end_ms, False), f"{kind} {end_ms}"))
    for of_group in matches_of.values():
        if len(of_group) > 1:
            first, last = of_group[0].end_ms or 0, of_group[-1].end_ms or 0
            keys = len({row.key for row in of_group})
            found.append(((last, True), f"group {first}-{last} {len(of_group)}/{keys}"))
    return [text for _, text in sorted(found)]


def sketched(keys: Iterable[str]) -> list[str]:
    return sorted(blake2b(key.encode(), digest_size=8).hexdigest() for key in keys)
