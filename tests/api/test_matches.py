"""Recent matches are posted, bounded, paged, filtered, and listened to."""

import csv
import io
import itertools
import json
import socket
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlalchemy import event

from api.matches import export, repository
from cep.instants import instant_ms
from contract.reports import EVENTS_BYTES, OUTPUT_BYTES
from contract.service.tokens import Role
from tests.api.documents import STREAM
from tests.api.running import START_MS, Service, running_service
from tests.api.serving import Served, served
from tests.api.triage import bulk, found, post
from tests.patience import FAR_LONGER_SECONDS, PATIENCE_SECONDS
from tests.properties import slow_property

PATH = "/v1/streams/logins/matches"
STREAMS = itertools.count()


def listed(service: Service, query: str = "") -> list[int]:
    """Return the event times of listed matches, as milliseconds after the start."""
    items = service.get(f"{PATH}?{query}")["items"]
    return [match["output"]["failures"] for match in items]


def told(text: str) -> list[tuple[str, int, int]]:
    """Return the events in an answer: name, id, and the number in the output."""
    blocks = [
        dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        for block in text.split("\n\n")
    ]
    return [
        (each["event"], int(each["id"]), json.loads(each["data"])["output"]["failures"])
        for each in blocks
        if "data" in each
    ]


def listen(service: Service, query: str = "wait=0.2s", **headers: str) -> Any:
    answer = service.client.get(f"{PATH}/stream?{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    return told(answer.text)


def test_a_match_posted_again_is_not_added_again_but_on_another_stream(
    with_stream: Service,
) -> None:
    assert post(with_stream, found(1), found(2)) == {"added": 2, "known": 0}
    assert post(with_stream, found(2), found(3), found(3)) == {"added": 1, "known": 2}
    assert listed(with_stream) == [3, 2, 1]
    with_stream.done("POST", "/v1/streams", STREAM | {"name": "other"})
    assert post(with_stream, found(1), path="/v1/streams/other/matches")["added"] == 1


FILTERS = [
    ("processor=other", [2]),
    ("version=9", [3]),
    ("kind=timeout", [4]),
    ("key=bob", [5]),
    ("key=bob, 7", [6]),
    ("key_prefix=bo", [6, 5]),
    ("key_prefix=%25", []),
    ("job=main&kind=match&processor=failed-logins&version=1&key=eve", [7, 1]),
    ("job=another", []),
    ("since=2027-01-15T08:00:00.006Z", [7, 6]),
    ("until=2027-01-15T08:00:00.003Z", [2, 1]),
    ("since=2027-01-15T08:00:00.003Z&until=2027-01-15T08:00:00.005Z", [4, 3]),
    ("text=SUSPICIOUS", [7]),
    ("text=%25", []),
]


def test_matches_are_filtered(with_stream: Service) -> None:
    post(
        with_stream,
        found(1),
        found(2, processor_id="other"),
        found(3, version=9),
        found(4, kind="timeout"),
        found(5, key=["bob"]),
        found(6, key=["bob", 7]),
        found(7, output={"failures": 7, "note": "suspicious"}),
    )
    for query, numbers in FILTERS:
        assert listed(with_stream, query) == numbers, query
        heard = listen(with_stream, f"after=0&wait=0s&{query}")
        assert [number for _, _, number in heard] == numbers[::-1], query


def test_pages_stay_right_while_matches_come_in(with_stream: Service) -> None:
    post(with_stream, *map(found, range(5)))
    numbers = []
    for page in with_stream.pages(PATH, limit=2):
        numbers.append([match["output"]["failures"] for match in page["items"]])
        post(with_stream, found(100 + len(numbers)))
    assert numbers == [[4, 3], [2, 1], [0]]


@given(
    ends=st.lists(st.integers(0, 40), max_size=25),
    limit=st.integers(1, 7),
    sort=st.sampled_from(["end", "-end"]),
)
@slow_property()
def test_pages_by_event_time_have_each_match_once_and_in_order(
    with_stream: Service, ends: list[int], limit: int, sort: str
) -> None:
    stream = f"s{next(STREAMS)}"
    with_stream.client.post("/v1/streams", json=STREAM | {"name": stream})
    path = f"/v1/streams/{stream}/matches"
    post(with_stream, *[found(n, end_ms=START_MS + end) for n, end in enumerate(ends)], path=path)
    seen: list[int] = []
    for page in with_stream.pages(path, sort=sort, limit=limit):
        assert page["newest"] == len(ends)
        seen += [match["output"]["failures"] for match in page["items"]]
    order = sorted(range(len(ends)), key=lambda number: (ends[number], number))
    assert seen == (order if sort == "end" else order[::-1])


@given(
    start_ms=st.sampled_from([START_MS, 0, -START_MS]),
    span_ms=st.integers(0, 10**16),
    ends=st.lists(st.integers(0, 10**16), max_size=5),
)
@example(start_ms=-1_500, span_ms=3_000, ends=[0, 499, 500, 1_499, 1_500, 3_000])
@slow_property()
def test_a_summary_counts_each_match_once_in_few_buckets(
    with_stream: Service, start_ms: int, span_ms: int, ends: list[int]
) -> None:
    stream = f"s{next(STREAMS)}"
    with_stream.client.post("/v1/streams", json=STREAM | {"name": stream})
    path = f"/v1/streams/{stream}/matches"
    within = [min(end, span_ms, 10**14) for end in ends]
    matches = [found(n, end_ms=start_ms + end, key=[n % 2]) for n, end in enumerate(within)]
    post(with_stream, *matches, found(99, processor_id="other"), path=path)
    counted = with_stream.client.get(f"{path}/summary?processor=failed-logins").json()
    assert counted["total"] == sum(counted["counts"]) == len(ends)
    assert len(counted["times"]) == len(counted["counts"]) <= 61
    assert sum(each["count"] for each in counted["keys"]) == len(ends)
    assert [each["value"] for each in counted["processors"]] == ["failed-logins"] * bool(ends)
    if ends:
        first_ms, last_ms = (instant_ms(counted[name]) for name in ("first", "last"))
        assert (first_ms, last_ms) == (start_ms + min(within), start_ms + max(within))
        assert instant_ms(counted["times"][0]) <= first_ms
        assert last_ms < instant_ms(counted["times"][-1]) + counted["bucket_ms"]
    expected = Counter((start_ms + end) // (counted["bucket_ms"] or 1) for end in within)
    begun = (instant_ms(time) // counted["bucket_ms"] for time in counted["times"])
    assert dict(zip(begun, counted["counts"], strict=True)) == {
        bucket: expected[bucket]
        for bucket in range(min(expected, default=0), max(expected, default=-1) + 1)
    }


def test_matches_are_exported_as_csv_and_as_lines_of_json(
    with_stream: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "_PAGE", 2)
    post(with_stream, *[found(n, output={"failures": n, "note": '=1+1,"'}) for n in range(5)])
    post(with_stream, found(9, processor_id="other"))
    answer = with_stream.client.get(f"{PATH}/export?processor=failed-logins")
    assert answer.headers["Content-Type"].startswith("text/csv")
    assert 'filename="matches-logins.csv"' in answer.headers["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [json.loads(row["output"])["failures"] for row in rows] == [4, 3, 2, 1, 0]
    assert rows[0]["key"] == '["eve"]'
    assert not any(value.startswith("=") for row in rows for value in row.values())
    written = with_stream.client.get(f"{PATH}/export?format=jsonl").text.splitlines()
    numbers = [json.loads(line)["output"]["failures"] for line in written]
    assert numbers == [9, 4, 3, 2, 1, 0]
    with_stream.get("/v1/streams/none/matches/export", expect=404)


@pytest.mark.parametrize("sort", ["-number", "-end", "end"])
def test_a_search_through_many_matches_goes_on_from_page_to_page(
    with_stream: Service, monkeypatch: pytest.MonkeyPatch, sort: str
) -> None:
    monkeypatch.setattr(repository, "SEARCHED_AT_ONCE", 3)
    monkeypatch.setattr(repository, "SEARCH_SECONDS", 0)
    post(with_stream, *[found(n, key=[n], end_ms=START_MS + n * 7 % 11) for n in range(11)])
    wanted = {"text": '"failures":1', "sort": sort}
    pages = [
        [match["output"]["failures"] for match in page["items"]]
        for page in with_stream.pages(PATH, limit=2, **wanted)
    ]
    order = {"-number": [10, 1], "-end": [1, 10], "end": [10, 1]}[sort]
    assert [number for page in pages for number in page] == order
    assert len(pages) == 4
    answer = with_stream.client.get(f"{PATH}/export", params={"text": wanted["text"]})
    assert len(answer.text.splitlines()) == 3
    assert len(list(with_stream.pages(PATH, key="3", sort=sort))) == 1  # an index finds it


def test_changing_all_that_a_long_search_finds_goes_on_where_it_ended(
    with_stream: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "SEARCHED_AT_ONCE", 3)
    monkeypatch.setattr(repository, "SEARCH_SECONDS", 0)
    post(with_stream, *[found(n) for n in range(11)])
    cursor, changed = "", []
    while cursor is not None:
        change = {"status": "resolved"}
        answer = bulk(with_stream, change, text='"failures":1', cursor=cursor).json()
        changed.append(answer["changed"])
        cursor = answer["next_cursor"]
    assert changed == [1, 0, 0, 1]


def test_a_summary_of_very_many_matches_counts_the_newest(
    with_stream: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "SEARCHED_AT_ONCE", 3)
    monkeypatch.setattr(repository, "COUNT_SECONDS", FAR_LONGER_SECONDS)
    post(with_stream, *[found(n, key=[n % 2]) for n in range(11)])
    whole = with_stream.get(f"{PATH}/summary")
    monkeypatch.setattr(repository, "COUNT_SECONDS", 0)
    newest = with_stream.get(f"{PATH}/summary")
    assert (whole["total"], whole["is_partial"]) == (11, False)
    assert (newest["total"], newest["is_partial"], sum(newest["counts"])) == (3, True, 3)
    assert newest["keys"] == [{"value": "0", "count": 2}, {"value": "1", "count": 1}]
    assert newest["processors"] == [{"value": "failed-logins", "count": 3}]
    assert newest["first"] == whole["last"][:-4] + "008Z"


@pytest.mark.parametrize("limit", ["matches_per_stream", "matches_per_processor"])
def test_a_change_removes_only_some_of_far_too_many(
    service: Service, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """A limit that was lowered by a million would else block all writers for a minute."""
    monkeypatch.setattr(repository, "FORGOTTEN_AT_ONCE", 3)
    service.begin_with_stream(**{limit: 2})
    left = []
    for posted in (range(8), range(8, 9), range(9, 10)):
        post(service, *map(found, posted))
        left.append(listed(service))
    assert left == [[7, 6, 5, 4, 3], [8, 7, 6], [9, 8]]


def test_matches_of_many_rules_take_no_more_statements(with_stream: Service) -> None:
    statements: list[object] = []
    engine = with_stream.app.state.runtime.database.engine

    def posted(numbers: Iterable[int], rules: int) -> int:
        statements.clear()
        post(with_stream, *[found(each, processor_id=f"r{each % rules}") for each in numbers])
        return len(statements)

    def note(_connection: object, _cursor: object, statement: object, *_: object) -> None:
        statements.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        posted(range(40), 1)
        assert posted(range(40, 80), 40) <= posted(range(80, 120), 1)
    finally:
        event.remove(engine, "before_cursor_execute", note)


def test_of_too_many_matches_the_oldest_are_let_go(service: Service) -> None:
    service.begin_with_stream(matches_per_stream=6, matches_per_processor=3)
    post(service, *[found(number) for number in range(5)])
    assert listed(service) == [4, 3, 2]
    post(service, *[found(number, processor_id=f"p{number}") for number in range(5, 9)])
    assert listed(service) == [8, 7, 6, 5, 4, 3]
    post(service, *[found(number, processor_id="many") for number in range(9, 14)])
    assert listed(service) == [13, 12, 11, 8]
    # Timeouts do not push out matches of their rule.
    service.begin_with_stream(matches_per_processor=3)
    post(service, *[found(number) for number in range(3)])
    post(service, *[found(number, kind="timeout") for number in range(3, 9)])
    assert listed(service) == [8, 7, 6, 2, 1, 0]


@pytest.mark.long
def test_a_listener_hears_only_what_is_new_or_what_it_has_missed(with_stream: Service) -> None:
    post(with_stream, found(1), found(2, kind="timeout"))
    assert listen(with_stream) == []
    assert listen(with_stream, "after=0&wait=0s") == [("match", 1, 1), ("timeout", 2, 2)]
    last = {"Last-Event-ID": "1"}
    assert listen(with_stream, "after=0&wait=0s", **last) == [("timeout", 2, 2)]
    with ThreadPoolExecutor() as pool:  # of another store it begins with what is new
        listening = pool.submit(listen, with_stream, "after=900&wait=5s")
        with_stream.wait_for_reader()
        post(with_stream, found(3))
        assert listening.result() == [("match", 3, 3)]


@pytest.mark.long
def test_a_long_backlog_is_heard_whole_and_in_order(with_stream: Service) -> None:
    for start in (0, 130):
        post(with_stream, *map(found, range(start, start + 130)))
    heard = listen(with_stream, "after=0&wait=5s")
    assert [number for _, _, number in heard] == list(range(260))


def test_writers_at_once_give_each_match_a_number_of_its_own(with_stream: Service) -> None:
    with running_service(with_stream.url) as other, ThreadPoolExecutor(4) as pool:
        for service in (with_stream, other):
            # Routes are built at the first look for them, which two apps in one process must not
            # do at once: their warning filters would mix.
            service.client.get("/unknown")
        services = [with_stream, other] * 10
        numbers = range(len(services))
        list(pool.map(lambda service, number: post(service, found(number)), services, numbers))
    items = with_stream.client.get(PATH).json()["items"]
    assert [match["number"] for match in items] == list(range(20, 0, -1))
    assert {match["output"]["failures"] for match in items} == set(numbers)


def test_only_so_many_listen_at_once(service: Service) -> None:
    service.begin_with_stream(match_listeners=1)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(listen, service, f"wait={FAR_LONGER_SECONDS:g}s")
        service.wait_for_reader()
        refused = service.client.get(f"{PATH}/stream")
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "10")
        service.app.state.runtime.bell.close()
        assert first.result(PATIENCE_SECONDS) == []
    assert listen(service, "wait=0s") == []
    assert service.app.state.runtime.match_listeners.open == 0


MALFORMED: list[tuple[dict[str, Any], str]] = [
    ({"match_id": "short"}, "match_id"),
    ({"kind": "guess"}, "kind"),
    ({"end_ms": 2**60}, "end_ms"),
    ({"key": [["nested"]]}, "key/0/str"),
    ({"output": "x" * OUTPUT_BYTES}, "output"),
    ({"events": {"login": [{"user": "x" * EVENTS_BYTES}]}}, "events"),
]


def test_a_match_is_refused_if_malformed_and_shown_with_its_events(with_stream: Service) -> None:
    for fields, pointer in MALFORMED:
        body = {"job": "main", "matches": [found(1), found(2, **fields)]}
        answer = with_stream.post(PATH, Role.ADMIN, body, expect=422)
        assert answer["errors"][0]["pointer"] == f"/matches/1/{pointer}"
    assert listed(with_stream) == []
    post(with_stream, found(1, key=["eve", 7, None], output={"failures": 1, "ratio": 0.5}))
    (summary,) = with_stream.get(PATH)["items"]
    assert "events" not in summary
    whole = with_stream.get(f"{PATH}/{summary['match_id']}")
    assert whole == summary | {"events": {"login": [{"user": "eve"}]}}
    assert (whole["key"], whole["output"]["ratio"]) == (["eve", 7, None], 0.5)
    assert (whole["end"], whole["job"]) == ("2027-01-15T08:00:00.001Z", "main")
    with_stream.get(f"{PATH}/unknown-match-id", expect=404)


@pytest.fixture
def two_processes(database_url: str, tmp_path: Path) -> Iterator[list[Served]]:
    """Two services, each a process of its own, on one store that has the stream `logins`."""
    with ExitStack() as stack:
        ports = two_free_ports()
        services = [stack.enter_context(served(tmp_path, database_url, port)) for port in ports]
        services[1].token = services[0].token
        path, headers = f"{services[0].url}/v1/streams", services[0].authorization
        httpx2.post(path, json=STREAM, headers=headers).raise_for_status()
        yield services


def two_free_ports() -> list[int]:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        return [probe.getsockname()[1] for probe in probes]


@pytest.mark.long
def test_a_match_posted_to_one_process_is_heard_at_once_at_another(
    two_processes: list[Served],
) -> None:
    heard_by, posted_to = two_processes
    headers = heard_by.authorization
    listening = httpx2.Client(base_url=heard_by.url, headers=headers, timeout=PATIENCE_SECONDS)
    with listening, listening.stream("GET", f"{PATH}/stream") as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        assert next(lines) == ": listening"
        heard_by.wait_for_reader()
        body = {"job": "main", "matches": [found(1)]}
        httpx2.post(f"{posted_to.url}{PATH}", json=body, headers=posted_to.authorization)
        data = next(line for line in lines if line.startswith("data: "))
        assert json.loads(data.removeprefix("data: "))["number"] == 1
        heard_by.stop()  # a listener does not hold up a stop
        assert [line for line in lines if line.startswith("data")] == []
