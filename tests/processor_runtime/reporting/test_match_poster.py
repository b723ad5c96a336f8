"""Recent matches reach the service in bounded posts; a service that is down costs no memory."""

import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from contract.reports import ReportedGroup, ReportedMatch
from discoverers.clock import Clock
from processor_runtime.reporting import MatchPoster, RuleService
from processor_runtime.reporting.shortening import reported_match
from tests.discoverers.rule_service import RuleService as ServedRuleService
from tests.patience import PATIENCE_SECONDS, eventually

MATCHES = "/v1/streams/logins/matches"
EAGER = Clock(wait=lambda event, seconds: event.wait(seconds / 100))


def match(number: int, **changes: Any) -> ReportedMatch:
    row = {
        "match_id": f"match-{number:015}",
        "kind": "match",
        "tag": None,
        "processor_id": "failed-logins",
        "version": 1,
        "epoch": 2,
        "key": '["eve"]',
        "start_ms": 1_000,
        "end_ms": 2_000,
        "output": '{"failures": 3}',
        "events": '{"fail": [{"user": "eve"}]}',
    }
    return reported_match(row | changes)


def posted_ids(served: ServedRuleService) -> list[str]:
    items = served.request("GET", f"{MATCHES}?limit=500").json()["items"]
    return sorted(item["match_id"] for item in items)


class Script:
    """A service that answers posts as it is told to, and remembers the ids it has taken."""

    def __init__(self) -> None:
        self.is_down = False
        self.refused = ""
        self.posts: list[list[str]] = []
        self.may_answer = threading.Event()
        self.may_answer.set()

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.may_answer.wait(PATIENCE_SECONDS)
        if self.is_down:
            return httpx2.Response(503)
        ids = [each["match_id"] for each in json.loads(request.content)["matches"]]
        if self.refused in ids:
            return httpx2.Response(422, json={"detail": "The body has 1 problem."})
        self.posts.append(ids)
        return httpx2.Response(200, json={"added": len(ids), "known": 0})

    def taken(self) -> list[str]:
        return [match_id for post in self.posts for match_id in post]

    def rules(self) -> RuleService:
        transport = httpx2.MockTransport(self)
        return RuleService("http://127.0.0.1", lambda: "token", transport=transport)


@pytest.fixture
def script() -> Iterator[Script]:
    script = Script()
    yield script
    script.may_answer.set()


def poster(rules: RuleService, queue_rows: int = 10_000) -> MatchPoster:
    return MatchPoster(rules, "logins", "main", queue_rows=queue_rows, clock=EAGER)


def test_the_service_shows_what_a_job_found(served: ServedRuleService, rules: RuleService) -> None:
    with poster(rules) as posting:
        posting.offer([match(1), match(2, kind="timeout")])
        eventually(lambda: len(posted_ids(served)) == 2)
    item = served.request("GET", f"{MATCHES}/match-000000000000001").json()
    assert item["output"] == {"failures": 3}
    assert item["events"] == {"fail": [{"user": "eve"}]}
    assert item["job"] == "main"


def test_groups_reach_the_service_with_matches_or_after_them(
    served: ServedRuleService, rules: RuleService
) -> None:
    told = ReportedGroup(
        match_id=match(1).match_id,
        group_id="5a0c" * 8,
        processor_id="failed-logins",
        version=1,
        matches=37,
        keys=31,
        group={"country": "XX"},
        from_ms=0,
        until_ms=3_600_000,
    )
    later = told.model_copy(update={"match_id": match(2).match_id, "matches": 5})
    with poster(rules) as posting:
        posting.offer([match(1, tag="5a0c" * 8), told, match(2)])
        eventually(lambda: len(posted_ids(served)) == 2)
        posting.offer([later])
    items = served.request("GET", MATCHES).json()["items"]
    standing = {each["match_id"]: each["stands_for"]["matches"] for each in items}
    assert standing == {match(1).match_id: 37, match(2).match_id: 5}


def test_a_service_that_was_down_gets_what_waited_once_each(
    served: ServedRuleService, rules: RuleService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "percept.reporting")
    served.stop()
    with poster(rules) as posting:
        posting.offer([match(1)])
        eventually(lambda: "takes no matches" in caplog.text)
        posting.offer([match(2), match(1)])
        served.start()
        eventually(lambda: len(posted_ids(served)) == 2)
        assert posting.dropped == 0


def test_of_too_many_that_wait_the_oldest_are_dropped_and_counted(script: Script) -> None:
    script.is_down = True
    with poster(script.rules(), queue_rows=10) as posting:
        for number in range(100):
            posting.offer([match(number)])
        eventually(lambda: posting.dropped == 90)
        assert posting.waiting <= 10
        script.is_down = False
        eventually(script.taken)
    assert script.taken() == [f"match-{number:015}" for number in range(90, 100)]


def test_a_post_under_way_does_not_make_room_for_more_than_may_wait(script: Script) -> None:
    script.is_down = True
    script.may_answer.clear()
    with poster(script.rules(), queue_rows=10) as posting:
        posting.offer([match(number) for number in range(10)])
        eventually(lambda: posting.waiting == 0)  # all ten are under way
        posting.offer([match(number) for number in range(10, 20)])
        script.may_answer.set()
        eventually(lambda: posting.dropped == 10)
        script.is_down = False
        eventually(lambda: script.posts)
    assert script.taken() == [f"match-{number:015}" for number in range(10, 20)]


def test_posts_have_at_most_five_hundred_matches_and_a_megabyte(script: Script) -> None:
    large = json.dumps({"fail": [{"note": "x" * 50_000}]})
    script.may_answer.clear()
    with poster(script.rules()) as posting:
        posting.offer([match(number) for number in range(1_200)])
        posting.offer([match(number, events=large) for number in range(1_200, 1_230)])
        script.may_answer.set()
        eventually(lambda: sum(map(len, script.posts)) == 1_230)
    sizes = [len(post) for post in script.posts]
    assert max(sizes) == 500
    assert sizes[-1] < 30


def test_a_match_that_the_service_refuses_does_not_take_others_with_it(script: Script) -> None:
    script.refused = match(33).match_id
    with poster(script.rules()) as posting:
        posting.offer([match(number) for number in range(100)])
        eventually(lambda: sum(map(len, script.posts)) == 99)
        eventually(lambda: posting.dropped == 1)


def test_what_waits_at_the_end_of_the_job_is_still_sent(script: Script) -> None:
    script.may_answer.clear()
    posting = poster(script.rules())
    with posting:
        posting.offer([match(1)])
        eventually(lambda: posting.waiting == 0)
        posting.offer([match(2)])
        script.may_answer.set()
    assert sum(map(len, script.posts)) == 2


def test_a_service_that_is_down_at_the_end_of_the_job_is_not_waited_for(script: Script) -> None:
    script.is_down = True
    with poster(script.rules()) as posting:
        posting.offer([match(1)])
    assert not posting._thread.is_alive()
