"""The newest matches are offered to the service, however large; it never holds the job up."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from contract.reports import ReportedGroup, ReportedMatch
from processor_runtime.reporting import MatchPoster, RuleService
from processor_runtime.spark.sinks import OutputFailed, create_sinks
from processor_runtime.spark.sinks.service import ServiceSink
from tests.patience import eventually
from tests.processor_runtime.sinks.rows import START_MS, Frame, Values, match, output, surroundings


class RememberingPoster(MatchPoster):
    """Keeps what it is offered."""

    def __init__(self) -> None:
        super().__init__(RuleService("http://127.0.0.1:1", lambda: "token"), "logins", "main")
        self.offered: list[ReportedMatch] = []
        self.groups: list[ReportedGroup] = []

    def offer(self, rows: list[ReportedMatch | ReportedGroup]) -> None:  # type: ignore[override] # a sink gives lists
        for row in rows:
            if isinstance(row, ReportedGroup):
                self.groups.append(row)
            else:
                assert not self.groups, "groups come last"
                self.offered.append(row)


def offered(frame: Frame, *batches: Sequence[Values]) -> RememberingPoster:
    """Write batches; return what has been offered then."""
    poster = RememberingPoster()
    sink = ServiceSink(poster)
    for number, rows in enumerate(batches):
        sink.write(frame(*rows), number, len(rows))
    sink.close()
    return poster


def test_of_a_large_batch_the_newest_are_offered_oldest_first(
    frame: Frame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("processor_runtime.spark.sinks.service.ROWS_PER_BATCH", 3)
    poster = offered(frame, [*map(match, [4, 1, 5, 2, 3])])
    assert [each.output["failures"] for each in poster.offered] == [3, 4, 5]  # type: ignore[index, call-overload] # it is a mapping
    assert poster.dropped == 2


@pytest.mark.long
def test_a_row_of_many_megabytes_is_offered_without_them(frame: Frame) -> None:
    large = json.dumps([{"note": "x" * 1_500_000}])
    huge = match(key=large, output=large, events=json.dumps({"fail": json.loads(large)}))
    poster = offered(frame, [huge, match(2, processor_id="no id")])
    (told,) = poster.offered
    left_out = "percept_left_out"
    assert told.output == {left_out: f"{len(large)} bytes of output"}
    assert told.events == {left_out: [{left_out: f"{len(large) + 10} bytes of events"}]}
    assert poster.dropped == 1


GROUP_ID = "5a0c" * 8
GROUP = {
    "group": {"country": "XX"},
    "matches": 37,
    "keys": 31,
    "versions": [2],
    "from_ms": START_MS,
    "until_ms": START_MS + 3_600_000,
    "match_ids": [f"{1:032x}", f"{2:032x}"],
}


def group_row(**told: Any) -> dict[str, Any]:
    output = json.dumps(GROUP | told)
    return match(8, kind="group", tag=GROUP_ID, key=None, events=None, output=output)


@pytest.mark.long
def test_groups_are_offered_behind_their_matches(frame: Frame) -> None:
    grouped = match(2, kind="grouped", tag=GROUP_ID)
    shadow = match(3, kind="shadow", tag="timeout")
    rest_row = group_row(is_rest=True, keys_are_estimated=True, group={})
    broken = match(4, kind="group", tag=GROUP_ID, output='{"matches": 2}')
    first = [group_row(), match(1, tag=GROUP_ID), grouped, shadow]
    poster = offered(frame, first, [rest_row], [broken])
    shown = [(each.kind, each.group_id) for each in poster.offered]
    assert shown == [("grouped", GROUP_ID), ("shadow", ""), ("match", GROUP_ID)]
    own, rest = poster.groups
    told = own.model_dump(exclude={"group_id", "processor_id", "version"})
    assert told == {name: GROUP[name] for name in GROUP if name in told} | {
        "match_id": f"{1:032x}",
        "keys_are_estimated": False,
        "is_rest": False,
    }
    assert (rest.is_rest, rest.keys_are_estimated, rest.group) == (True, True, {})
    assert poster.dropped == 1


@pytest.mark.long
def test_grouped_matches_do_not_crowd_out_those_that_went_out(
    frame: Frame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("processor_runtime.spark.sinks.service.ROWS_PER_BATCH", 3)
    grouped = [match(number, kind="grouped", tag=GROUP_ID) for number in range(10, 15)]
    poster = offered(frame, [*grouped, match(1, tag=GROUP_ID), group_row()])
    assert [each.kind for each in poster.offered] == ["grouped", "match"]
    assert len(poster.groups) == 1


def test_without_a_service_in_the_job_file_the_output_is_refused() -> None:
    with pytest.raises(OutputFailed, match="output 'service': there is no service"):
        create_sinks([output(type="service")], surroundings())


def test_a_service_that_is_down_does_not_fail_a_batch(
    frame: Frame, caplog: pytest.LogCaptureFixture
) -> None:
    service = RuleService("http://127.0.0.1:1", lambda: "token")
    with create_sinks([output(type="service")], surroundings(service=service)) as outputs:
        outputs.write(frame(match()), 0, {"match": 1})
        eventually(lambda: "the rule service takes no matches" in caplog.text)
    service.close()
