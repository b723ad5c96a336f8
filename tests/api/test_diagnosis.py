"""Why a rule has found nothing yet: how far its partial matches get, from what jobs report."""

from typing import Any

import pytest

from api.diagnosis.written_steps import WrittenStep, written_steps
from tests.api.documents import PATTERN
from tests.api.jobs import ReportingJob, running
from tests.api.running import START_MS, Service

PATH = "/v1/processors/failed-logins"
FAIL = {"name": "fail", "reached": 4, "events": 9, "timed_out": 1, "broken": 2, "pruned": 3}


@pytest.fixture
def job(with_rule: Service) -> ReportingJob:
    return ReportingJob(with_rule)


def read(service: Service, what: str) -> Any:
    return service.get(f"{PATH}/{what}")


class TestFunnel:
    def test_steps_are_told_in_the_order_of_the_pattern(self, job: ReportingJob) -> None:
        login = {"name": "login", "reached": 1, "events": 1, "last_event_ms": START_MS}
        job.beat(running(steps=[login, FAIL], partial_matches=2))
        (in_job,) = read(job.service, "funnel")["jobs"]
        (version,) = in_job["versions"]
        shown = (in_job["job"]["name"], version["version"], version["state"])
        assert shown == ("main", 1, "active")
        assert (version["is_counted"], version["partial_matches"]) == (True, 2)
        fail, login = version["steps"]
        assert [step["name"] for step in PATTERN["steps"]] == [fail["name"], login["name"]]
        assert fail.items() >= (FAIL | {"condition": "action = 'fail'", "last_event": None}).items()
        assert (login["reached"], login["timed_out"]) == (1, 0)
        assert login["last_event"] == "2027-01-15T08:00:00.000Z"

    def test_a_step_that_nothing_reached_is_told_and_a_later_report_takes_its_place(
        self, job: ReportingJob
    ) -> None:
        for steps, state, reached in (
            ([], "active", [0, 0]),
            ([FAIL], "active", [4, 0]),
            ([FAIL | {"reached": 5}], "superseded", [5, 0]),
        ):
            job.beat(running(steps=steps, state=state))
            (version,) = read(job.service, "funnel")["jobs"][0]["versions"]
            assert [step["reached"] for step in version["steps"]] == reached
            assert version["state"] == state

    def test_a_clause_that_is_searched_row_by_row_says_that_it_is_not_counted(
        self, with_stream: Service
    ) -> None:
        clause = (
            "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES LAST(B.ts) AS until "
            "PATTERN (A+ B) DEFINE A AS action = 'fail', B AS action > PREV(action))"
        )
        with_stream.publish(pattern={"match_recognize": clause})
        ReportingJob(with_stream).beat(running(counters={"events": 10}))
        (version,) = read(with_stream, "funnel")["jobs"][0]["versions"]
        assert version["is_counted"] is False
        assert [step["name"] for step in version["steps"]] == ["A", "B"]

    def test_what_is_not_known_here_is_told_as_it_was_counted(self, job: ReportingJob) -> None:
        job.beat(running(version=9, steps=[FAIL | {"name": "<b>x</b>"}]))
        (version,) = read(job.service, "funnel")["jobs"][0]["versions"]
        (step,) = version["steps"]
        assert (step["name"], step["condition"]) == ("<b>x</b>", "")
        job.service.get("/v1/processors/unknown/funnel", expect=404)


