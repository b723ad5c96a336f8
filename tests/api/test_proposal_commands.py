"""`percept proposals` and `percept apply --propose` against a service that listens."""

import json
from pathlib import Path

import pytest

from api.client import Client, Conflict, NotAllowed
from contract.service.tokens import Role
from tests.api.commands import Run, write
from tests.api.documents import PATTERN, processor_document
from tests.api.listening import ListeningService
from tests.api.people import Person
from tests.api.running import Service

ID = "failed-logins"
WIDER = processor_document(pattern=PATTERN | {"within": "1 hour"})


@pytest.fixture
def with_stream(listening: ListeningService) -> Service:
    """The service that listens, for the fixtures of its people."""
    return listening.service


@pytest.fixture
def gated(client: Client) -> Client:
    """A stream with a rule that asks for one approval, and the client of an admin."""
    client.create(processor_document())
    assert client.require_approvals("logins", 1).required_approvals == 1
    return client


@pytest.fixture
def run(run: Run) -> Run:
    """Run a command as somebody; returns its result."""
    return lambda who, *words, code=0: run(*words, token=who.token, code=code)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with a wider window of the rule."""
    return write(tmp_path / "rule.yaml", WIDER)


def last_line(run: Run, who: Person, file: Path, *words: str) -> str:
    """Propose what is in a file, and return what is said of its last change."""
    output = run(who, "apply", file, "--propose", *words).output
    return str(output.splitlines()[-1])


def test_a_change_in_a_repository_is_proposed_approved_and_published(
    gated: Client, run: Run, ana: Person, bob: Person, file: Path
) -> None:
    refused = run(ana, "apply", file, code=1)
    assert "changes on stream logins must be approved by 1 person" in refused.output
    assert gated.get(ID).version == 1
    last = last_line(run, ana, file, "--comment", "commit 1a2b")
    assert last == f"proposed: {ID}: proposal 1, 0 of 1 approvals"
    assert gated.get(ID).version == 1
    listed = run(bob, "proposals", "list").output.splitlines()
    assert listed[1].split()[:7] == ["1", ID, "publish", "open", "0", "of", "1"]
    assert listed[1].endswith("commit 1a2b")
    shown = run(bob, "proposals", "show", 1).output
    assert shown.splitlines()[0] == f"proposal 1 by ana: publish of {ID} (open)"
    assert "    -  within: 10 minutes\n    +  within: 1 hour\n" in shown

    assert "your own proposal" in run(ana, "proposals", "approve", 1, code=1).output
    run(ana, "proposals", "publish", 1, code=1)
    approved = run(bob, "proposals", "approve", 1)
    assert approved.output == "proposal 1: 1 of 1 approvals (bob)\n"
    published = run(ana, "proposals", "publish", 1)
    assert published.output == f"{ID}: version 2 is published by proposal 1\n"
    assert gated.get(ID).version == 2
    assert next(gated.versions(ID)).comment == "commit 1a2b"
    assert run(ana, "apply", file).output == "Plan: 1 unchanged\n"
    assert run(ana, "proposals", "list").output == "no proposals\n"


def test_to_propose_again_brings_the_same_proposal_up_to_date(
    gated: Client, run: Run, ana: Person, bob: Person, file: Path
) -> None:
    last_line(run, ana, file)
    run(bob, "proposals", "approve", 1)
    again = last_line(run, ana, file)
    assert again == f"proposed already: {ID}: proposal 1, 1 of 1 approvals (bob)"
    write(file, processor_document(pattern=PATTERN | {"within": "2 hours"}))
    assert last_line(run, ana, file) == f"edited: {ID}: proposal 1, 0 of 1 approvals"
    assert last_line(run, bob, file) == f"proposed: {ID}: proposal 2, 0 of 1 approvals"
    assert [each.id for each in gated.proposals(state="open")] == [2, 1]
    gated.require_approvals("logins", 0)
    again = last_line(run, bob, file)
    assert again == f"proposed already: {ID}: proposal 2, needs no approval"
    assert "none needed" in run(bob, "proposals", "list").output


def test_lists_in_a_repository_are_proposed(
    gated: Client, run: Run, ana: Person, bob: Person, file: Path
) -> None:
    gated.lists("logins").create("gone")
    of_stream = {"stream": "logins"}
    vip = {"list": "vip", "values": ["eve", "a\n+ b"], **of_stream}
    write(file, vip, {"list": "empty", **of_stream})
    told = run(ana, "apply", file, "--propose", "--prune").output.splitlines()[-4:]
    assert told[0] == "proposed: logins/vip: proposal 1, 0 of 1 approvals"
    assert told[1] == "left out: logins/empty: it needs no approval; apply it without --propose"
    assert told[3] == "proposed: logins/gone: proposal 3, 0 of 1 approvals"
    shown = run(bob, "proposals", "show", 1).output.splitlines()
    assert shown[0] == "proposal 1 by ana: list_create of vip (open)"
    counted = "  2 added, 0 removed, compared with nothing:"
    assert shown[2:] == [counted, r"    + 'a\n+ b'", "    + 'eve'"]
    run(bob, "proposals", "approve", 1)
    published = run(ana, "proposals", "publish", 1)
    assert published.output == "vip: version 2 is published by proposal 1\n"
    write(file, vip | {"values": ["eve"]})
    for said in ("proposed", "proposed already"):
        assert last_line(run, ana, file) == f"{said}: logins/vip: proposal 4, 0 of 1 approvals"
    (line,) = gated.proposals(list="vip", state="open")
    assert (line.kind, line.name, line.processor_id) == ("list_put", "vip", "")
    values = gated.proposal(4).values
    assert values is not None
    assert (values.added_values, values.removed_values) == ([], ["a\n+ b"])


@pytest.mark.long
def test_more_values_than_a_proposal_has_are_proposed_one_part_after_the_other(
    gated: Client, run: Run, ana: Person, bob: Person, file: Path
) -> None:
    lists = gated.lists("logins")

    def propose_until_done(*values: str) -> list[str]:
        write(file, {"list": "vip", "stream": "logins", "values": list(values)})
        told = []
        while "proposal" in (line := last_line(run, ana, file)):
            told.append(line)
            assert last_line(run, ana, file) == line.replace("proposed", "proposed already", 1)
            newest = next(iter(gated.proposals(state="open"))).id
            run(bob, "proposals", "approve", newest)
            run(ana, "proposals", "publish", newest)
        return told

    with pytest.MonkeyPatch.context() as patch:
        for module in ("api.gitops.list_parts", "api.proposals.list_changes"):
            patch.setattr(f"{module}.MOST_SHOWN", 2)
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
    gated: Client, run: Run, ana: Person, file: Path
) -> None:
    gated.create(processor_document(id="paused-rule"), paused=True)
    later = {"effective_from": "2031-01-01T00:00:00Z"}
    write(
        file,
        processor_document(id="new-rule"),
        processor_document(id="new-rule", severity="high", **later),
        processor_document(id="new-and-paused") | {"paused": True},
        processor_document(id="paused-rule", severity="low") | {"paused": False},
    )
    assert run(ana, "apply", file, "--propose", "--prune").output.splitlines()[-4:] == [
        "proposed: new-rule: proposal 1, 0 of 1 approvals; 1 more to propose once it is published",
        "left out: new-and-paused: it needs no approval; apply it without --propose",
        "proposed: paused-rule: proposal 2, 0 of 1 approvals",
        f"proposed: {ID}: proposal 3, 0 of 1 approvals",
    ]
    kinds = {each.processor_id: each.kind for each in gated.proposals()}
    assert kinds == {"new-rule": "publish", "paused-rule": "resume", ID: "delete"}
    assert [each.id for each in gated.processors()] == [ID, "paused-rule"]


def test_what_needs_no_approval_is_applied_as_ever(
    gated: Client, run: Run, ana: Person, file: Path
) -> None:
    run(ana, "apply", write(file, WIDER | {"owner": "fraud", "paused": True}))
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
    run(bob, "proposals", "approve", 1, code=1)
    assert run(ana, "proposals", "renew", 1).output == "proposal 1: 0 of 1 approvals\n"
    run(ana, "proposals", "withdraw", second.id)
    rejected = run(bob, "proposals", "reject", 1, "--reason", "too slow")
    assert rejected.output == "proposal 1: rejected\n"
    assert "rejected by bob: too slow" in run(ana, "proposals", "show", 1).output
    lines = run(ana, "proposals", "list", "--state", "", "--mine", "--json").output.splitlines()
    assert [json.loads(line)["state"] for line in lines] == ["withdrawn", "rejected"]
    run(ana, "proposals", "show", 99, code=1)


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
    assert "/version" in run(ana, "proposals", "new", "rollback", ID, code=2).output
    run(ana, "proposals", "new", "rollback", ID, "--version", 1)
    run(ana, "proposals", "new", "promote", ID, code=1)


def test_a_token_can_be_created_for_a_person(
    listening: ListeningService, run: Run, ana: Person
) -> None:
    words = ("token", "create", "phone", "--role", "publisher", "--person", "Ana")
    run(ana, *words, "--database-url", listening.service.url)
    (phone,) = (
        each for each in listening.service.get("/v1/tokens", Role.ADMIN) if each["name"] == "phone"
    )
    assert (phone["person"], phone["role"]) == ("Ana", Role.PUBLISHER)
