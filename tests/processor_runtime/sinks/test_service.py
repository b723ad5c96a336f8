"""The newest matches are offered to the service, however large; it never holds the job up."""

import json

import pytest
from pyspark.sql import SparkSession

from contract.reports import ReportedMatch
from processor_runtime.reporting import MatchPoster, RuleService
from processor_runtime.spark.sinks import OutputFailed, create_sinks
from processor_runtime.spark.sinks.service import ServiceSink
from tests.patience import eventually
from tests.processor_runtime.sinks.rows import frame, match, output, surroundings

pytestmark = pytest.mark.spark


class RememberingPoster(MatchPoster):
    """Keeps what it is offered."""

    def __init__(self) -> None:
        super().__init__(RuleService("http://127.0.0.1:1", lambda: "token"), "logins", "main")
        self.offered: list[ReportedMatch] = []

    def offer(self, matches: list[ReportedMatch]) -> None:  # type: ignore[override] # a sink gives lists
        self.offered += matches


def test_of_a_large_batch_the_newest_are_offered_oldest_first(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("processor_runtime.spark.sinks.service.ROWS_PER_BATCH", 3)
    poster = RememberingPoster()
    sink = ServiceSink(poster)
    sink.write(frame(spark, *map(match, [4, 1, 5, 2, 3])), 0, 5)
    sink.close()
    assert [each.output["failures"] for each in poster.offered] == [3, 4, 5]  # type: ignore[index, call-overload] # it is a mapping
    assert poster.dropped == 2


def test_a_row_of_many_megabytes_is_offered_without_them(spark: SparkSession) -> None:
    large = json.dumps([{"note": "x" * 1_500_000}])
    huge = match(key=large, output=large, events=json.dumps({"fail": json.loads(large)}))
    poster = RememberingPoster()
    sink = ServiceSink(poster)
    sink.write(frame(spark, huge, match(2, processor_id="no id")), 0, 2)
    sink.close()
    (offered,) = poster.offered
    assert offered.output == {"percept_left_out": f"{len(large)} bytes of output"}
    assert offered.events == {
        "percept_left_out": [{"percept_left_out": f"{len(large) + 10} bytes of events"}]
    }
    assert poster.dropped == 1


def test_without_a_service_in_the_job_file_the_output_is_refused() -> None:
    with pytest.raises(OutputFailed, match="output 'service': there is no service"):
        create_sinks([output(type="service")], surroundings())


def test_a_service_that_is_down_does_not_fail_a_batch(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    service = RuleService("http://127.0.0.1:1", lambda: "token")
    with create_sinks([output(type="service")], surroundings(service=service)) as outputs:
        outputs.write(frame(spark, match()), 0, {"match": 1})
        eventually(lambda: "the rule service takes no matches" in caplog.text)
    service.close()
