"""Matches are triaged, one and many; two people at once; what is kept when matches are removed."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from contract.service.tokens import Role
from contract.service.triage import MOST_AT_ONCE, MOST_NOTES, NOTE_CHARACTERS
from tests.api.documents import ANY_STATE, STREAM
from tests.api.running import Service
from tests.api.triage import (
    MATCHES,
    bulk,
    counts,
    found,
    listed,
    match_id,
    post,
    selected,
    triage,
)

ONE = f"{MATCHES}/{match_id(1)}"
HOSTILE = '<img src=x onerror=alert(1)>\u202e\n=HYPERLINK("http://x")\'; DROP TABLE matches;--'
DAY_MS = 86_400_000


@pytest.fixture
def with_matches(with_stream: Service) -> Service:
    """A service with four open matches, the last of another rule."""
    post(with_stream, found(1), found(2), found(3), found(4, processor_id="other"))
    return with_stream


def log(service: Service) -> list[tuple[str, str, str]]:
    items = service.get("/v1/changes", action="match.triage")["items"]
    return [(item["actor"], item["processor_id"], item["subject"]) for item in items]


def test_a_match_that_nobody_has_touched_is_open(with_matches: Service) -> None:
    whole = with_matches.get(ONE)
    untouched = {"status": "open", "assignee": "", "revision": 0, "note_count": 0}
    untouched |= {"decided_at": None, "decided_by": ""}
    assert whole["triage"] == untouched
    answer = with_matches.client.get(f"{ONE}/triage")
    assert answer.headers["ETag"] == '"0"'
    of_match = (
        "match_id",
        "stream",
        "job",
        "kind",
        "processor_id",
        "version",
        "key",
        "start",
        "end",
    )
    assert answer.json() == untouched | {name: whole[name] for name in of_match}


def test_a_change_is_shown_everywhere_and_logged(with_matches: Service) -> None:
    with_matches.clock.time_ms += 5_000
    changed = triage(with_matches, 1, status="acknowledged", assignee="ana", note="Looks odd.")
    shown = (changed["status"], changed["assignee"], changed["note_count"])
    assert shown == ("acknowledged", "ana", 1)
    assert (changed["decided_by"], changed["decided_at"]) == ("author", "2027-01-15T08:00:05.000Z")
    (line,) = with_matches.get(MATCHES, status="acknowledged")["items"]
    assert line["triage"].items() <= changed.items()
    assert with_matches.get(ONE)["triage"] == line["triage"]
    assert log(with_matches) == [
        ("author", "failed-logins", f"{match_id(1)} acknowledged, assigned to ana")
    ]
    with_matches.clock.time_ms += DAY_MS  # a note is no decision
    assert triage(with_matches, 1, note="later")["decided_at"] == changed["decided_at"]
    reopened = triage(with_matches, 1, status="open", assignee="")
    assert (reopened["status"], reopened["assignee"]) == ("open", "")
    assert reopened["revision"] > changed["revision"]


def test_a_change_needs_the_state_it_was_made_from_but_for_notes(with_matches: Service) -> None:
    path, change = f"{ONE}/triage", {"status": "resolved"}
    assert with_matches.client.patch(path, json=change).status_code == 428
    seen = {"If-Match": with_matches.client.get(path).headers["ETag"]}
    triage(with_matches, 1, status="false_positive")
    outdated = with_matches.client.patch(path, json=change, headers=seen)
    assert outdated.status_code == 412
    newest = with_matches.client.get(path)
    assert outdated.headers["ETag"] == newest.headers["ETag"]
    assert newest.json()["status"] == "false_positive"
    with_matches.done("POST", f"{ONE}/notes", {"text": "I know this account."})
    seen = {"If-Match": newest.headers["ETag"]}
    answer = with_matches.client.patch(path, json=change, headers=seen)
    assert (answer.status_code, answer.json()["note_count"]) == (200, 1)


def test_of_people_who_saw_the_same_state_exactly_one_wins(with_matches: Service) -> None:
    for number in (1, 2, 3):
        path = f"{MATCHES}/{match_id(number)}/triage"
        seen = {"If-Match": with_matches.client.get(path).headers["ETag"]}
        changes = [(path, {"assignee": name}, seen) for name in ("ana", "ben", "cem", "dov")]
        with ThreadPoolExecutor(4) as pool:
            made = pool.map(
                lambda each: with_matches.client.patch(each[0], json=each[1], headers=each[2]),
                changes,
            )
            assert sorted(answer.status_code for answer in made) == [200, 412, 412, 412]


REFUSED: list[tuple[dict[str, Any], int]] = [
    ({}, 422),
    ({"status": None}, 422),
    ({"status": "closed"}, 422),
    ({"state": "resolved"}, 422),
    ({"assignee": "x" * 101}, 422),
    ({"assignee": " ana"}, 422),
    ({"assignee": "an\na"}, 422),
    ({"assignee": "an\x00a"}, 400),
    ({"note": "  \n "}, 422),
    ({"note": "x" * (NOTE_CHARACTERS + 1)}, 422),
    ({"note": "\x00"}, 400),
    ({"note": "\ud800"}, 400),
]


def test_a_malformed_change_or_the_same_again_changes_nothing(with_matches: Service) -> None:
    for change, status in REFUSED:
        headers = ANY_STATE | {"Content-Type": "application/json"}
        body = json.dumps(change)
        answer = with_matches.client.patch(f"{ONE}/triage", content=body, headers=headers)
        assert answer.status_code == status, answer.text
        assert with_matches.get(ONE)["triage"]["revision"] == 0
    first = triage(with_matches, 1, status="resolved")
    with_matches.clock.time_ms += 1_000
    assert triage(with_matches, 1, status="resolved", assignee="") == first
    assert triage(with_matches, 2, status="open")["revision"] == 0
    assert post(with_matches, found(1, output={"failures": 1}))["added"] == 0
    assert with_matches.get(f"{ONE}/triage") == first
    assert len(log(with_matches)) == 1


def test_matches_of_another_stream_are_not_there(with_matches: Service) -> None:
    with_matches.done("POST", "/v1/streams", STREAM | {"name": "spare"})
    triage(with_matches, 1, status="resolved")
    change = {"status": "open"}
    for stream in ("spare", "unknown"):
        path = f"/v1/streams/{stream}/matches/{match_id(1)}"
        for method, place, body in (
            ("GET", "triage", None),
            ("GET", "notes", None),
            ("PATCH", "triage", change),
            ("POST", "notes", {"text": "no"}),
        ):
            assert with_matches.send(method, f"{path}/{place}", body).status_code == 404
    refused = with_matches.send(
        "POST", "/v1/streams/spare/triage", change | {"matches": selected(1)}
    )
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/matches/0/match_id"
    other = "/v1/streams/spare/matches"
    post(with_matches, found(1), path=other)
    assert with_matches.get(f"{other}/{match_id(1)}")["triage"]["status"] == "open"


def test_notes_are_read_newest_first_and_stay_as_they_were_written(with_matches: Service) -> None:
    texts = [HOSTILE, "x" * NOTE_CHARACTERS, "ü" * NOTE_CHARACTERS, "  kept between  ends "]
    for text in texts:
        with_matches.post(f"{ONE}/notes", Role.ADMIN, {"text": text}, expect=201)
    pages = with_matches.pages(f"{ONE}/notes", limit=3)
    notes = [note for page in pages for note in page["items"]]
    assert [note["text"] for note in notes] == [text.strip() for text in texts[::-1]]
    assert [note["number"] for note in notes] == [4, 3, 2, 1]
    assert {note["author"] for note in notes} == {"admin"}
    assert with_matches.get(ONE)["triage"]["note_count"] == 4


@pytest.mark.long
def test_notes_are_bounded(with_matches: Service) -> None:
    for number in range(MOST_NOTES):
        with_matches.done("POST", f"{ONE}/notes", {"text": f"note {number}"})
    full = with_matches.post(f"{ONE}/notes", Role.ADMIN, {"text": "one more"}, expect=409)
    assert f"{MOST_NOTES} notes" in full["detail"]
    many = bulk(with_matches, {"matches": selected(1, 2), "note": "one more"})
    assert many.status_code == 409
    assert with_matches.get(f"{MATCHES}/{match_id(2)}/notes")["items"] == []
    assert triage(with_matches, 1, status="resolved")["note_count"] == MOST_NOTES


def test_people_who_write_notes_at_once_lose_none(with_matches: Service) -> None:
    texts = [f"{number}" for number in range(12)]
    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(lambda text: with_matches.done("POST", f"{ONE}/notes", {"text": text}), texts)
        )
    notes = with_matches.get(f"{ONE}/notes")["items"]
    assert {note["text"] for note in notes} == set(texts)
    assert [note["number"] for note in notes] == list(range(12, 0, -1))


def test_listed_matches_change_together(with_matches: Service) -> None:
    triage(with_matches, 2, status="resolved")
    change = {"status": "resolved", "assignee": "", "note": "The load test of Monday."}
    answer = bulk(with_matches, {"matches": selected(1, 2, 4, 4), **change})
    assert answer.json() == {"changed": 3, "unchanged": 0, "next_cursor": None}
    assert listed(with_matches, status="resolved") == [4, 2, 1]
    assert with_matches.get(f"{ONE}/notes")["items"][0]["text"] == change["note"]
    again = bulk(with_matches, {"matches": selected(1, 3), "status": "resolved"})
    assert again.json() == {"changed": 1, "unchanged": 1, "next_cursor": None}
    assert log(with_matches)[1:3] == [
        ("author", "other", f"{match_id(4)} resolved, assigned to nobody"),
        ("author", "failed-logins", "2 matches resolved, assigned to nobody"),
    ]


def test_it_must_be_said_which_matches_and_if_one_is_not_there_none_is_changed(
    with_matches: Service,
) -> None:
    change = {"status": "resolved"}
    both = change | {"matches": selected(1)}
    for body, query in (
        (change, {}),
        (change | {"up_to": 2}, {}),
        (both, {"kind": "match"}),
        (both | {"up_to": 2}, {}),
        (change, {"procesor": "other"}),
    ):
        assert bulk(with_matches, body, **query).status_code == 422
    answer = bulk(with_matches, change | {"matches": selected(1, 9, 2, 8)})
    assert answer.status_code == 422
    pointers = [flaw["pointer"] for flaw in answer.json()["errors"]]
    assert pointers == ["/matches/1/match_id", "/matches/3/match_id"]
    assert listed(with_matches, status="open") == [4, 3, 2, 1]


def test_what_was_changed_since_it_was_seen_is_not_overwritten(with_matches: Service) -> None:
    triage(with_matches, 2, status="false_positive", assignee="ana")
    answer = bulk(with_matches, {"matches": selected(1, 2, revision=0), "status": "resolved"})
    assert answer.status_code == 409
    (flaw,) = answer.json()["errors"]
    assert flaw["pointer"] == "/matches/1/revision"
    assert "It is false positive, assigned to ana now" in flaw["detail"]
    assert listed(with_matches, status="resolved") == []
    seen = with_matches.get(MATCHES, status="false_positive")["items"][0]["triage"]["revision"]
    matches = selected(1, revision=0) + selected(2, revision=seen)
    assert bulk(with_matches, {"matches": matches, "status": "resolved"}).json()["changed"] == 2


def test_more_than_the_bound_are_refused_and_a_filter_goes_page_by_page(
    with_stream: Service,
) -> None:
    for start in (0, 400):
        post(with_stream, *map(found, range(start, start + 400)))
    resolved = {"status": "resolved"}
    for matches in (selected(*range(MOST_AT_ONCE + 1)), []):
        assert bulk(with_stream, resolved | {"matches": matches}).status_code == 422
    assert bulk(with_stream, resolved, kind="match", limit=501).status_code == 422
    change, query = {"status": "false_positive"}, {"processor": "failed-logins"}
    first = bulk(with_stream, change, **query).json()
    assert (first["changed"], first["unchanged"]) == (500, 0)
    assert len(listed(with_stream, status="open", limit=500)) == 300
    second = bulk(with_stream, change, **query, cursor=first["next_cursor"]).json()
    assert second == {"changed": 300, "unchanged": 0, "next_cursor": None}
    assert counts(with_stream)["failed-logins"]["false_positive"] == 800
    subjects = [subject for _, _, subject in log(with_stream)]
    assert subjects == ["300 matches false positive", "500 matches false positive"]


def test_matches_that_came_after_the_look_stay_as_they_are(with_matches: Service) -> None:
    newest = with_matches.get(MATCHES)["items"][0]["number"]
    post(with_matches, found(5))
    change = {"status": "resolved", "up_to": newest}
    answer = bulk(with_matches, change, status="open", limit=2).json()
    assert answer["changed"] == 2
    answer = bulk(with_matches, change, status="open", cursor=answer["next_cursor"]).json()
    assert (answer["changed"], answer["next_cursor"]) == (2, None)
    assert listed(with_matches, status="open") == [5]


def test_what_people_decided_outlives_the_match(service: Service) -> None:
    service.begin_with_stream(matches_per_processor=3)
    post(service, *map(found, range(1, 4)))
    changed = triage(service, 1, status="false_positive", note="The new server.")
    post(service, *map(found, range(4, 7)))
    assert listed(service) == [6, 5, 4]
    assert service.get(f"{ONE}/triage") == changed
    assert service.get(f"{ONE}/notes")["items"][0]["text"] == "The new server."
    service.get(f"{MATCHES}/{match_id(2)}/triage", expect=404)
    counted = {"open": 3, "acknowledged": 0, "false_positive": 1, "resolved": 0}
    assert counts(service)["failed-logins"] == counted | {"false_positive_rate": 1.0}
    assert triage(service, 1, status="resolved")["revision"] > changed["revision"]
    assert bulk(service, {"matches": selected(1, 5), "assignee": "ana"}).json()["changed"] == 2
    assert counts(service)["failed-logins"]["false_positive_rate"] == 0
    post(service, found(1))
    assert listed(service, status="resolved", assignee="ana") == [1]


def test_triage_of_matches_that_are_gone_is_removed_in_the_end(service: Service) -> None:
    kept: dict[str, Any] = {"matches_per_processor": 3, "triage_days": 2, "triage_per_processor": 4}
    service.begin_with_stream(**kept)
    for start in (0, 3):
        post(service, *map(found, range(start, start + 3)))
        for number in range(start, start + 3):
            triage(service, number, status="resolved", note="seen")
    # Of six the four newest are kept; the three whose matches are still there in any case.
    assert counts(service)["failed-logins"]["resolved"] == 4
    assert service.client.get(f"{MATCHES}/{match_id(1)}/notes").status_code == 404

    service.clock.time_ms += 2 * DAY_MS
    post(service, found(6, processor_id="other"))
    assert counts(service)["failed-logins"]["resolved"] == 4
    service.clock.time_ms += 1
    post(service, found(6, processor_id="other"))
    assert counts(service)["failed-logins"]["resolved"] == 3
    assert listed(service, status="resolved") == [5, 4, 3]
    assert service.client.get(f"{MATCHES}/{match_id(2)}/triage").status_code == 404


def test_jobs_that_post_and_people_who_triage_do_not_get_into_each_others_way(
    service: Service,
) -> None:
    service.begin_with_stream(matches_per_processor=5)
    post(service, *map(found, range(5)))

    def act(number: int) -> None:
        if number % 2:
            post(service, found(10 + number))
        else:
            change = {"status": "resolved", "note": f"{number}"}
            assert bulk(service, change, processor="failed-logins").status_code == 200

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(act, range(24)))
    assert len(listed(service)) == 5
