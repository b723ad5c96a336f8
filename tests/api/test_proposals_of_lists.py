"""Changes of lists are proposed, approved by others and published, as they were approved."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from cep.instants import iso_text
from contract.service import proposals as limits
from contract.service.tokens import Role
from tests.api.documents import PATTERN, STREAM, processor_document
from tests.api.people import PROPOSALS, Person, ask_for, token_of
from tests.api.running import Service

LISTS = "/v1/streams/logins/lists"
VIP = f"{LISTS}/vip"
SOON = "2027-06-01T00:00:00Z"
OF_VIP = {"stream": "logins", "list_name": "vip"}
HOSTILE = ["<script>alert(1)</script>", "\u202eevil", "a,b", 'say "no"', "x" * 1000]


@pytest.fixture
def gated(with_stream: Service) -> Service:
    """A list with three values, whose changes one other person must approve."""
    with_stream.done("POST", LISTS, {"name": "vip"})
    with_stream.done("PUT", f"{VIP}/values", ["ana", "bob", "eve"])
    ask_for(with_stream, 1)
    return with_stream


@pytest.fixture
def ana(gated: Service, ana: Person) -> Person:
    """The one who proposes."""
    assert ana.service is gated
    return ana


def values(service: Service, path: str = VIP) -> Any:
    return service.get(f"{path}/values", limit=500)["items"]


def add(person: Person, *added: str, **more: Any) -> Any:
    return person.propose(kind="list_change", **OF_VIP, add=list(added), **more)


def leave_to_publishers(service: Service, *, free: bool) -> None:
    service.done("PUT", "/v1/streams/logins/approvals", {"required": 1, "lists": not free})


def change_directly(service: Service, query: str = "", **changes: Any) -> None:
    """Change the list as publishers may for a moment, then ask for approvals of lists again."""
    leave_to_publishers(service, free=True)
    service.done("POST", f"{VIP}/changes{query}", changes)
    leave_to_publishers(service, free=False)


def approve_and_publish(bob: Person, number: int) -> Any:
    assert bob.tries(number, "approve", "publish") == [200, 200]
    return bob.read(number)


def test_values_are_proposed_looked_through_approved_and_published(
    ana: Person, bob: Person
) -> None:
    refused = ana.send("POST", f"{VIP}/changes", json={"add": ["zoe"]})
    assert refused.status_code == 403
    assert "POST /v1/proposals" in refused.json()["detail"]
    change = {"add": ["zoe", "ana"], "remove": ["eve"]}
    proposal = ana.propose(kind="list_change", **OF_VIP, **change, comment="from sales")
    assert (proposal["list_name"], proposal["processor_id"]) == ("vip", "")
    assert (proposal["base_version"], proposal["document"]) == (2, None)
    assert proposal["values"] == {
        "list_type": "STRING",
        "description": "",
        "count": 3,
        "added": 1,
        "removed": 1,
        "added_values": ["zoe"],
        "removed_values": ["eve"],
        "withdrawn": [],
    }
    number = proposal["id"]
    assert ana.tries(number, "publish") == [409]
    assert values(ana.service) == ["ana", "bob", "eve"]
    published = approve_and_publish(bob, number)
    assert (published["state"], published["published_version"]) == ("published", 3)
    assert values(ana.service) == ["ana", "bob", "zoe"]
    log = ana.service.log()
    by = f"proposal {number} by ana, approved by bob"
    assert [(each["action"], each["subject"]) for each in log[:4]] == [
        ("proposal.publish", f"{number} list_change vip, approved by bob"),
        ("list.change", f"vip: 1 added, 1 removed; {by}"),
        ("proposal.approve", f"{number} list_change vip as bob"),
        ("proposal.create", f"{number} list_change vip"),
    ]
    assert (log[1]["comment"], log[1]["epoch"]) == ("from sales", published["published_epoch"])


def test_all_values_are_replaced(ana: Person, bob: Person) -> None:
    for given in ({"values": ["zoe", "ana"]}, {"csv": "zoe\n\nana\n"}):
        proposal = ana.propose(kind="list_put", **OF_VIP, **given)
        assert proposal["values"]["added_values"] == ["zoe"]
        assert proposal["values"]["removed_values"] == ["bob", "eve"]
    approve_and_publish(bob, proposal["id"])
    assert values(ana.service) == ["ana", "zoe"]


def test_a_list_is_created_with_its_values(ana: Person, bob: Person) -> None:
    author = token_of(ana.service, "an author", Role.AUTHOR)
    change = {"stream": "logins", "list_name": "ids", "list_type": "BIGINT", "values": [2**62, "7"]}
    proposal = author.propose(kind="list_create", **change, description="Whose they are.")
    assert (proposal["base_version"], proposal["values"]["count"]) == (None, 2)
    bob.service.get(f"{LISTS}/ids", expect=404)
    approve_and_publish(bob, proposal["id"])
    assert values(bob.service, f"{LISTS}/ids") == ["7", str(2**62)]
    shown = bob.service.get(f"{LISTS}/ids")
    assert (shown["type"], shown["description"]) == ("BIGINT", "Whose they are.")


def test_a_list_is_rolled_back_scheduled_cancelled_and_deleted(ana: Person, bob: Person) -> None:
    back = ana.propose(kind="list_rollback", **OF_VIP, version=1)
    assert back["values"]["removed_values"] == ["ana", "bob", "eve"]
    assert approve_and_publish(bob, back["id"])["published_version"] == 3
    assert values(ana.service) == []
    later = add(ana, "zoe", effective_from=SOON)
    assert later["effective_from"] == "2027-06-01T00:00:00.000Z"
    assert approve_and_publish(bob, later["id"])["published_version"] == 4
    assert len(ana.service.get(VIP)["published"]) == 2
    cancelled = ana.propose(kind="list_cancel", **OF_VIP, version=4)
    assert approve_and_publish(bob, cancelled["id"])["published_version"] is None
    assert len(ana.service.get(VIP)["published"]) == 1
    approve_and_publish(bob, ana.propose(kind="list_delete", **OF_VIP)["id"])
    ana.service.get(VIP, expect=404)


def test_an_approval_is_of_others_and_of_one_list_alone(ana: Person, bob: Person) -> None:
    number = add(ana, "zoe")["id"]
    phone = token_of(ana.service, "phone", person="ANA")
    for own in (ana, phone, token_of(ana.service, "x", Role.ADMIN)):
        assert own.tries(number, "approve", "publish") == [403, 409]
    assert values(ana.service) == ["ana", "bob", "eve"]
    ana.service.done("POST", LISTS, {"name": "other"})
    approve_and_publish(bob, number)
    for path in (VIP, f"{LISTS}/other"):
        assert ana.send("POST", f"{path}/changes", json={"add": ["kim"]}).status_code == 403
    assert ana.send("POST", "/v1/processors", json=processor_document()).status_code == 403


def test_an_edit_loses_the_approvals_and_stays_of_its_list(ana: Person, bob: Person) -> None:
    ana.service.done("POST", LISTS, {"name": "other"})
    number = add(ana, "zoe")["id"]
    path = f"{PROPOSALS}/{number}"
    bob.act(number, "approve")
    same = {"kind": "list_change", "add": ["zoe"], **OF_VIP}
    assert ana.send("PUT", path, json=same).json()["approval_count"] == 1
    edited = ana.send("PUT", path, json=same | {"add": ["mallory"]}).json()
    assert (edited["approval_count"], edited["revision"]) == (0, 2)
    assert ana.tries(number, "publish") == [409]
    for other in ({"list_name": "other"}, {"kind": "list_put", "values": ["zoe"], "add": None}):
        assert ana.send("PUT", path, json=same | other).status_code == 409
    approve_and_publish(bob, number)
    assert values(ana.service) == ["ana", "bob", "eve", "mallory"]


def test_a_list_that_was_changed_meanwhile_makes_it_stale_until_it_is_renewed(
    ana: Person, bob: Person
) -> None:
    number = ana.propose(kind="list_put", **OF_VIP, values=["ana", "zoe"])["id"]
    assert ana.tries(number, "renew") == [409]
    bob.act(number, "approve")
    ana.service.done("PATCH", VIP, {"description": "Called first."})
    assert ana.read(number)["is_stale"] is False
    change_directly(ana.service, add=["kim"])
    assert ana.read(number)["is_stale"] is True
    (line,) = ana.service.get(PROPOSALS, list="vip")["items"]
    assert line["is_stale"] is True
    assert ana.service.get(PROPOSALS, list="other")["items"] == []
    for verb in ("approve", "publish"):
        answer = bob.act(number, verb)
        assert answer.status_code == 409
        assert "values of list 'vip' have been changed" in answer.json()["detail"]
    renewed = ana.act(number, "renew").json()
    assert (renewed["is_stale"], renewed["approval_count"]) == (False, 0)
    assert renewed["values"]["removed_values"] == ["bob", "eve", "kim"]
    approve_and_publish(bob, number)
    assert values(ana.service) == ["ana", "zoe"]


def test_a_scheduled_version_that_takes_effect_makes_it_stale(ana: Person, bob: Person) -> None:
    change_directly(ana.service, add=["zoe"])
    soon = iso_text(ana.service.clock() + 60_000)
    change_directly(ana.service, f"?effective_from={soon}", add=["kim"])
    proposal = add(ana, "mallory")
    assert proposal["values"]["withdrawn"] == [4]
    ana.service.clock.time_ms += 120_000
    assert ana.read(proposal["id"])["is_stale"] is True
    assert bob.tries(proposal["id"], "approve") == [409]
    assert ana.act(proposal["id"], "renew").json()["base_version"] == 4


def test_a_deleted_list_and_one_of_its_name(ana: Person, bob: Person) -> None:
    number = add(ana, "zoe")["id"]
    bob.act(number, "approve")
    leave_to_publishers(ana.service, free=True)
    ana.service.done("DELETE", VIP)
    leave_to_publishers(ana.service, free=False)
    assert ana.tries(number, "publish", "renew") == [404, 404]
    assert bob.tries(number, "approve") == [409]
    assert ana.read(number)["is_stale"] is True
    ana.service.done("POST", LISTS, {"name": "vip", "type": "BIGINT"})
    assert bob.tries(number, "publish", "approve") == [422, 409]  # 'zoe' is no number
    assert bob.act(number, "reject", json={"reason": "gone"}).status_code == 200
    ana.refused({"kind": "list_delete", "stream": "logins", "list_name": "no"}, 404)


def test_a_list_that_a_rule_names_is_not_deleted_by_a_proposal(ana: Person, bob: Person) -> None:
    number = ana.propose(kind="list_delete", **OF_VIP)["id"]
    bob.act(number, "approve")
    ask_for(ana.service, 0)
    steps = [{"name": "a", "where": "user IN LIST('vip')"}]
    ana.service.publish(pattern=PATTERN | {"steps": steps})
    ask_for(ana.service, 1)
    answer = ana.act(number, "publish")
    assert (answer.status_code, "is named by" in answer.json()["detail"]) == (409, True)
    assert values(ana.service) == ["ana", "bob", "eve"]


def test_each_kind_takes_its_fields(ana: Person) -> None:
    for change, pointers in (
        ({"kind": "list_put"}, ["/values"]),
        ({"kind": "list_put", "values": [], "csv": ""}, ["/csv"]),
        ({"kind": "list_change"}, [""]),
        ({"kind": "list_change", "add": ["x"], "remove": ["x"]}, ["/remove"]),
        ({"kind": "list_change", "values": ["x"]}, ["/values"]),
        ({"kind": "list_change", "add": ["x"], "processor_id": "a"}, ["/processor_id"]),
        ({"kind": "list_rollback"}, ["/version"]),
        ({"kind": "list_delete", "effective_from": SOON}, ["/effective_from"]),
        ({"kind": "list_change", "add": ["x" * 1001]}, ["/add/0/constrained-str"]),
        ({"kind": "list_put", "values": [1, "ok", 2]}, ["/values/0", "/values/2"]),
        ({"kind": "list_change", "add": ["x"] * 10_001}, ["/add"]),
        ({"kind": "delete", "processor_id": "a"}, ["/stream", "/list_name"]),
    ):
        errors = ana.refused(OF_VIP | change)["errors"]
        assert [flaw["pointer"] for flaw in errors][: len(pointers)] == pointers
        assert ana.service.get(PROPOSALS)["items"] == []


def test_what_would_be_refused_is_refused_at_once(ana: Person) -> None:
    for change, status in (
        ({"kind": "list_change", "add": ["ana"]}, 409),
        ({"kind": "list_put", "values": ["ana", "bob", "eve"]}, 409),
        ({"kind": "list_create"}, 409),
        ({"kind": "list_rollback", "version": 9}, 404),
        ({"kind": "list_cancel", "version": 2}, 409),
        ({"kind": "list_delete", "stream": "unknown"}, 404),
    ):
        ana.refused(OF_VIP | change, status)
    assert ana.service.get(PROPOSALS)["items"] == []
    assert ana.service.get(VIP)["version"] == 2


def test_hostile_texts_and_the_most_that_fits_are_proposed_and_published(
    ana: Person, bob: Person
) -> None:
    proposal = add(ana, *HOSTILE, comment="<img src=x>")
    assert sorted(proposal["values"]["added_values"]) == sorted(HOSTILE)
    approve_and_publish(bob, proposal["id"])
    assert sorted(values(ana.service)) == sorted([*HOSTILE, "ana", "bob", "eve"])
    proposal = add(ana, *(f"v{number}" for number in range(limits.MOST_SHOWN)))
    assert len(proposal["values"]["added_values"]) == limits.MOST_SHOWN
    approve_and_publish(bob, proposal["id"])
    assert ana.service.get(VIP)["count"] == limits.MOST_SHOWN + len(HOSTILE) + 3
    ana.refused({"kind": "list_put", **OF_VIP, "values": ["x" * 1000] * 3_000}, 413)


def test_more_than_people_look_through_is_refused(
    ana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.proposals.list_changes.MOST_SHOWN", 2)
    wide = ana.refused({"kind": "list_put", **OF_VIP, "values": []})
    assert "remove 3" in wide["errors"][0]["detail"]
    back = ana.propose(kind="list_rollback", **OF_VIP, version=1)["values"]
    assert (back["removed"], back["removed_values"]) == (3, ["ana", "bob"])
    monkeypatch.setattr("api.proposals.list_changes.MOST_SHOWN_CHARACTERS", 5)
    ana.refused({"kind": "list_change", **OF_VIP, "add": ["x" * 6]})
    assert len(ana.service.get(PROPOSALS)["items"]) == 1


def test_of_a_publication_and_a_direct_change_one_is_first_and_no_value_is_lost(
    ana: Person, bob: Person
) -> None:
    for turn in range(5):
        number = ana.propose(kind="list_put", **OF_VIP, values=[f"put{turn}"])["id"]
        bob.act(number, "approve")
        leave_to_publishers(ana.service, free=True)
        direct = {"add": [f"direct{turn}"]}
        with ThreadPoolExecutor(2) as pool:
            published = pool.submit(bob.act, number, "publish")
            changed = pool.submit(ana.send, "POST", f"{VIP}/changes", json=direct)
        assert changed.result().status_code == 200
        leave_to_publishers(ana.service, free=False)
        if published.result().status_code == 200:
            assert values(ana.service) == [f"direct{turn}", f"put{turn}"]
        else:
            # What was approved would have taken away a value that nobody had seen.
            assert published.result().status_code == 409
            assert f"direct{turn}" in values(ana.service)
            assert f"put{turn}" not in values(ana.service)


def test_a_token_of_another_stream_sees_and_proposes_nothing(ana: Person) -> None:
    ana.service.done("POST", "/v1/streams", STREAM | {"name": "other"})
    document = {"name": "o", "role": "publisher", "person": "o", "streams": ["other"]}
    other = Person(ana.service, ana.service.done("POST", "/v1/tokens", document)["token"])
    number = add(ana, "zoe")["id"]
    assert other.send("GET", f"{PROPOSALS}/{number}").status_code == 404
    assert other.send("GET", f"{PROPOSALS}?list=vip").json()["items"] == []
    assert other.tries(number, "approve", "publish") == [404, 404]
    for change in ({"kind": "list_create", "list_name": "new"}, {"kind": "list_delete"}):
        other.refused(OF_VIP | change, 404)
