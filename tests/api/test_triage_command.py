"""`percept triage`: matches named, piped or found by a filter; told before, changed all or none."""

import json
from typing import Any

import pytest
from typer.testing import Result

from api.client import Client
from contract.service.tokens import Role
from tests.api.commands import Run
from tests.api.documents import PATTERN
from tests.api.listening import ListeningService
from tests.api.triage import found, match_id, post

COMMAND, ROLE = ("triage",), Role.AUTHOR


@pytest.fixture
def client(client: Client, listening: ListeningService) -> Client:
    client.publish("logins", "failed-logins", pattern=PATTERN)
    keys = ("bob", "eve")
    post(listening.service, *(found(number, key=[keys[number % 2]]) for number in range(6)))
    return client


def states(client: Client) -> dict[str, tuple[str, str]]:
    """Return status and assignee of all matches that are not open."""
    listed = client.matches("logins")
    told = {each.match_id: (each.triage.status, each.triage.assignee) for each in listed}
    return {name: state for name, state in told.items() if state != ("open", "")}


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.long
def test_named_matches_are_changed_and_what_is_so_already_is_told(run: Run, client: Client) -> None:
    words = [match_id(1), match_id(2), "--status", "false-positive", "--assignee", "ana"]
    assert "2 would be changed" in run(*words, "--dry-run").output
    assert states(client) == {}
    told = run(*words, "--note", "A test account.", "--comment", "why").output
    change = "open → false_positive; nobody → ana; a note"
    assert f"{match_id(1)}  failed-logins  eve  {change}" in told
    assert states(client) == dict.fromkeys([match_id(1), match_id(2)], ("false_positive", "ana"))
    assert [each.text for each in client.notes("logins", match_id(2))] == ["A test account."]
    assert "0 changed, 2 are so already" in run(*words).output
    assert "1 changed" in run(match_id(1), "--assignee", "").output
    assert states(client)[match_id(1)] == ("false_positive", "")


def test_an_unknown_match_or_what_cannot_be_meant_changes_none(run: Run, client: Client) -> None:
    told = run(match_id(1), match_id(99), "--status", "resolved", code=1).output
    assert f"has no match {match_id(99)}; nothing was changed" in told
    assert states(client) == {}
    for words, told in (
        ((match_id(1),), "nothing to change"),
        (("--status", "resolved"), "name matches, or say which"),
        ((match_id(1), "--key", "eve", "--status", "resolved"), "name matches, or say which"),
        ((match_id(1), "--status", "false"), "'false' is not one of"),
        (("--since", "soon", "--status", "resolved"), "'soon' is no time"),
    ):
        assert told in " ".join(run(*words, code=2).output.split())
        assert states(client) == {}


def test_one_that_somebody_changes_meanwhile_leaves_all_as_they_are(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = Client.triage_matches

    def overtaken(self: Client, *arguments: Any, **more: Any) -> Any:
        client.triage_match("logins", match_id(2), status="acknowledged", assignee="bob")
        return change(self, *arguments, **more)

    monkeypatch.setattr(Client, "triage_matches", overtaken)
    told = run(match_id(1), match_id(2), "--status", "resolved", code=1).output
    assert "nothing was changed" in told
    assert states(client) == {match_id(2): ("acknowledged", "bob")}


def test_all_that_fit_are_changed_and_told_to_programs(run: Run, client: Client) -> None:
    words = ["--rule", "failed-logins", "--key", "eve", "--now", "open", "--status", "resolved"]
    told = lines(run(*words, "--dry-run", "--json", code=0))
    assert [each["match_id"] for each in told] == [match_id(5), match_id(3), match_id(1)]
    assert told[0]["before"] == {"status": "open", "assignee": ""}
    assert told[0]["after"] == {"status": "resolved", "assignee": ""}
    assert (told[0]["is_changed"], told[0]["is_made"]) == (True, False)
    assert states(client) == {}
    assert "3 changed" in run(*words).output
    assert set(states(client)) == {match_id(1), match_id(3), match_id(5)}
    assert run(*words).output == "0 changed\n"
    assert lines(run(*words, "--json", code=0)) == []
    few = ["--key-prefix", "b", "--unassigned", "--assignee", "bob"]
    assert len(lines(run(*few, "--json", code=0))) == 3
    assert "3 changed" in run("--assigned-to", "bob", "--status", "acknowledged").output


def test_matches_come_from_a_pipe(run: Run, client: Client) -> None:
    piped = f"{match_id(1)}\n\n" + json.dumps({"match_id": match_id(2), "number": 3}) + "\n"
    assert "2 changed" in run("-", "--status", "acknowledged", given=piped).output
    assert set(states(client)) == {match_id(1), match_id(2)}
    for wrong, told in (
        ("", "names no match"),
        ('{"id": 1}\n', "line 1: no JSON object with match_id"),
        ("".join(f"{match_id(number)}\n" for number in range(501)), "501 matches; 500 are"),
    ):
        assert told in run("-", "--status", "resolved", given=wrong, code=2).output


def test_matches_that_come_later_are_left_as_they_are(
    listening: ListeningService, client: Client
) -> None:
    newest = next(client.matches("logins")).number
    post(listening.service, found(7))
    done = client.triage_found("logins", {"kind": "match"}, status="resolved", up_to=newest)
    assert done.changed == 6
    assert match_id(7) not in states(client)
