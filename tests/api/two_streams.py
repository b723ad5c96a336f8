"""A stream with one thing of every kind, all of whose names begin with the name of the stream."""

from collections.abc import Callable
from functools import partial
from typing import Any

from contract.service.tokens import Role
from tests.api.documents import STREAM, processor_document
from tests.api.jobs import running
from tests.api.running import Service
from tests.api.test_parameters import SELECT, WITH_PARAMETERS
from tests.api.triage import found

Names = dict[str, Any]


def confined_header(
    service: Service, *streams: str, role: Role = Role.ADMIN, name: str = "confined"
) -> dict[str, str]:
    """Return the header of a new token that is confined to some streams."""
    document = {"name": name, "role": role, "streams": list(streams)}
    return {"Authorization": f"Bearer {service.done('POST', '/v1/tokens', document)['token']}"}


def names_in(stream: str) -> Names:
    """Return names and bodies of things of a stream, which need not be there."""
    rule, no_id = f"{stream}-rule", "0" * 16
    names = {
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
    }
    names |= dict.fromkeys(("job_id", "webhook", "token", "asked"), no_id)
    numbered = ("proposal", "backtest", "released", "explanation", "snooze")
    return names | dict.fromkeys(numbered, 999)


def rule_document(stream: str, rule: str, owner: str = "") -> dict[str, Any]:
    """Return the document of a rule of a stream."""
    document = processor_document(id=rule, stream=stream, pattern=WITH_PARAMETERS, select=SELECT)
    return document | ({"owner": owner, "tags": [f"{stream}-tag"]} if owner else {})


def match_of(names: Names) -> dict[str, Any]:
    """Return a match as a job posts it."""
    own = {"match_id": names["match"], "processor_id": names["rule"]}
    return found(1, **own, key=[f"{names['stream']}-key"], output={}, events={})


def filled_stream(service: Service, stream: str) -> Names:
    """Make a stream with a rule, list, job, match, proposal, backtest, webhook and snooze."""
    names, post = names_in(stream), partial(service.done, "POST")
    post("/v1/streams", names["document"])
    of_stream, of_rule = f"/v1/streams/{stream}", f"/v1/processors/{names['rule']}"
    post(f"{of_stream}/lists", {"name": names["list"]})
    service.done("PUT", f"{of_stream}/lists/{names['list']}/values", [f"{stream}-value"])
    post("/v1/processors", names["rule_document"])
    later = names["rule_document"] | {"effective_from": "2027-06-01T00:00:00Z"}
    service.done("PUT", of_rule, later)
    post(f"{of_rule}/rollout", names["rule_document"] | {"severity": "high"})
    paused = rule_document(stream, f"{stream}-paused", f"{stream}-owner")
    post("/v1/processors?paused=true", paused)
    names["snooze"] = post(f"{of_rule}/snoozes", {"for": "1 hour"})["number"]
    change = {"kind": "resume", "processor_id": f"{stream}-paused", "comment": f"{stream} again"}
    names["proposal"] = post("/v1/proposals", change)["id"]
    post(f"/v1/proposals/{names['proposal']}/comments", {"text": f"{stream} wants it"})
    _backtests(post, names)
    (given,) = service.snapshot(stream)["lists"]
    names["digest"] = given["versions"][0]["digest"]
    _reports(service, names)
    service.get(f"{of_rule}/partial-matches?key={stream}-key", Role.ADMIN)
    hook = {"name": f"{stream} hook", "url": "https://example.com/", "stream": stream}
    names["webhook"] = post("/v1/webhooks", hook | {"events": ["job.stale"]})["id"]
    post(f"/v1/webhooks/{names['webhook']}/test")
    return names


def _backtests(post: Callable[..., Any], names: Names) -> None:
    for name in ("backtest", "released", "waiting"):
        names[name] = post("/v1/backtests", {"processor_id": names["rule"]})["number"]
        if name != "waiting":
            claim = {"worker": f"{names['stream']}-{name}", "streams": [names["stream"]]}
            post("/v1/backtests/workers/claim", claim)
    question = {"key": "x", "since": "2026-11-02T08:00:00Z", "until": "2026-11-02T09:00:00Z"}
    path = f"/v1/processors/{names['rule']}/explanations"
    names["explanation"] = post(path, question)["number"]


def _reports(service: Service, names: Names) -> None:
    of_stream = f"/v1/streams/{names['stream']}"
    registration = {"instance_id": names["instance"], "properties": {"host": names["job"]}}
    registered = service.done("PUT", f"{of_stream}/jobs/{names['job']}", registration)
    names["job_id"] = registered["id"]
    broken = running(names["rule"], state="quarantined", error="boom")
    beat = {"instance_id": names["instance"], "sequence": 1, "versions": [broken]}
    service.done("POST", f"/v1/jobs/{names['job_id']}/heartbeats", beat)
    report = {"job": names["job"], "matches": [match_of(names)]}
    service.done("POST", f"{of_stream}/matches", report)
    triage = {"status": "acknowledged", "assignee": f"{names['stream']}-ana", "note": "looked at"}
    service.done("PATCH", f"{of_stream}/matches/{names['match']}/triage", triage)