def test_steps_are_read_as_they_are_written() -> None:
    steps = written_steps(
        {
            "steps": [
                {"name": "a", "where": "x  =\n 1"},
                {"group": {"steps": [{"name": "b"}, {"name": "c", "where": {"python": {}}}]}},
                {"name": "d", "contiguity": "not_followed_by", "where": "y"},
                {"name": "e", "where": {"any_of": ["p", {"all_of": ["q", {"python": {}}]}]}},
                {"name": "f", "where": "z" * 900},
                {"name": "g", "times": {"from": 0, "to": 2}},
                {"group": {"steps": [{"name": "h"}]}, "optional": True},
            ]
        }
    )
    python = "a condition in Python"
    assert steps[:5] == [
        WrittenStep("a", "x = 1"),
        WrittenStep("b", ""),
        WrittenStep("c", python),
        WrittenStep("d", "y", is_forbidden=True),
        WrittenStep("e", f"(p) OR ((q) AND ({python}))"),
    ]
    assert len(steps[5].condition) == 500
    assert [step.name for step in steps if step.is_optional] == ["g", "h"]
    clause = (
        "MATCH_RECOGNIZE (ORDER BY ts MEASURES 1 AS x PATTERN (A (B | C) D* E{2}) DEFINE A AS y)"
    )
    variables = written_steps({"match_recognize": clause})
    assert [step.name for step in variables if step.is_optional] == ["B", "C", "D"]
    assert variables[0].condition == "y"


def lines(service: Service) -> dict[str, dict[str, Any]]:
    """Return the link of each kind; of several jobs the last."""
    return {line["link"]: line for line in read(service, "diagnosis")["lines"]}


def wrong(service: Service) -> list[str]:
    """Return the links that need attention, and check that the first is given as the reason."""
    told = read(service, "diagnosis")
    found = [line for line in told["lines"] if line["state"] == "attention"]
    assert told["reason"] == (found[0]["title"] if found else "")
    assert all(line["title"] and line["remedy"] for line in found)
    return [line["link"] for line in found]


HEALTHY: dict[str, Any] = {
    "epoch": 2,
    "watermark_ms": START_MS - 6_000,
    "newest_event_ms": START_MS - 1_000,
    "counters": {"events": 100},
    "events_per_second": 10.0,
}
LOGIN = {"name": "login", "reached": 1, "events": 1}
COUNTED: dict[str, Any] = {"counters": {"events": 9}, "steps": [FAIL, LOGIN]}
CHAINS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "no event meets a condition": ({}, HEALTHY, ["conditions"]),
    "the source is empty": ({}, {"epoch": 2}, ["source"]),
    "events cannot be read": (
        COUNTED | {"state": "quarantined", "error": "boom"},
        HEALTHY | {"malformed_events": 100, "malformed_reason": "ts"},
        ["source", "version"],
    ),
    "the source is silent": (COUNTED, HEALTHY | {"silent_since_ms": START_MS - 90_000}, ["source"]),
    "left out": (COUNTED | {"counters": {"events": 9, "left_out": 3}}, HEALTHY, ["output"]),
    "suppressed": (COUNTED | {"counters": {"events": 9, "suppressed": 3}}, HEALTHY, ["output"]),
    "budget spent": (
        COUNTED | {"counters": {"events": 9, "matches": 9}, "throttled_until_ms": START_MS},
        HEALTHY,
        ["output"],
    ),
    **{
        state: (COUNTED | {"state": state, "error": "boom"}, HEALTHY, ["version"])
        for state in ("pending", "quarantined", "shadow", "paused", "superseded")
    },
}


