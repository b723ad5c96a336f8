"""A stream with one thing of every kind, all of whose names begin with the name of the stream."""

from typing import Any

from httpx2 import Response

from api.tokens import service as tokens
from api.transactions import Writing
from contract.service.tokens import Role, TokenDocument
from tests.api.documents import ANY_STATE, STREAM, processor_document
from tests.api.running import START_MS, ServiceUnderTest
from tests.api.test_parameters import SELECT, WITH_PARAMETERS

Names = dict[str, Any]


def confined_header(
    service: ServiceUnderTest, *streams: str, role: Role = Role.ADMIN, name: str = "confined"
) -> dict[str, str]:
    """Return the header of a new token that is confined to some streams."""
    with service.database.writing() as session:
        writing = Writing(session, "test", service.clock())
        document = TokenDocument(name=name, role=role, streams=list(streams))
        return {"Authorization": f"Bearer {tokens.create(writing, document).token}"}


def names_in(stream: str) -> Names:
    """Return names and bodies of things of a stream, which need not be there."""
    rule = f"{stream}-rule"
    return {
        "stream": stream,
        "document": STREAM | {"name": stream, "description": f"{stream} of customers"},
        "rule": rule,
        "rule_document": rule_document(stream, rule, f"{stream}-owner"),
        "list": f"{stream}_list",
        "job": f"{stream}-job",
        "instance": f"{stream}-instance",
        "match": f"match-{stream}-000001",
        "version": 1,
        "epoch": 1,
        "digest": "0" * 64,
        "job_id": "0" * 16,
        "webhook": "0" * 16,
        "token": "0" * 16,
        "asked": "0" * 16,
        "proposal": 999,
        "backtest": 999,
        "released": 999,
        "explanation": 999,
        "snooze": 999,
    }


def rule_document(stream: str, rule: str, owner: str = "") -> dict[str, Any]:
    """Return the document of a rule of a stream."""
    document = processor_document(id=rule, stream=stream, pattern=WITH_PARAMETERS, select=SELECT)
    return document | ({"owner": owner, "tags": [f"{stream}-tag"]} if owner else {})


def match_of(names: Names) -> dict[str, Any]:
    """Return a match as a job posts it."""
    return {
        "match_id": names["match"],
        "processor_id": names["rule"],
        "version": 1,
        "epoch": 2,
        "key": [f"{names['stream']}-key"],
        "start_ms": START_MS,
        "end_ms": START_MS + 1,
        "output": {},
        "events": {},
    }


def filled_stream(service: ServiceUnderTest, stream: str) -> Names:
    """Make a stream with a rule, list, job, match, proposal, backtest, webhook and snooze."""
    names = names_in(stream)
    owner = f"{stream}-owner"

    def done(method: str, path: str, body: Any = None) -> Response:
        answer = service.client.request(method, path, json=body, headers=ANY_STATE)
        assert answer.is_success, (path, answer.text)
        return answer

    done("POST", "/v1/streams", names["document"])
    of_stream, of_rule = f"/v1/streams/{stream}", f"/v1/processors/{names['rule']}"
    done("POST", f"{of_stream}/lists", {"name": names["list"]})
    done("PUT", f"{of_stream}/lists/{names['list']}/values", [f"{stream}-value"])
    done("POST", "/v1/processors", names["rule_document"])
    later = names["rule_document"] | {"effective_from": "2027-06-01T00:00:00Z"}
    done("PUT", of_rule, later)
    done("POST", f"{of_rule}/rollout", names["rule_document"] | {"severity": "high"})
    done("POST", "/v1/processors?paused=true", rule_document(stream, f"{stream}-paused", owner))
    names["snooze"] = done("POST", f"{of_rule}/snoozes", {"for": "1 hour"}).json()["number"]
    change = {"kind": "resume", "processor_id": f"{stream}-paused", "comment": f"{stream} again"}
    names["proposal"] = done("POST", "/v1/proposals", change).json()["id"]
    path = f"/v1/proposals/{names['proposal']}/comments"
    done("POST", path, {"text": f"{stream} wants it"})
    _backtests(done, names)
    names["digest"] = done("GET", f"{of_stream}/snapshot").json()["lists"][0]["versions"][0][
        "digest"
    ]
    _reports(done, names)
    done("GET", f"{of_rule}/partial-matches?key={stream}-key")
    hook = {"name": f"{stream} hook", "url": "https://example.com/", "stream": stream}
    names["webhook"] = done("POST", "/v1/webhooks", hook | {"events": ["job.stale"]}).json()["id"]
    done("POST", f"/v1/webhooks/{names['webhook']}/test")
    return names


def _backtests(done: Any, names: Names) -> None:
    asked = {"processor_id": names["rule"]}
    for name in ("backtest", "released", "waiting"):
        names[name] = done("POST", "/v1/backtests", asked).json()["number"]
        if name != "waiting":
            claim = {"worker": f"{names['stream']}-{name}", "streams": [names["stream"]]}
            done("POST", "/v1/backtests/workers/claim", claim)
    question = {"key": "x", "since": "2026-11-02T08:00:00Z", "until": "2026-11-02T09:00:00Z"}
    asked_why = done("POST", f"/v1/processors/{names['rule']}/explanations", question)
    names["explanation"] = asked_why.json()["number"]


def _reports(done: Any, names: Names) -> None:
    of_stream = f"/v1/streams/{names['stream']}"
    registration = {"instance_id": names["instance"], "properties": {"host": names["job"]}}
    path = f"{of_stream}/jobs/{names['job']}"
    names["job_id"] = done("PUT", path, registration).json()["id"]
    running = {"processor_id": names["rule"], "version": 1, "state": "quarantined", "error": "boom"}
    beat = {"instance_id": names["instance"], "sequence": 1, "versions": [running]}
    done("POST", f"/v1/jobs/{names['job_id']}/heartbeats", beat)
    report = {"job": names["job"], "matches": [match_of(names)]}
    done("POST", f"{of_stream}/matches", report)
    triage = {"status": "acknowledged", "assignee": f"{names['stream']}-ana", "note": "looked at"}
    done("PATCH", f"{of_stream}/matches/{names['match']}/triage", triage)
