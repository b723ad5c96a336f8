"""`percept proposals` and `percept apply --propose` against a service that listens."""

import json
from pathlib import Path

import pytest

from api.client import Client, Conflict, NotAllowed
from contract.service.tokens import Role
from tests.api.commands import Run, write
from tests.api.documents import PATTERN, processor_document
from tests.api.listening import ListeningService
from tests.api.people import Person, token_of

ID = "failed-logins"
WIDER = processor_document(pattern=PATTERN | {"within": "1 hour"})


@pytest.fixture
def ana(listening: ListeningService) -> Person:
    return token_of(listening.service, "ana", person="ana")


@pytest.fixture
def bob(listening: ListeningService) -> Person:
    return token_of(listening.service, "bob", person="bob")


@pytest.fixture
def gated(client: Client) -> Client:
    """A stream with a rule that asks for one approval, and the client of an admin."""
    client.create(processor_document())
    assert client.require_approvals("logins", 1).required_approvals == 1
    return client


@pytest.fixture
def run(run: Run) -> Run:
    """Run a command as somebody; returns its result."""
    return lambda who, *words: run(*words, token=who.token)


def test_a_change_in_a_repository_is_proposed_approved_and_published(
    gated: Client, run: Run, ana: Person, bob: Person, tmp_path: Path
) -> None:
    file = write(tmp_path / "rule.yaml", WIDER)
    refused = run(ana, "apply", file)
    assert refused.exit_code == 1
    assert "changes on stream logins must be approved by 1 person" in refused.output
    assert gated.get(ID).version == 1

    proposed = run(ana, "apply", file, "--propose", "--comment", "commit 1a2b")
    assert proposed.exit_code == 0, proposed.output
    last = proposed.output.splitlines()[-1]
    assert last == f"proposed: {ID}: proposal 1, 0 of 1 approvals"
    assert gated.get(ID).version == 1
    listed = run(bob, "proposals", "list").output.splitlines()
    assert listed[1].split()[:7] == ["1", ID, "publish", "open", "0", "of", "1"]
    assert listed[1].endswith("commit 1a2b")
    shown = run(bob, "proposals", "show", 1).output
    assert shown.splitlines()[0] == f"proposal 1 by ana: publish of {ID} (open)"
    assert "    -  within: 10 minutes\n    +  within: 1 hour\n" in shown

    assert "your own proposal" in run(ana, "proposals", "approve", 1).output
    assert run(ana, "proposals", "publish", 1).exit_code == 1
    approved = run(bob, "proposals", "approve", 1)
    assert approved.output == "proposal 1: 1 of 1 approvals (bob)\n"
    published = run(ana, "proposals", "publish", 1)
    assert published.output == f"{ID}: version 2 is published by proposal 1\n"
    assert gated.get(ID).version == 2
    assert next(gated.versions(ID)).comment == "commit 1a2b"
    assert run(ana, "apply", file).output == "Plan: 1 unchanged\n"
    assert run(ana, "proposals", "list").output == "no proposals\n"


def test_to_propose_again_brings_the_same_proposal_up_to_date(
    gated: Client, run: Run, ana: Person, bob: Person, tmp_path: Path
) -> None:
    file = write(tmp_path / "rule.yaml", WIDER)
    run(ana, "apply", file, "--propose")
    run(bob, "proposals", "approve", 1)
    again = run(ana, "apply", file, "--propose").output.splitlines()[-1]
    assert again == f"proposed already: {ID}: proposal 1, 1 of 1 approvals (bob)"
    write(file, processor_document(pattern=PATTERN | {"within": "2 hours"}))
    edited = run(ana, "apply", file, "--propose").output.splitlines()[-1]
    assert edited == f"edited: {ID}: proposal 1, 0 of 1 approvals"
    others = run(bob, "apply", file, "--propose").output.splitlines()[-1]
    assert others == f"proposed: {ID}: proposal 2, 0 of 1 approvals"
    assert [each.id for each in gated.proposals(state="open")] == [2, 1]
    gated.require_approvals("logins", 0)
    again = run(bob, "apply", file, "--propose").output.splitlines()[-1]
    assert again == f"proposed already: {ID}: proposal 2, needs no approval"
    assert "none needed" in run(bob, "proposals", "list").output