class TestDiagnosis:
    def test_a_rule_that_finds_matches_has_nothing_wrong_but_each_job_its_own_chain(
        self, job: ReportingJob
    ) -> None:
        counters = {"events": 9, "matches": 2}
        job.beat(running(counters=counters, steps=[FAIL, LOGIN]), **HEALTHY)
        assert wrong(job.service) == []
        assert read(job.service, "diagnosis")["matches"] == 2
        job.beat(running(**COUNTED), **HEALTHY)
        ReportingJob(job.service, "second").beat(running(), **HEALTHY)
        found = read(job.service, "diagnosis")["lines"]
        bad = [(line["job"], line["link"]) for line in found if line["state"] == "attention"]
        assert bad == [("second", "conditions")]

    def test_no_job_or_all_have_stopped(self, with_rule: Service) -> None:
        assert wrong(with_rule) == ["job"]
        job = ReportingJob(with_rule)
        job.beat(running(), **HEALTHY)
        job.stop()
        assert wrong(with_rule) == ["job"]
        assert lines(with_rule)["job"]["detail"] == "main: deployed"

    def test_a_rule_that_begins_later_is_over_paused_or_deleted(self, with_stream: Service) -> None:
        def title() -> Any:
            return lines(with_stream)["rule"]["title"]

        begin, end = "2027-02-01T00:00:00.000Z", "2027-03-01T00:00:00.000Z"
        with_stream.publish(effective_from=begin, effective_until=end)
        assert title() == f"It takes effect at {begin}"
        with_stream.clock.time_ms += 60 * 86_400_000
        assert title() == f"It ended at {end}"
        for method, path, state in (
            ("POST", f"{PATH}/pause", "paused"),
            ("DELETE", PATH, "deleted"),
        ):
            with_stream.done(method, path)
            assert title() == f"The rule is {state}"

    def test_a_job_that_has_not_picked_the_rule_up_or_does_not_report(
        self, job: ReportingJob
    ) -> None:
        job.beat(**HEALTHY | {"epoch": 1})
        assert wrong(job.service) == ["version"]
        job.beat(**HEALTHY)
        assert lines(job.service)["version"]["title"] == "The job does not run the rule"
        job.beat(running(**COUNTED), **HEALTHY)
        job.service.clock.time_ms += 600_000
        assert wrong(job.service) == ["heartbeat"]
        assert lines(job.service)["batches"]["state"] == "unknown"

    @pytest.mark.parametrize("case", CHAINS)
    def test_the_link_that_is_broken_is_told(self, job: ReportingJob, case: str) -> None:
        of_rule, of_job, links = CHAINS[case]
        job.beat(running(**of_rule), **of_job)
        assert wrong(job.service) == links
        told = lines(job.service)
        if case == "quarantined":
            assert told["version"]["detail"] == "boom"
        if case == "the source is empty":
            rest = {told[link]["state"] for link in ("watermark", "conditions", "steps")}
            assert rest == {"unknown"}

    def test_event_time_that_lags_and_events_that_are_late(self, job: ReportingJob) -> None:
        rule = running(**COUNTED)
        old = {"watermark_ms": START_MS - 3_600_000, "time_mode": "events"}
        job.beat(rule, **HEALTHY | old)
        assert wrong(job.service) == ["watermark"]
        assert "Only new events advance it" in lines(job.service)["watermark"]["detail"]
        job.beat(rule, **HEALTHY | {"counters": {"events": 100, "late": 40}})
        assert lines(job.service)["watermark"]["title"] == "40 of 100 events arrived too late"

    def test_a_step_that_nothing_comes_to(self, job: ReportingJob) -> None:
        def told(*steps: dict[str, Any]) -> dict[str, Any]:
            job.beat(running(counters={"events": 9}, steps=steps), **HEALTHY)
            return lines(job.service)["steps"]

        first = told()
        assert (first["state"], first["title"]) == ("attention", "No partial match has started")
        assert first["detail"] == "fail requires: action = 'fail'"
        second = told(FAIL | {"timed_out": 90})
        assert wrong(job.service) == ["steps"]
        assert second["title"] == "No partial match has reached the step login"
        assert "90 timed out" in second["detail"]
        assert "login requires: action = 'login'" in second["detail"]
        assert "within" in second["remedy"]
        assert "next allows none" in told(FAIL | {"broken": 91})["remedy"]

    def test_an_optional_step_is_not_missed(self, with_stream: Service) -> None:
        first, last = PATTERN["steps"]
        maybe = {"name": "view", "contiguity": "followed_by", "optional": True}
        with_stream.publish(pattern=PATTERN | {"steps": [first, maybe, last]})
        job = ReportingJob(with_stream)
        job.beat(running(**COUNTED), **HEALTHY)
        assert wrong(with_stream) == []
        job.beat(running(counters={"events": 9}, steps=[FAIL]), **HEALTHY)
        assert lines(with_stream)["steps"]["title"].endswith("the step login")
        job.beat(running(counters={"events": 9, "matches": 1}, steps=[FAIL]), **HEALTHY)
        assert wrong(with_stream) == []
