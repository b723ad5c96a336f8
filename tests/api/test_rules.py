"""The rules of a stream beside a job: every filter and order, and changes of many at once."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.rules.filters import RuleSort
from contract.service.tokens import Role
from tests.api.documents import PATTERN, STREAM
from tests.api.jobs import ReportingJob, running
from tests.api.running import Service, running_service
from tests.api.triage import bulk, found, post
from tests.properties import slow_property

RULES = "/v1/streams/logins/rules"
STANDINGS = ["quarantined", "active", "paused", "draining", "pending", "shadow", "absent"]
SEVERITIES = [None, "info", "low", "medium", "high", "critical"]


def beat(job: ReportingJob, *versions: dict[str, Any], epoch: int = 1) -> None:
    job.beat(*versions, epoch=epoch, watermark_ms=job.service.clock())


def read(service: Service, path: str = RULES, **query: Any) -> dict[str, Any]:
    body: dict[str, Any] = service.get(path, **query)
    return body


@pytest.fixture(scope="module")
def lasting_service(store_kind: str, migrated_store: Callable[[str], str]) -> Iterator[Service]:
    """A service with sixteen rules in all standings, of which the job has not taken all changes."""
    with running_service(migrated_store(store_kind)) as service:
        fill(service)
        yield service


def fill(service: Service) -> None:
    for stream in ("logins", "other"):
        service.done("POST", "/v1/streams", STREAM | {"name": stream})
    reports = []
    for number in range(16):
        service.clock.time_ms += 1_000 * (number % 3)
        rule = f"{'Zz' if number % 2 else 'a_'}{number}"
        service.publish(
            id=rule,
            stream="other" if number == 15 else "logins",
            owner=["", "Fraud", "ätna"][number % 3],
            tags=["even"] if number % 2 == 0 else ["odd", "x:y"],
            description="100% Safe" if number % 3 == 0 else "back\\slash",
            severity=SEVERITIES[number % 6],
        )
        if number == 14:
            service.done("DELETE", f"/v1/processors/{rule}")
        standing = STANDINGS[number % 7]
        if standing != "absent":
            counters = {"matches": number * 10 % 7, "errors": number % 4 if number > 8 else 0}
            last_match_ms = None if number % 5 == 0 else service.clock() - number * 100
            counted: dict[str, Any] = {"counters": counters, "partial_matches": number % 3}
            reports.append(running(rule, state=standing, last_match_ms=last_match_ms, **counted))
        elif number == 6:
            counters = {"matches": 3, "errors": 2}
            reports.append(running(rule, state="superseded", counters=counters))
        if number == 1:
            reports.append(running(rule, 7, state="superseded", counters={"errors": 5}))
        if number % 4:
            for place, status in enumerate(["resolved", "false_positive"][: number % 3]):
                look_at(service, rule, f"{number:015}{place}", status)
    beat(ReportingJob(service), *reports, epoch=9)
    ReportingJob(service, "spare")


def look_at(service: Service, rule: str, name: str, status: str) -> None:
    """Post a match of a rule, and triage it."""
    at_ms = service.clock()
    post(service, found(0, match_id=name, processor_id=rule, start_ms=at_ms, end_ms=at_ms))
    assert bulk(service, {"matches": [{"match_id": name}], "status": status}).is_success


FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "standing": st.sampled_from(STANDINGS),
        "tag": st.lists(st.sampled_from(["even", "odd", "x:y"]), max_size=2),
        "owner": st.sampled_from(["Fraud", "ätna"]),
        "severity": st.sampled_from(SEVERITIES[1:]),
        "text": st.sampled_from(["100%", "SAFE", "back\\", "_", "zz1", "absent"]),
        "problem": st.sampled_from(["errors", "behind", "warnings"]),
    },
)


def problems(rule: dict[str, Any]) -> set[str]:
    running = rule["running"]
    found = {"warnings"} if rule["warning_count"] else set()
    found |= {"behind"} if not running["is_current"] else set()
    return found | ({"errors"} if running["errors"] or rule["standing"] == "quarantined" else set())


def is_labelled(rule: dict[str, Any], query: dict[str, Any]) -> bool:
    text = query.get("text", "").lower()
    haystack = rule["id"], rule["description"], json.dumps(PATTERN)
    return (
        set(query.get("tag", [])) <= set(rule["tags"])
        and rule["owner"] == query.get("owner", rule["owner"])
        and rule["severity"] == query.get("severity", rule["severity"])
        and any(text in part.lower() for part in haystack)
    )


def sort_value(rule: dict[str, Any], field: str) -> Any:
    match field:
        case "standing":
            return STANDINGS.index(rule["standing"])
        case "severity":
            return SEVERITIES.index(rule["severity"])
        case "last_match":
            return rule["running"]["last_match"] or ""
        case "matches_last_hour" | "partial_matches" | "errors":
            return rule["running"][field]
        case "false_positive_rate":
            rate = rule["triage"][field]
            return -1 if rate is None else rate
        case _:
            return rule[field]


@pytest.mark.long
@slow_property()
@given(query=FILTERS, sort=st.sampled_from(RuleSort), limit=st.integers(1, 6))
def test_pages_together_are_all_that_meets_the_filter_in_order(
    lasting_service: Service, query: dict[str, Any], sort: RuleSort, limit: int
) -> None:
    every = read(lasting_service, limit=500)["items"]
    labelled = [rule for rule in every if is_labelled(rule, query)]
    expected = sorted(
        (
            rule
            for rule in labelled
            if rule["standing"] == query.get("standing", rule["standing"])
            and ("problem" not in query or query["problem"] in problems(rule))
        ),
        key=lambda rule: (sort_value(rule, sort.field), rule["id"]),
        reverse=sort.is_descending,
    )
    found: list[Any] = []
    for page in lasting_service.pages(RULES, **query, sort=sort.value, limit=limit):
        assert page["total"] == len(expected)
        assert len(page["items"]) <= limit
        found += page["items"]
    assert found == expected
    for standing, count in page["standings"].items():
        assert count == sum(rule["standing"] == standing for rule in labelled)
    for problem, count in page["problems"].items():
        assert count == sum(problem in problems(rule) for rule in labelled)


def test_every_standing_and_problem_is_there_and_other_streams_and_ended_versions_are_not(
    lasting_service: Service,
) -> None:
    page = read(lasting_service)
    assert len(page["items"]) == page["total"] == 14
    assert all(page["standings"].values())
    assert page["problems"]["errors"] > 0
    assert page["problems"]["behind"] > 0
    assert page["job"]["name"] == "main"
    assert [job["name"] for job in page["jobs"]] == ["main", "spare"]
    mended = read(lasting_service, text="Zz1")["items"][0]
    assert (mended["standing"], mended["running"]["errors"]) == ("active", 0)
    ended = read(lasting_service, text="a_6")["items"][0]
    assert (ended["standing"], ended["running"]["errors"]) == ("absent", 0)
    with_errors = read(lasting_service, problem="errors")["items"]
    assert not {"Zz1", "a_6"} & {rule["id"] for rule in with_errors}


def test_the_labels_in_use_are_counted(lasting_service: Service) -> None:
    labels = read(lasting_service, f"{RULES}/labels")
    assert labels["owners"] == [{"value": "Fraud", "count": 5}, {"value": "ätna", "count": 4}]
    assert labels["tags"] == [
        {"value": "even", "count": 7},
        {"value": "odd", "count": 7},
        {"value": "x:y", "count": 7},
    ]


def test_labels_beyond_the_most_frequent_are_found_by_a_text_in_them(with_stream: Service) -> None:
    for number in range(11):
        tags = [f"tag-{number:02}-{place:02}" for place in range(20)]
        with_stream.publish(id=f"many-{number:02}", tags=tags)
    with_stream.publish(id="rare", tags=["zz_Rarest"], owner="zz owner")
    path = "/v1/streams/logins/rules/labels"
    rarest = {"value": "zz_Rarest", "count": 1}
    assert rarest not in with_stream.get(path)["tags"]
    assert with_stream.get(path, text="z_rare") == {"owners": [], "tags": [rarest]}
    assert with_stream.get(path, text="ZZ O")["owners"] == [{"value": "zz owner", "count": 1}]
    assert with_stream.get(path, text="zz%") == {"owners": [], "tags": []}


def test_a_line_tells_what_runs_since_when_and_what_comes_next(with_rule: Service) -> None:
    with_rule.publish(effective_from="2030-01-01T00:00:00Z", key_by=["user", "action"])
    now_ms = with_rule.clock()
    job = ReportingJob(with_rule)
    live = running(active_from_ms=now_ms, counters={"matches": 2})
    beat(job, live, running(version=2, state="pending", active_from_ms=now_ms + 60_000), epoch=3)
    with_rule.clock.time_ms += 300_000
    beat(job, live | {"counters": {"matches": 5}})
    (line,) = read(with_rule)["items"]
    assert (line["standing"], line["key_by"]) == ("active", ["user", "action"])
    assert [each["version"] for each in line["published"]] == [1, 2]
    told = line["running"]
    assert (told["live_version"], told["next_version"]) == (1, 2)
    shown = (told["live_from"], told["next_from"])
    assert shown == ("2027-01-15T08:00:00.000Z", "2027-01-15T08:01:00.000Z")
    assert told["matches_last_hour"] == sum(line["matches"]) == 5
    assert line["matches"] == [0] * 10 + [2, 3]


def test_without_a_job_rules_are_listed_and_else_beside_the_freshest(with_rule: Service) -> None:
    page = read(with_rule, sort="-matches_last_hour")
    (line,) = page["items"]
    assert (page["job"], page["jobs"]) == (None, [])
    assert (line["standing"], line["running"], line["matches"]) == ("absent", None, [0] * 12)
    assert page["problems"]["behind"] == 0
    silent = ReportingJob(with_rule, "silent")
    beat(silent, running(state="quarantined", error="division by zero"))
    with_rule.clock.time_ms += 60_000
    beat(ReportingJob(with_rule, "lively"), running())
    assert read(with_rule)["job"]["name"] == "lively"
    (line,) = read(with_rule, job="silent")["items"]
    assert line["standing"] == "quarantined"
    assert line["running"]["job"]["state"] == "stale"
    assert line["running"]["error"] == "division by zero"
    with_rule.get(RULES, job="nobody", expect=404)
    with_rule.get("/v1/streams/none/rules", expect=404)


def test_a_cursor_of_another_order_is_refused(with_stream: Service) -> None:
    for number in range(2):
        with_stream.publish(id=f"rule-{number}")
    cursor = read(with_stream, limit=1, sort="-errors")["next_cursor"]
    answer = with_stream.get(RULES, cursor=cursor, sort="owner", expect=422)
    assert answer["errors"][0]["pointer"] == "query/cursor"


def test_many_rules_are_paused_and_resumed_at_once_and_each_change_is_logged(
    with_stream: Service,
) -> None:
    for name in ("a", "b", "c"):
        with_stream.publish(id=name)
    with_stream.done("POST", "/v1/processors/b/pause")
    path = f"{RULES}/pause?comment=a+flood"
    paused = with_stream.done("POST", path, {"ids": ["c", "b", "a", "a"]})
    assert paused == {"changed": ["c", "a"]}
    log = with_stream.log(action="processor.pause")
    shown = [(each["processor_id"], each["comment"]) for each in log]
    assert shown[:2] == [("a", "a flood"), ("c", "a flood")]
    assert len({each["epoch"] for each in log}) == 3
    assert [each["paused"] for each in with_stream.snapshot()["processors"]] == [True] * 3
    resumed = with_stream.done("POST", f"{RULES}/resume", {"ids": ["a", "b"]})
    assert resumed == {"changed": ["a", "b"]}
    states = {each["id"]: each["state"] for each in read(with_stream)["items"]}
    assert states == {"a": "published", "b": "published", "c": "paused"}


def test_if_one_rule_is_not_there_none_is_paused(with_stream: Service) -> None:
    with_stream.done("POST", "/v1/streams", STREAM | {"name": "other"})
    for name, stream in (("a", "logins"), ("gone", "logins"), ("elsewhere", "other")):
        with_stream.publish(id=name, stream=stream)
    with_stream.done("DELETE", "/v1/processors/gone")
    body = {"ids": ["a", "gone", "elsewhere", "unknown"]}
    errors = with_stream.post(f"{RULES}/pause", Role.ADMIN, body, expect=422)["errors"]
    assert [each["pointer"] for each in errors] == ["/ids/1", "/ids/2", "/ids/3"]
    assert with_stream.get("/v1/processors/a")["state"] == "published"


def test_a_line_tells_until_when_all_its_keys_are_snoozed(with_rule: Service) -> None:
    with_rule.publish(id="for-one-key")
    until = {"until": "2027-01-15T09:00:00.000Z"}
    for rule, snooze in (("failed-logins", until), ("for-one-key", until | {"key": "eve"})):
        with_rule.done("POST", f"/v1/processors/{rule}/snoozes", snooze)
    told = {line["id"]: line["snoozed_until"] for line in read(with_rule)["items"]}
    assert told == {"failed-logins": until["until"], "for-one-key": None}
    with_rule.clock.time_ms += 3_600_000
    assert [line["snoozed_until"] for line in read(with_rule)["items"]] == [None, None]