def test_lists_in_a_repository_are_proposed(
    gated: Client, run: Run, ana: Person, bob: Person, tmp_path: Path
) -> None:
    lists = gated.lists("logins")
    lists.create("gone")
    of_stream = {"stream": "logins"}
    vip = {"list": "vip", "values": ["eve", "a\n+ b"], **of_stream}
    file = write(tmp_path / "lists.yaml", vip, {"list": "empty", **of_stream})
    proposed = run(ana, "apply", file, "--propose", "--prune")
    told = proposed.output.splitlines()[-4:]
    assert told[0] == "proposed: logins/vip: proposal 1, 0 of 1 approvals"
    assert told[1] == "left out: logins/empty: it needs no approval; apply it without --propose"
    assert told[3] == "proposed: logins/gone: proposal 3, 0 of 1 approvals"
    shown = run(bob, "proposals", "show", 1).output.splitlines()
    assert shown[0] == "proposal 1 by ana: list_create of vip (open)"
    assert shown[2:] == [
        "  2 added, 0 removed, compared with nothing:",
        r"    + 'a\n+ b'",
        "    + 'eve'",
    ]
    run(bob, "proposals", "approve", 1)
    published = run(ana, "proposals", "publish", 1)
    assert published.output == "vip: version 2 is published by proposal 1\n"
    write(file, vip | {"values": ["eve"]})
    again = [run(ana, "apply", file, "--propose").output.splitlines()[-1] for _ in "ab"]
    assert again == [
        "proposed: logins/vip: proposal 4, 0 of 1 approvals",
        "proposed already: logins/vip: proposal 4, 0 of 1 approvals",
    ]
    (line,) = gated.proposals(list="vip", state="open")
    assert (line.kind, line.name, line.processor_id) == ("list_put", "vip", "")
    values = gated.proposal(4).values
    assert values is not None
    assert (values.added_values, values.removed_values) == ([], ["a\n+ b"])


