"""The Python client's part about matches: read, triaged one and many, counted, labels."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from api.client import Client, Conflict, Invalid, MatchLine, NotFound, Outdated
from api.client.matches import MatchFilter
from contract.service.tokens import Role
from tests.api.listening import ListeningService
from tests.api.running import START_MS
from tests.api.triage import found, match_id, post


@pytest.fixture
def client(listening: ListeningService) -> Iterator[Client]:
    matches = [found(number, processor_id=["other", "mine"][number % 2]) for number in range(6)]
    post(listening.service, *matches, found(6, kind="timeout"))
    with listening.client(Role.AUTHOR) as connected:
        yield connected


def numbers(matches: Iterator[MatchLine]) -> list[int]:
    return [match.output["failures"] for match in matches]


def test_matches_are_read_by_filter(client: Client) -> None:
    assert numbers(client.matches("logins")) == [6, 5, 4, 3, 2, 1, 0]
    assert numbers(client.matches("logins", kind="match", processor="mine")) == [5, 3, 1]
    until = datetime.fromtimestamp(START_MS / 1_000, UTC).replace(microsecond=2_000)
    assert numbers(client.matches("logins", until=until, unassigned=True)) == [1, 0]
    whole = client.match("logins", match_id(3))
    assert whole.events == {"login": [{"user": "eve"}]}
    assert (whole.end, whole.triage.status) == (START_MS + 3, "open")
    with pytest.raises(NotFound):
        client.match("logins", "0123456789abcdef")


def test_a_match_is_triaged_by_whoever_saw_it_last_and_has_notes(client: Client) -> None:
    seen = client.triage("logins", match_id(1))
    changed = client.triage_match(
        "logins", match_id(1), status="acknowledged", assignee="ana", if_match=seen.etag
    )
    shown = (changed.status, changed.assignee, changed.decided_by)
    assert shown == ("acknowledged", "ana", "author")
    with pytest.raises(Outdated):
        client.triage_match("logins", match_id(1), status="resolved", if_match=seen.etag)
    assert client.triage_match("logins", match_id(1), assignee="").status == "acknowledged"
    assert client.triage("logins", match_id(1)).assignee == ""
    for number in range(3):
        assert client.add_note("logins", match_id(1), f"note {number}").number == number + 1
    client.triage_match("logins", match_id(1), note="the last one")
    texts = [note.text for note in client.notes("logins", match_id(1))]
    assert texts == ["the last one", "note 2", "note 1", "note 0"]


def test_matches_that_were_read_are_triaged_unless_they_have_changed(client: Client) -> None:
    read = list(client.matches("logins", processor="mine"))
    result = client.triage_matches("logins", read, status="resolved", note="All fine.")
    assert (result.changed, result.unchanged) == (3, 0)
    with pytest.raises(Conflict, match="3 of them have been changed"):
        client.triage_matches("logins", read, status="open")
    by_id = [match.match_id for match in read]
    assert client.triage_matches("logins", by_id, status="open").changed == 3
    with pytest.raises(Invalid, match="has no match"):
        client.triage_matches("logins", [*by_id, "0123456789abcdef"], status="resolved")
    again = client.triage("logins", by_id[0])
    assert client.triage_matches("logins", [again], status="resolved").changed == 1


def test_all_that_meet_a_filter_are_triaged(client: Client, listening: ListeningService) -> None:
    post(listening.service, *[found(number) for number in range(100, 500)])
    post(listening.service, *[found(number) for number in range(500, 900)])
    result = client.triage_found("logins", {"processor": "failed-logins"}, status="false_positive")
    assert (result.changed, result.unchanged) == (801, 0)
    wanted: MatchFilter = {"kind": "match", "status": "open"}
    assert client.triage_found("logins", wanted, assignee="ana").changed == 6
    with pytest.raises(Invalid, match="nor is a filter given"):
        client.triage_found("logins", {}, status="open")


def test_rules_are_counted_and_labels_are_read(client: Client) -> None:
    client.triage_matches("logins", [match_id(1), match_id(3)], status="false_positive")
    client.triage_match("logins", match_id(5), status="resolved")
    counted = {each.processor_id: each for each in client.triage_counts("logins")}
    assert list(counted) == ["failed-logins", "mine", "other"]
    assert (counted["mine"].open, counted["mine"].false_positive) == (0, 2)
    assert counted["mine"].false_positive_rate == pytest.approx(2 / 3, abs=1e-6)
    assert counted["other"].false_positive_rate is None
    (only,) = client.triage_counts("logins", "mine", version=1, kind="match")
    assert only == counted["mine"]
    labels = list(client.labels("logins", "mine", since=START_MS + 2))
    assert [(label.match_id, label.key, label.label) for label in labels] == [
        (match_id(3), ["eve"], "false_positive"),
        (match_id(5), ["eve"], "resolved"),
    ]
    assert labels[0].end == START_MS + 3
    assert list(client.labels("logins", "other")) == []
