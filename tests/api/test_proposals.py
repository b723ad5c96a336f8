"""Changes are proposed, approved by others, and published; without that they are refused."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from contract.service import proposals as limits
from contract.service.tokens import Role
from tests.api.documents import PATTERN, STREAM, processor_document
from tests.api.people import PROPOSALS, Person, ask_for, token_of
from tests.api.running import Service

PATH = "/v1/processors/failed-logins"
ROLLOUT = f"{PATH}/rollout"
WIDER = PATTERN | {"within": "1 hour"}
WIDEST = PATTERN | {"within": "2 hours"}
WIDER_RULE = processor_document(pattern=WIDER)


@pytest.fixture
def ana(with_rule: Service) -> Person:
    return token_of(with_rule, "ana", person="ana")


@pytest.fixture
def eve(with_stream: Service) -> Person:
    return token_of(with_stream, "eve", person="eve")


def runs(service: Service) -> dict[str, Any]:
    """Return the published versions, and those that are tried with their shares."""
    shown = service.snapshot()
    published = [
        (version["version"], each["paused"])
        for each in shown["processors"]
        for version in each["versions"]
    ]
    tried = [(each["version"]["version"], each["share"]) for each in shown.get("rollouts", [])]
    return {"published": published, "tried": tried}


class TestTheWayOfAProposal:
    def test_two_others_approve_and_it_is_published(
        self, ana: Person, bob: Person, eve: Person
    ) -> None:
        ask_for(ana.service, 2)
        proposal = ana.propose(document=WIDER_RULE, comment="slow attacks")
        assert (proposal["state"], proposal["base_version"]) == ("open", 1)
        change = {"change": "changed", "old": "10 minutes", "new": "1 hour"}
        assert proposal["differences"] == [{"pointer": "/pattern/within"} | change]
        number = proposal["id"]
        assert ana.tries(number, "publish") == [409]
        assert bob.act(number, "approve").json()["approval_count"] == 1
        refused = eve.act(number, "publish")
        assert refused.status_code == 409
        assert "1 of the 2 approvals" in refused.json()["detail"]
        assert runs(ana.service)["published"] == [(1, False)]
        assert eve.act(number, "approve").json()["approval_count"] == 2
        published = ana.act(number, "publish").json()
        assert (published["state"], published["published_version"]) == ("published", 2)
        assert [each["person"] for each in published["approvals"]] == ["bob", "eve"]
        assert runs(ana.service)["published"] == [(2, False)]
        log = ana.service.log()
        assert [each["action"] for each in log[:5]] == [
            "proposal.publish",
            "processor.publish",
            "proposal.approve",
            "proposal.approve",
            "proposal.create",
        ]
        assert log[1]["subject"] == f"proposal {number} by ana, approved by bob, eve"
        assert (log[1]["actor"], log[1]["comment"]) == ("ana", "slow attacks")
        assert log[1]["epoch"] == published["published_epoch"]

    def test_a_rule_can_be_new(self, ana: Person, bob: Person) -> None:
        ask_for(ana.service, 1)
        path, document = "/v1/processors/another", processor_document(id="another", tags=["new"])
        proposal = ana.propose(document=document)
        assert (proposal["base_version"], proposal["differences"]) == (None, [])
        ana.service.get(path, expect=404)
        assert bob.tries(proposal["id"], "approve", "publish") == [200, 200]
        assert ana.service.get(path)["tags"] == ["new"]

    def test_each_kind_takes_its_fields_and_what_is_wrong_is_told_with_its_place(
        self, ana: Person
    ) -> None:
        for change, pointers in (
            ({}, ["/document"]),
            ({"kind": "rollback", "processor_id": "failed-logins"}, ["/version"]),
            ({"kind": "resume", "processor_id": "a", "version": 1}, ["/version"]),
            ({"kind": "delete", "document": WIDER_RULE}, ["/document", "/processor_id"]),
        ):
            assert [flaw["pointer"] for flaw in ana.refused(change)["errors"]] == pointers
        steps = [{"name": "a", "where": "acton = 1"}]
        (flaw,) = ana.refused({"document": processor_document(pattern={"steps": steps})})["errors"]
        assert flaw["pointer"] == "/document/pattern/steps/0/where"
        assert flaw["remedy"] == "Did you mean action?"

    def test_what_would_be_refused_is_refused_at_once(self, ana: Person) -> None:
        of_rule = {"processor_id": "failed-logins"}
        for change, status in (
            (of_rule | {"kind": "resume"}, 409),
            (of_rule | {"kind": "cancel", "version": 1}, 409),
            ({"document": processor_document()}, 409),
            (of_rule | {"kind": "rollback", "version": 7}, 404),
            (of_rule | {"kind": "promote"}, 404),
            ({"kind": "delete", "processor_id": "unknown"}, 404),
        ):
            ana.refused(change, status)
        assert ana.service.get(PROPOSALS)["items"] == []
        assert runs(ana.service)["published"] == [(1, False)]
        assert ana.service.epoch() == 2

    def test_comments_are_kept_in_order(self, ana: Person, bob: Person) -> None:
        number = ana.propose(document=WIDER_RULE)["id"]
        said = ["why?", "for slow ones", "<script>alert(1)</script>"]
        for text in said:
            assert bob.act(number, "comments", json={"text": text}).status_code == 201
        pages = ana.service.pages(f"{PROPOSALS}/{number}/comments", limit=2)
        assert [each["text"] for page in pages for each in page["items"]] == said
        assert bob.act(number, "comments", json={"text": " \n"}).status_code == 422

    def test_without_any_approval_asked_for_a_proposal_is_published_by_whoever_may(
        self, ana: Person
    ) -> None:
        author = token_of(ana.service, "an author", Role.AUTHOR)
        number = author.propose(document=WIDER_RULE)["id"]
        assert author.tries(number, "publish") == [403]
        assert ana.tries(number, "publish") == [200]
        assert runs(ana.service)["published"] == [(2, False)]


class TestWhoCounts:
    def test_only_its_author_edits_renews_withdraws_and_never_approves_it(
        self, ana: Person, bob: Person
    ) -> None:
        ask_for(ana.service, 1)
        number = ana.propose(document=WIDER_RULE)["id"]
        again = token_of(ana.service, "phone", person="Ana")
        admin = token_of(ana.service, "root", Role.ADMIN, person="ANA")
        for own in (ana, again, admin):
            answer = own.act(number, "approve")
            assert answer.status_code == 403, answer.text
            assert "your own proposal" in answer.json()["detail"]
            assert own.act(number, "reject", json={"reason": "no"}).status_code == 403
            assert own.act(number, "publish").status_code == 409
        number = ana.propose(document=WIDER_RULE)["id"]
        edited = {"document": processor_document(pattern=WIDEST)}
        assert bob.send("PUT", f"{PROPOSALS}/{number}", json=edited).status_code == 403
        assert bob.tries(number, "renew", "withdraw") == [403, 403]
        assert ana.act(number, "withdraw").json()["state"] == "withdrawn"
        assert ana.tries(number, "withdraw") == [409]

    def test_two_tokens_of_one_person_are_one_approval_and_those_of_nobody_none(
        self, ana: Person, bob: Person
    ) -> None:
        ask_for(ana.service, 2)
        number = ana.propose(document=WIDER_RULE)["id"]
        phone = token_of(ana.service, "phone", person="BOB")
        for own in (bob, phone, bob):
            assert own.act(number, "approve").json()["approval_count"] == 1
        answer = ana.service.send("POST", f"{PROPOSALS}/{number}/approve")
        assert answer.status_code == 403
        assert "--person" in answer.json()["detail"]
        assert phone.tries(number, "publish") == [409]
        # The name of a token of nobody is its author's identity.
        nameless = token_of(ana.service, "Bob")
        assert bob.tries(nameless.propose(document=WIDER_RULE)["id"], "approve") == [403]


class TestWhatIsApproved:
    def test_an_edit_loses_the_approvals_and_stays_of_its_kind_and_rule(
        self, ana: Person, bob: Person
    ) -> None:
        ask_for(ana.service, 1)
        proposal = ana.propose(document=WIDER_RULE)
        number = proposal["id"]
        bob.act(number, "approve")
        for edit, count, revision in (
            ({"document": WIDER_RULE}, 1, 1),
            # The log keeps the comment as the reason for what others have approved.
            ({"document": WIDER_RULE, "comment": "bob wants it"}, 0, 2),
            ({"document": processor_document(pattern=WIDEST)}, 0, 3),
        ):
            edited = ana.send("PUT", f"{PROPOSALS}/{number}", json=edit).json()
            assert (edited["approval_count"], edited["revision"]) == (count, revision)
        for change in (
            {"document": processor_document(id="another")},
            {"kind": "delete", "processor_id": "failed-logins"},
        ):
            assert ana.send("PUT", f"{PROPOSALS}/{number}", json=change).status_code == 409
        assert ana.tries(number, "publish") == [409]
        seen = {"If-Match": f'"{proposal["revision"]}"'}
        assert bob.act(number, "approve", headers=seen).status_code == 412
        assert bob.tries(number, "approve", "publish") == [200, 200]
        assert ana.service.get(PATH)["document"]["pattern"] == WIDEST

    def test_a_rule_that_has_changed_makes_it_stale_until_it_is_renewed(
        self, ana: Person, bob: Person
    ) -> None:
        number = ana.propose(document=WIDER_RULE)["id"]
        bob.act(number, "approve")
        ana.service.done("PATCH", PATH, {"owner": "fraud"})
        assert not ana.read(number)["is_stale"]
        ana.service.publish(pattern=WIDEST)
        ask_for(ana.service, 1)
        assert bob.read(number)["is_stale"]
        for verb in ("approve", "publish"):
            answer = bob.act(number, verb)
            assert answer.status_code == 409
            assert "renew" in answer.json()["detail"]
        renewed = ana.act(number, "renew").json()
        assert (renewed["is_stale"], renewed["approval_count"]) == (False, 0)
        assert renewed["base_version"] == 2
        assert ana.tries(number, "renew") == [409]
        bob.act(number, "approve")
        assert ana.act(number, "publish").json()["published_version"] == 3

    def test_a_document_that_does_not_fit_its_stream_any_more_is_not_published(
        self, ana: Person, bob: Person
    ) -> None:
        number = ana.propose(document=processor_document(select={"money": "login.amount"}))["id"]
        bob.act(number, "approve")
        narrower = STREAM | {"schema": "user STRING, action STRING, ts TIMESTAMP"}
        ana.service.done("PUT", "/v1/streams/logins", narrower)
        answer = ana.act(number, "publish")
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"].startswith("/document/select")

    def test_a_rejected_one_is_closed_with_its_reason(self, ana: Person, bob: Person) -> None:
        number = ana.propose(document=WIDER_RULE)["id"]
        rejected = bob.act(number, "reject", json={"reason": "too noisy"}).json()
        assert (rejected["state"], rejected["reason"]) == ("rejected", "too noisy")
        for verb in ("approve", "publish", "withdraw", "renew"):
            own = ana if verb in {"withdraw", "renew"} else bob
            answer = own.act(number, verb)
            assert answer.status_code == 409, verb
            assert "rejected by bob" in answer.json()["detail"]

    def test_the_definition_that_ran_last_is_compared_with_what_a_resume_would_run(
        self, ana: Person, bob: Person
    ) -> None:
        ask_for(ana.service, 1)
        assert ana.send("POST", f"{PATH}/pause").status_code == 200
        assert ana.send("PUT", PATH, json=WIDER_RULE).status_code == 200
        proposal = bob.propose(kind="resume", processor_id="failed-logins")
        assert (proposal["versions"], proposal["base_version"]) == ([2], 1)
        assert [each["pointer"] for each in proposal["differences"]] == ["/pattern/within"]


class TestEveryWayIn:
    """Each change that lets something run, for every role; and those that are free."""

    @pytest.fixture
    def gated(self, with_rule: Service) -> Service:
        with_rule.publish(pattern=WIDER)
        with_rule.publish(id="paused-rule")
        steps = [{"name": "large", "where": "amount > :limit"}]
        limit = {"type": "DOUBLE", "value": 100}
        with_rule.publish(id="with-limit", pattern={"steps": steps, "parameters": {"limit": limit}})
        with_rule.done("POST", "/v1/processors/paused-rule/pause")
        ask_for(with_rule, 1)
        return with_rule

    def test_is_refused_without_a_proposal(self, gated: Service) -> None:
        widest = processor_document(pattern=WIDEST)
        before = gated.snapshot()
        for method, path, body in (
            ("POST", "/v1/processors", processor_document(id="another")),
            ("PUT", PATH, widest),
            ("PUT", PATH, widest | {"effective_from": "2031-01-01T00:00:00Z"}),
            ("PATCH", "/v1/processors/with-limit/parameters", {"limit": 120}),
            ("POST", f"{PATH}/rollback", {"version": 1}),
            ("DELETE", PATH, None),
            ("DELETE", "/v1/processors/paused-rule", None),
            ("POST", "/v1/processors/paused-rule/resume", None),
            ("POST", "/v1/streams/logins/rules/resume", {"ids": ["paused-rule"]}),
            ("POST", f"{ROLLOUT}?share_percent=5", widest),
        ):
            for role in (Role.AUTHOR, Role.PUBLISHER, Role.ADMIN):
                answer = gated.send(method, path, body, role)
                assert answer.status_code == 403, (role, method, path, answer.text)
                if role is not Role.AUTHOR:
                    assert "must be approved by 1 person other than" in answer.json()["detail"]
        assert gated.snapshot() == before
        assert gated.get(PATH)["version"] == 2

    def test_so_are_changes_of_what_is_tried_or_scheduled(
        self, gated: Service, ana: Person
    ) -> None:
        later = processor_document(pattern=WIDEST, effective_from="2031-01-01T00:00:00Z")
        another = processor_document(pattern=PATTERN | {"within": "3 hours"})
        same, cancel, promote = (
            processor_document(),
            f"{PATH}/versions/3/cancel",
            f"{ROLLOUT}/promote",
        )
        for required, method, path, body, status in (
            (0, "PUT", PATH, later, 200),
            (1, "POST", cancel, None, 403),
            (1, "POST", ROLLOUT, same, 200),
            (1, "PATCH", ROLLOUT, {"share_percent": 5}, 403),
            (1, "POST", promote, None, 403),
            (1, "PUT", PATH, same, 403),
            (0, "PATCH", ROLLOUT, {"share_percent": 5}, 200),
            (1, "PATCH", ROLLOUT, {"share_percent": 6}, 403),
            (1, "POST", f"{ROLLOUT}?share_percent=5", another, 403),
            (1, "PATCH", ROLLOUT, {"share_percent": 4}, 200),
            (1, "DELETE", ROLLOUT, None, 200),
        ):
            ask_for(gated, required)
            assert ana.send(method, path, json=body).status_code == status, (method, path, body)

    def test_a_rule_cannot_be_brought_back_or_promoted_by_a_create(
        self, gated: Service, ana: Person
    ) -> None:
        ask_for(gated, 0)
        assert ana.send("DELETE", PATH).status_code == 204
        ask_for(gated, 1)
        for method, path, body, status in (
            ("POST", "/v1/processors", processor_document(), 403),
            ("POST", f"{PATH}/rollback", {"version": 1}, 403),
            ("POST", "/v1/processors?shadow=true", processor_document(), 201),
            ("PUT", PATH, processor_document(), 403),
        ):
            assert ana.send(method, path, json=body).status_code == status, path

    def test_what_stops_something_or_runs_nothing_is_free(
        self, gated: Service, ana: Person
    ) -> None:
        for method, path, body in (
            ("POST", f"{PATH}/pause", None),
            ("PUT", PATH, processor_document(pattern=WIDEST)),
            ("PATCH", PATH, {"owner": "fraud"}),
            ("POST", "/v1/processors?paused=true", processor_document(id="another")),
            ("POST", "/v1/streams/logins/rules/pause", {"ids": ["another"]}),
        ):
            answer = ana.send(method, path, json=body)
            assert answer.is_success, answer.text
        assert [is_paused for _, is_paused in runs(gated)["published"]].count(False) == 1

    def test_the_number_is_the_admins_and_a_stream_document_does_not_touch_it(
        self, gated: Service, ana: Person
    ) -> None:
        path = "/v1/streams/logins/approvals"
        assert ana.send("PUT", path, json={"required": 0}).status_code == 403
        assert gated.client.put(path, json={"required": 0}).status_code == 428
        assert gated.send("PUT", path, {"required": 11}).status_code == 422
        stream = "/v1/streams/logins"
        described = gated.done("PUT", stream, STREAM | {"description": "who signs in"})
        assert described["required_approvals"] == 1
        assert gated.send("PUT", stream, STREAM | {"required_approvals": 0}).status_code == 422
        assert gated.log(action="stream.approvals")[0]["subject"] == "1, before 0"


class TestEveryKind:
    """Each kind of change can be proposed, and does what it says once it is published."""

    @pytest.fixture
    def publish_proposal(self, with_rule: Service, ana: Person, bob: Person) -> Callable[..., Any]:
        ask_for(with_rule, 1)

        def published(**change: Any) -> Any:
            number = ana.propose(**change)["id"]
            assert bob.tries(number, "approve", "publish") == [200, 200]
            return bob.read(number)

        return published

    def test_does_what_it_says(self, publish_proposal: Callable[..., Any], ana: Person) -> None:
        name = {"processor_id": "failed-logins"}
        tried = publish_proposal(kind="canary", document=WIDER_RULE, share_percent=5)
        assert tried["published_version"] == 2
        assert runs(ana.service) == {"published": [(1, False)], "tried": [(2, 500)]}
        publish_proposal(kind="share", share_percent=20, **name)
        assert runs(ana.service)["tried"] == [(2, 2_000)]
        assert publish_proposal(kind="promote", **name)["published_version"] == 2
        assert runs(ana.service) == {"published": [(2, False)], "tried": []}
        assert publish_proposal(kind="rollback", version=1, **name)["published_version"] == 3
        later = processor_document(pattern=WIDEST, effective_from="2031-01-01T00:00:00Z")
        publish_proposal(document=later)
        assert runs(ana.service)["published"] == [(3, False), (4, False)]
        publish_proposal(kind="cancel", version=4, **name)
        assert runs(ana.service)["published"] == [(3, False)]
        ana.send("POST", f"{PATH}/pause")
        publish_proposal(kind="resume", **name)
        assert runs(ana.service)["published"] == [(3, False)]
        publish_proposal(kind="delete", **name)
        assert runs(ana.service)["published"] == []
        publish_proposal(kind="rollback", version=2, **name)
        assert ana.service.client.get(PATH).json()["document"]["pattern"] == WIDER


class TestListsAndBounds:
    def test_lists_are_filtered_and_paged(self, ana: Person, bob: Person) -> None:
        numbers = [ana.propose(document=WIDER_RULE)["id"] for _ in range(3)]
        other = bob.propose(document=processor_document(id="another"))["id"]
        ana.act(numbers[0], "withdraw")

        def listed(query: str) -> list[int]:
            items = ana.send("GET", f"{PROPOSALS}?{query}").json()["items"]
            return [each["id"] for each in items]

        assert listed("") == [other, *reversed(numbers)]
        assert listed("state=open&processor=failed-logins") == [numbers[2], numbers[1]]
        assert listed("mine=false") == listed("author=bob") == [other]
        assert listed("stream=nothing") == []
        pages = ana.service.pages(PROPOSALS, limit=2)
        assert [each["id"] for page in pages for each in page["items"]] == listed("")
        text = ana.service.client.get("/metrics").text
        assert 'percept_open_proposals{stream="logins"} 3.0' in text

    def test_only_so_many_are_open(self, ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("api.proposals.service.MOST_OPEN", 1)
        number = ana.propose(document=WIDER_RULE)["id"]
        ana.refused({"document": WIDER_RULE}, 409)
        ana.act(number, "withdraw")
        ana.propose(document=WIDER_RULE)
        assert limits.MOST_OPEN == 200

    def test_of_closed_ones_the_newest_are_kept(self, service: Service) -> None:
        service.begin_with_stream(proposals_per_stream=2)
        ana = token_of(service, "ana")
        numbers = [ana.propose(document=WIDER_RULE)["id"] for _ in range(5)]
        ana.act(numbers[3], "comments", json={"text": "goes with it"})
        for number in (numbers[4], *numbers[1:4]):
            assert ana.act(number, "withdraw").status_code == 200
        kept = [each["id"] for each in ana.send("GET", PROPOSALS).json()["items"]]
        assert kept == [numbers[4], numbers[3], numbers[0]]
        assert ana.send("GET", f"{PROPOSALS}/{numbers[1]}").status_code == 404


class TestRaces:
    def test_of_many_who_publish_at_once_one_does(self, ana: Person, bob: Person) -> None:
        ask_for(ana.service, 1)
        number = ana.propose(document=WIDER_RULE)["id"]
        bob.act(number, "approve")
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: bob.act(number, "publish"), range(8)))
        assert sorted(each.status_code for each in answers) == [200, *[409] * 7]
        assert ana.service.client.get(PATH).json()["version"] == 2
        assert runs(ana.service)["published"] == [(2, False)]

    def test_what_is_approved_while_it_is_edited_is_never_the_edited_one(
        self, ana: Person, bob: Person
    ) -> None:
        ask_for(ana.service, 1)
        edited = {"document": processor_document(pattern=WIDEST)}
        for _ in range(10):
            proposal = ana.propose(document=WIDER_RULE)
            number, seen = proposal["id"], {"If-Match": f'"{proposal["revision"]}"'}
            with ThreadPoolExecutor(2) as pool:
                edit = pool.submit(ana.send, "PUT", f"{PROPOSALS}/{number}", json=edited)
                approval = pool.submit(bob.act, number, "approve", headers=seen)
                assert edit.result().status_code == 200
                assert approval.result().status_code in {200, 412}
            assert ana.read(number)["approval_count"] == 0