@pytest.mark.long
def test_more_values_than_a_proposal_has_are_proposed_one_part_after_the_other(  # noqa: PLR0913, PLR0917
    gated: Client,
    run: Run,
    ana: Person,
    bob: Person,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("api.gitops.list_parts.MOST_SHOWN", 2)
    monkeypatch.setattr("api.proposals.list_changes.MOST_SHOWN", 2)
    vip = {"list": "vip", "stream": "logins"}
    lists = gated.lists("logins")

    def propose_until_done(*values: str) -> list[str]:
        file = write(tmp_path / "lists.yaml", vip | {"values": list(values)})
        told = []
        while "proposal" in (line := run(ana, "apply", file, "--propose").output):
            told.append(line.splitlines()[-1])
            number = gated.proposals(state="open")
            newest = next(iter(number)).id
            assert run(ana, "apply", file, "--propose").output.splitlines()[-1] == told[-1].replace(
                "proposed", "proposed already", 1
            )
            run(bob, "proposals", "approve", newest)
            assert run(ana, "proposals", "publish", newest).exit_code == 0
        return told

    told = propose_until_done(*"edcba")
    assert [line.partition(";")[2] for line in told] == [
        " 2 more to propose once it is published",
        " 1 more to propose once it is published",
        "",
    ]
    assert "".join(lists.values("vip")) == "abcde"
    assert len(propose_until_done("x", "y", "z", "a")) == 2
    assert "".join(lists.values("vip")) == "axyz"
    assert len(propose_until_done()) == 2
    assert list(lists.values("vip")) == []


def test_each_step_that_needs_approvals_is_proposed_and_no_other_is_made(
    gated: Client, run: Run, ana: Person, tmp_path: Path
) -> None:
    gated.create(processor_document(id="paused-rule"), paused=True)
    later = {"effective_from": "2031-01-01T00:00:00Z"}
    file = write(
        tmp_path / "rules.yaml",
        processor_document(id="new-rule"),
        processor_document(id="new-rule", severity="high", **later),
        processor_document(id="new-and-paused") | {"paused": True},
        processor_document(id="paused-rule", severity="low") | {"paused": False},
    )
    result = run(ana, "apply", file, "--propose", "--prune")
    assert result.exit_code == 0, result.output
    told = result.output.splitlines()[-4:]
    assert told == [
        "proposed: new-rule: proposal 1, 0 of 1 approvals; 1 more to propose once it is published",
        "left out: new-and-paused: it needs no approval; apply it without --propose",
        "proposed: paused-rule: proposal 2, 0 of 1 approvals",
        f"proposed: {ID}: proposal 3, 0 of 1 approvals",
    ]
    kinds = {each.processor_id: each.kind for each in gated.proposals()}
    assert kinds == {"new-rule": "publish", "paused-rule": "resume", ID: "delete"}
    assert [each.id for each in gated.processors()] == [ID, "paused-rule"]


def test_what_needs_no_approval_is_applied_as_ever(
    gated: Client, run: Run, ana: Person, tmp_path: Path
) -> None:
    file = write(
        tmp_path / "rules.yaml",
        processor_document(owner="fraud", pattern=PATTERN | {"within": "1 hour"})
        | {"paused": True},
    )
    result = run(ana, "apply", file)
    assert result.exit_code == 0, result.output
    assert (gated.get(ID).version, gated.get(ID).is_paused) == (2, True)


def test_discussed_renewed_withdrawn_and_rejected(
    gated: Client, listening: ListeningService, run: Run, ana: Person, bob: Person
) -> None:
    with Client(listening.url, ana.token) as client:
        proposal = client.propose(WIDER, comment="slow <b>attacks</b>")
        assert [each.pointer for each in proposal.differences] == ["/pattern/within"]
        with pytest.raises(NotAllowed):
            client.approve(proposal.id)
        with pytest.raises(Conflict):
            client.publish_proposal(proposal.id)
        second = client.propose(kind="rollback", processor_id=ID, version=1)
    assert run(bob, "proposals", "comment", 1, "why \x1b[31mred?").output.startswith("proposal 1")
    shown = run(bob, "proposals", "show", 1).output
    assert "why" in shown
    assert "\x1b" not in shown
    as_json = json.loads(run(bob, "proposals", "show", 1, "--json").output)
    assert as_json["comment"] == "slow <b>attacks</b>"
    gated.pause(ID)
    assert "(stale)" in run(bob, "proposals", "show", 1).output
    assert run(bob, "proposals", "approve", 1).exit_code == 1
    assert run(ana, "proposals", "renew", 1).output == "proposal 1: 0 of 1 approvals\n"
    assert run(ana, "proposals", "withdraw", second.id).exit_code == 0
    rejected = run(bob, "proposals", "reject", 1, "--reason", "too slow")
    assert rejected.output == "proposal 1: rejected\n"
    assert "rejected by bob: too slow" in run(ana, "proposals", "show", 1).output
    lines = run(ana, "proposals", "list", "--state", "", "--mine", "--json").output.splitlines()
    assert [json.loads(line)["state"] for line in lines] == ["withdrawn", "rejected"]
    assert run(ana, "proposals", "show", 99).exit_code == 1


def test_what_takes_no_document_is_proposed_by_its_kind(
    gated: Client, run: Run, ana: Person, bob: Person
) -> None:
    gated.pause(ID)
    made = run(ana, "proposals", "new", "resume", ID, "--comment", "quiet again")
    assert made.output == "proposal 1: 0 of 1 approvals\n"
    run(bob, "proposals", "approve", 1)
    published = run(bob, "proposals", "publish", 1)
    assert published.output == f"{ID}: done: resume by proposal 1\n"
    assert not gated.get(ID).is_paused
    wrong = run(ana, "proposals", "new", "rollback", ID)
    assert wrong.exit_code == 2
    assert "/version" in wrong.output
    back = run(ana, "proposals", "new", "rollback", ID, "--version", 1)
    assert back.exit_code == 0, back.output
    assert run(ana, "proposals", "new", "promote", ID).exit_code == 1


def test_a_token_can_be_created_for_a_person(
    listening: ListeningService, run: Run, ana: Person
) -> None:
    words = ("token", "create", "phone", "--role", "publisher", "--person", "Ana")
    given = run(ana, *words, "--database-url", listening.service.url)
    assert given.exit_code == 0, given.output
    tokens = listening.service.client.get("/v1/tokens").json()
    assert [each["person"] for each in tokens if each["name"] == "phone"] == ["Ana"]
    assert Role.PUBLISHER in {each["role"] for each in tokens}
