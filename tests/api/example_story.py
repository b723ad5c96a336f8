"""A story in which each operation of the service is asked for: what its description shows.

    tell ──requests──► a service whose time and tokens are fixed ──► Recording ──► examples.json

It is the example of `examples/ssh_auth`: sign-ins at two hosts, and rules that find attacks.
"""

import hashlib
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from httpx2 import Response

from cep.instants import iso_text
from contract.service.tokens import Role
from tests.api.documents import ANY_STATE
from tests.api.jobs import running
from tests.api.running import Service
from tests.api.test_backtests import report
from tests.api.test_confined_routes import routes
from tests.api.test_explanations import span_report

_RULES: Final = Path(__file__).parents[2] / "examples/ssh_auth"
_BEGIN_MS: Final = 1_796_025_600_000  # 2026-11-30T08:00:00Z
_STEP_MS: Final = 5_000
_LONGEST: Final = 20
_POINTS: Final = 3
_ATTACKER: Final = "203.0.113.9"
_INSTANCE: Final = "6f1c1f0e-5a0b-4a30-9d0f-0d3d3f5f2b11"
_MATCH: Final = "7d1f3b6e9a5c4d20"
_SSH: Final = "/v1/streams/ssh"
_OFFICE: Final = f"{_SSH}/lists/office"
_MATCHES: Final = f"{_SSH}/matches"
_GUESSED: Final = "/v1/processors/password-guessed"
_ENUMERATION: Final = "/v1/processors/user-enumeration"
_ACCOUNT: Final = "/v1/processors/new-account-used"
_NEW: Final = {"If-None-Match": "*"}
_JSON: Final = "application/json"
_TOLD: Final = (_JSON, "text/csv", "application/x-ndjson")

_RULE_REPORT: Final = {
    "rule": "password-guessed",
    "partial_matches_at_most": 31,
    "by_hour": {"2026-11-29T14:00:00.000Z": 2},
    "keys": 2,
    "top_keys": {_ATTACKER: 1, "198.51.100.44": 1},
    "against": {
        "both": 2,
        "gained": 0,
        "lost": 1,
        "first_gained": [],
        "first_lost": [{"key": "192.0.2.10", "end": "2026-11-12T09:03:17.000Z"}],
    },
}
_BACKTEST_REPORT: Final = report(2, **_RULE_REPORT) | {
    "events": 17_687,
    "first_event": "2026-11-01T00:00:12.000Z",
    "last_event": "2026-11-29T23:59:41.000Z",
    "seconds": 0.4,
    "events_per_second": 44_217,
    "peak_state_bytes": 40_960,
}
_ATTEMPT: Final = {
    "key": ["198.51.100.44"],
    "steps": {"failed": [0]},
    "start": iso_text(_BEGIN_MS + 60_000),
    "outcome": "timed_out",
    "ended_at": iso_text(_BEGIN_MS + 360_000),
    "ended_by": None,
    "awaited": ["failed"],
    "forbidden": [],
    "nearest": [],
    "counts": {"failed": 1},
}
_SPAN_REPORT: Final = span_report() | {
    "key": ["198.51.100.44"],
    "since": iso_text(_BEGIN_MS),
    "until": iso_text(_BEGIN_MS + 3_600_000),
    "begun_at": iso_text(_BEGIN_MS - 300_000),
    "ended_at": iso_text(_BEGIN_MS + 3_900_000),
    "read": 412,
    "event_count": 1,
    "fits": {"failed": 1, "accepted": 0},
    "conditions": {name: f"event_type = 'auth_{name}'" for name in ("failed", "accepted")},
    "columns": ["event_type"],
    "attempts": [_ATTEMPT],
    "events": {"0": {"at": iso_text(_BEGIN_MS + 60_000), "columns": {"event_type": "auth_failed"}}},
}

Examples = dict[str, dict[str, Any]]
"""By the name of an operation: what is asked, and what is answered by status; each by media."""


@dataclass
class Recording:
    """Makes requests, and notes the last of each operation that is answered with each status."""

    service: Service
    tokens: dict[str, str] = field(default_factory=dict)
    examples: Examples = field(default_factory=dict)

    def send(self, who: str, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Make a request some seconds after the one before, and return what is answered."""
        self.service.clock.time_ms += _STEP_MS
        state = {} if "If-None-Match" in headers else ANY_STATE
        own = state | {"Authorization": f"Bearer {self.tokens[who]}"} | headers
        text = {"content": body} if isinstance(body, str) else {"json": body}
        answer = self.service.client.request(method, path, headers=own, **text)
        assert answer.is_success, (method, path, answer.text)
        media = _media(answer)
        if media in _TOLD:
            self._note(method, path, body, own.get("Content-Type", _JSON), answer)
        return answer.json() if media == _JSON else None

    def _note(self, method: str, path: str, body: Any, sent: str, answer: Response) -> None:
        nothing: dict[str, Any] = {"request": {}, "answers": {}}
        example = self.examples.setdefault(self._operation(method, path), nothing)
        if body is not None:
            example["request"][sent] = body
        media = _media(answer)
        shown = _shortened(answer.json()) if media == _JSON else answer.text
        example["answers"].setdefault(str(answer.status_code), {})[media] = shown

    def _operation(self, method: str, path: str) -> str:
        place = path.partition("?")[0]
        known = [route for name, route in routes(self.service.app) if name.startswith(f"{method} ")]
        matching = [route for route in known if route.path_regex.fullmatch(place)]
        name: str = min(matching, key=lambda route: route.path.count("{")).name
        return name


def _shortened(value: Any) -> Any:
    """Return an answer with the newest points only of each series."""
    if isinstance(value, dict):
        return {name: _shortened(each) for name, each in value.items()}
    if isinstance(value, list):
        is_series = len(value) > _LONGEST and not any(isinstance(e, dict | list) for e in value)
        return value[-_POINTS:] if is_series else [_shortened(each) for each in value]
    return value


def _media(answer: Response) -> str:
    media: str = answer.headers.get("Content-Type", "").partition(";")[0]
    return media if answer.content else ""


@contextmanager
def fixed_secrets() -> Iterator[None]:
    """Let ids, tokens and secrets be the same each time."""
    numbers = itertools.count()

    def token_bytes(size: int) -> bytes:
        return hashlib.sha256(f"example {next(numbers)}".encode()).digest()[:size]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("secrets.token_bytes", token_bytes)
        patch.setattr("secrets.token_hex", lambda size: token_bytes(size).hex())
        patch.setattr("secrets.token_urlsafe", lambda _size: f"example_{next(numbers)}")
        yield


def _rule(name: str, key: str, **more: Any) -> dict[str, Any]:
    text = (_RULES / f"{name.replace('-', '_')}.yaml").read_text(encoding="utf-8")
    return {"id": name, "stream": "ssh", "key_by": [key], "pattern": yaml.safe_load(text), **more}


def _guessed(**more: Any) -> dict[str, Any]:
    return _rule(
        "password-guessed",
        "src_ip",
        description="Three failed sign-ins, then one that succeeds.",
        severity="high",
        tags=["intrusion"],
        select={"user": "accepted.user", "failures": "COUNT(failed.*)"},
        **more,
    )


def _guessed_outside(failures: int = 3) -> dict[str, Any]:
    """Return the rule for addresses other than those of a list."""
    rule = _guessed()
    failed = rule["pattern"]["steps"][0]
    failed["where"] += " AND src_ip NOT IN LIST('office')"
    failed["times"]["from"] = failures
    return rule


def _account() -> dict[str, Any]:
    """Return the rule with a parameter in place of the address of the host."""
    rule = _rule("new-account-used", "user")
    sign_in = rule["pattern"]["steps"][-1]
    sign_in["where"] = sign_in["where"].replace("'127.0.0.1'", ":local")
    rule["pattern"]["parameters"] = {"local": {"type": "STRING", "value": "127.0.0.1"}}
    return rule


def _event(event_type: str, user: str, time_ms: int = _BEGIN_MS) -> dict[str, Any]:
    at = {"ts": iso_text(time_ms), "host": "web-1", "event_type": event_type, "user": user}
    return at | {"src_ip": _ATTACKER, "auth_method": "password", "service": "sshd"}


def tell(service: Service) -> Examples:
    """Return an example of each operation of a service that has nothing yet."""
    service.clock.time_ms = _BEGIN_MS
    story = Recording(service, {"admin": service.token_of[Role.ADMIN]})
    _people(story)
    _streams(story)
    _lists(story)
    _rules(story)
    job = _job(story)
    _matches(story)
    _what_runs(story, job)
    _snoozes(story)
    _versions(story)
    _rollouts(story)
    _proposals(story)
    _drafts(story)
    _explanations(story)
    _backtests(story)
    _webhooks(story)
    _overview(story)
    _ends(story, job)
    return story.examples


def _people(story: Recording) -> None:
    for name, role in (("ana", "publisher"), ("bob", "publisher"), ("ssh-job", "job")):
        person = {"person": f"{name}@example.com"} if role == "publisher" else {}
        document = {"name": name, "role": role, "streams": ["ssh"]} | person
        story.tokens[name] = story.send("admin", "POST", "/v1/tokens", document)["token"]


def _streams(story: Recording) -> None:
    names = ("host", "event_type", "user", "src_ip", "auth_method", "service")
    stream = {
        "name": "ssh",
        "schema": ", ".join(["ts TIMESTAMP", *(f"{name} STRING" for name in names)]),
        "event_time_column": "ts",
        "allowed_delay_ms": 5_000,
        "description": "Sign-ins at two hosts.",
    }
    story.send("admin", "POST", "/v1/streams", stream)
    path, test = "/v1/streams/ssh-test", stream | {"name": "ssh-test"}
    story.send("admin", "PUT", path, test, **_NEW)
    story.send("admin", "PUT", path, test | {"allowed_delay_ms": 60_000})
    story.send("admin", "PUT", "/v1/streams/ssh/approvals", {"required": 0})
    story.send("ana", "GET", "/v1/streams/ssh")


def _lists(story: Recording) -> None:
    ana = partial(story.send, "ana")
    new = {"name": "office", "type": "STRING", "description": "Addresses of our own offices."}
    ana("POST", "/v1/streams/ssh/lists", new)
    ana("PUT", f"{_OFFICE}/values", ["192.0.2.10", "192.0.2.11"])
    ana("PUT", f"{_OFFICE}/values", "192.0.2.10\n192.0.2.11\n", **{"Content-Type": "text/csv"})
    ana("POST", f"{_OFFICE}/changes?comment=the+new+office", {"add": ["198.51.100.7"]})
    ana("PATCH", _OFFICE, {"description": "Addresses of our offices."})


def _rules(story: Recording) -> None:
    ana, guessed = partial(story.send, "ana"), _guessed()
    ana("POST", "/v1/validate", guessed)
    ana("POST", "/v1/processors?comment=found+twice+in+April", guessed)
    ana("POST", "/v1/processors", _rule("user-enumeration", "src_ip", tags=["scan"]))
    ana("PUT", _ACCOUNT, _account(), **_NEW)
    ana("PUT", f"{_GUESSED}?comment=not+from+our+offices", _guessed_outside())
    ana("PATCH", f"{_ACCOUNT}/parameters", {"local": "127.0.1.1"})
    ana("PATCH", _ENUMERATION, {"owner": "security", "tags": ["scan"]})
    ana("POST", f"{_ENUMERATION}/pause?comment=too+noisy")
    ana("POST", f"{_ENUMERATION}/resume")
    ana("POST", f"{_SSH}/rules/pause", {"ids": ["user-enumeration"]})
    ana("POST", f"{_SSH}/rules/resume", {"ids": ["user-enumeration"]})


def _job(story: Recording) -> str:
    """Let a job run the rules, and return its id."""
    job, at_ms = partial(story.send, "ssh-job"), story.service.clock.time_ms
    properties = {"percept": "0.1.0", "spark": "4.3.0", "host": "driver-1"}
    registration = {"instance_id": _INSTANCE, "properties": properties}
    job_id: str = job("PUT", f"{_SSH}/jobs/ssh-job", registration)["id"]
    steps = [
        {"name": "failed", "reached": 410, "events": 1_892, "timed_out": 398},
        {"name": "accepted", "reached": 2, "events": 2},
    ]
    counters = {"events": 5_120, "matches": 2}
    times = {"active_from_ms": at_ms, "last_match_ms": at_ms}
    guessed = running("password-guessed", 2, **times, counters=counters, steps=steps)
    failed_at = {"key": ["root"], "time_ms": at_ms, "event": _event("user_created", "root")}
    error = "limit exceeded: more than 1000 partial matches of one key"
    broken = {"state": "quarantined", "error": error, "failed_at": failed_at}
    heartbeat = {
        "instance_id": _INSTANCE,
        "sequence": 1,
        "epoch": 6,
        "batch_id": 120,
        "watermark_ms": at_ms,
        "newest_event_ms": at_ms + 5_000,
        "events_per_second": 4_821.5,
        "batch_duration_ms": 1_830,
        "counters": {"events": 17_687, "matches": 2, "late": 3},
        "versions": [guessed | {"partial_matches": 10}, running("new-account-used", 2, **broken)],
    }
    story.send("ana", "GET", f"{_GUESSED}/partial-matches?key={_ATTACKER}")
    asked = job("POST", f"/v1/jobs/{job_id}/heartbeats", heartbeat)["asked_keys"]
    partial_match = {
        "version": 2,
        "steps": [{"name": "failed", "count": 3, "first_ms": at_ms - 9_000, "last_ms": at_ms}],
        "started_ms": at_ms - 9_000,
        "last_ms": at_ms,
        "expires_ms": at_ms + 291_000,
        "awaited": ["failed", "accepted"],
    }
    told = {"batch_id": 121, "watermark_ms": at_ms, "open": 1, "partial_matches": [partial_match]}
    answers = {"instance_id": _INSTANCE, "answers": [{"id": asked[0]["id"]} | told]}
    job("POST", f"/v1/jobs/{job_id}/key-answers", answers)
    return job_id


def _matches(story: Recording) -> None:
    ana, at_ms = partial(story.send, "ana"), story.service.clock.time_ms
    failed = [_event("auth_failed", "admin", at_ms - seconds) for seconds in (9_000, 6_000, 3_000)]
    events = {"failed": failed, "accepted": [_event("auth_accepted", "admin", at_ms)]}
    match = {
        "match_id": _MATCH,
        "processor_id": "password-guessed",
        "version": 2,
        "epoch": 6,
        "key": [_ATTACKER],
        "start_ms": at_ms - 9_000,
        "end_ms": at_ms,
        "output": {"user": "admin", "failures": 3},
        "events": events,
    }
    other = match | {"match_id": "b81d03ce55f14d20", "key": ["198.51.100.44"], "events": {}}
    report = {"job": "ssh-job", "matches": [match, other]}
    story.send("ssh-job", "POST", _MATCHES, report)
    looked_at = {"status": "acknowledged", "assignee": "ana", "note": "Asked the owner of admin."}
    ana("PATCH", f"{_MATCHES}/{_MATCH}/triage", looked_at)
    ana("POST", f"{_MATCHES}/{_MATCH}/notes", {"text": "The password was changed."})
    selected = {"matches": [{"match_id": other["match_id"]}], "status": "false_positive"}
    ana("POST", f"{_SSH}/triage", selected)
    for path in ("", "/summary", "/export", "/export?format=jsonl"):
        ana("GET", f"{_MATCHES}{path}")
    for path in ("", "/triage", "/notes"):
        ana("GET", f"{_MATCHES}/{_MATCH}{path}")
    for path in ("", "/assignees", "/labels"):
        ana("GET", f"{_SSH}/triage{path}")


def _what_runs(story: Recording, job_id: str) -> None:
    ana, of_job = partial(story.send, "ana"), f"/v1/jobs/{job_id}"
    for path in ("jobs", "running", "processors/password-guessed/running"):
        ana("GET", f"{_SSH}/{path}")
    for path in ("", "/versions"):
        ana("GET", f"{of_job}{path}")
    for path in ("history", "processors/password-guessed/history"):
        ana("GET", f"{of_job}/{path}?since={iso_text(_BEGIN_MS)}")
    ana("GET", f"{_SSH}/rules?limit=1&text=password")
    ana("GET", "/v1/overview")
    ana("GET", f"{_GUESSED}/partial-matches?key={_ATTACKER}")
    ana("GET", f"{_GUESSED}/funnel")
    ana("GET", f"{_GUESSED}/diagnosis")
    ana("POST", f"{_ACCOUNT}/acknowledge")


def _snoozes(story: Recording) -> None:
    ana = partial(story.send, "ana")
    number = ana("POST", f"{_GUESSED}/snoozes", {"for": "1 hour", "key": _ATTACKER})["number"]
    ana("GET", f"{_GUESSED}/snoozes")
    ana("GET", f"{_SSH}/snoozes")
    ana("GET", f"{_SSH}/snapshot")
    ana("GET", f"{_SSH}/epochs/1")
    ana("DELETE", f"{_GUESSED}/snoozes/{number}")


def _versions(story: Recording) -> None:
    ana = partial(story.send, "ana")
    ana("GET", f"{_GUESSED}/versions?limit=2")
    ana("GET", f"{_GUESSED}/versions/1")
    ana("GET", f"{_GUESSED}/comparison?old=1&new=2")
    ana("POST", f"{_GUESSED}/rollback", {"version": 1})
    later = _guessed_outside() | {"effective_from": "2026-12-24T00:00:00Z"}
    scheduled = ana("PUT", _GUESSED, later)["published"][-1]["version"]
    ana("POST", f"{_GUESSED}/versions/{scheduled}/cancel")
    changes = [
        {"action": "create", "document": _rule("session-left-open", "host")},
        {"action": "pause", "id": "user-enumeration", "based_on": "*"},
    ]
    ana("POST", f"{_SSH}/change-sets?comment=for+the+night", {"changes": changes})
    ana("PUT", f"{_OFFICE}/values?effective_from=2026-12-24T00:00:00Z", ["192.0.2.10"])
    ana("POST", f"{_OFFICE}/versions/4/cancel")
    ana("POST", f"{_OFFICE}/rollback", {"version": 2})
    newest = ana("GET", f"{_OFFICE}/versions")["items"][0]
    ana("GET", f"{_SSH}/lists/contents/{newest['digest']}")
    ana("GET", f"{_OFFICE}/values")
    ana("GET", f"{_OFFICE}/values", Accept="text/csv")
    ana("GET", _OFFICE)
    ana("GET", f"{_SSH}/lists")


def _rollouts(story: Recording) -> None:
    ana, rollout = partial(story.send, "ana"), f"{_GUESSED}/rollout"
    ana("POST", rollout, _guessed_outside(5))
    ana("DELETE", rollout)
    ana("POST", f"{rollout}?share_percent=5&comment=five+failures", _guessed_outside(5))
    ana("PATCH", rollout, {"share_percent": 10})
    ana("GET", rollout)
    ana("POST", f"{rollout}/promote")
    ana("GET", _GUESSED)


def _proposals(story: Recording) -> None:
    ana, bob = partial(story.send, "ana"), partial(story.send, "bob")
    change = {"kind": "publish", "document": _guessed_outside(4)}
    for verb in ("reject", "withdraw", "publish"):
        number = ana("POST", "/v1/proposals?comment=four+failures", change)["id"]
        proposal = f"/v1/proposals/{number}"
        if verb == "reject":
            bob("POST", f"{proposal}/reject", {"reason": "Too noisy on Mondays."})
        elif verb == "withdraw":
            ana("POST", f"{proposal}/withdraw")
    ana("PUT", _GUESSED, _guessed_outside(6))
    story.send("admin", "PUT", f"{_SSH}/approvals", {"required": 1, "lists": False})
    bob("POST", f"{proposal}/comments", {"text": "Why not three, as in April?"})
    ana("GET", f"{proposal}/comments")
    ana("POST", f"{proposal}/renew")
    ana("PUT", proposal, {"kind": "publish", "document": _guessed_outside(3)})
    bob("POST", f"{proposal}/approve")
    bob("GET", proposal)
    ana("POST", f"{proposal}/publish")
    ana("GET", "/v1/proposals?limit=2")
    story.send("admin", "PUT", f"{_SSH}/approvals", {"required": 0})


def _drafts(story: Recording) -> None:
    ana = partial(story.send, "ana")
    text = yaml.safe_dump(_guessed(), sort_keys=False)
    failed = [_event("auth_failed", "admin", _BEGIN_MS + 1_000 * each) for each in range(3)]
    events = [*failed, _event("auth_accepted", "admin", _BEGIN_MS + 3_000)]
    ana("POST", "/v1/drafts/check", {"text": text, "format": "yaml"})
    ana("POST", "/v1/drafts/trial", {"text": text, "format": "yaml", "events": events})
    ana("POST", "/v1/drafts/samples", {"text": text, "format": "yaml"})
    ana("POST", "/v1/drafts/text", {"document": _guessed(), "format": "yaml"})
    clause = (_RULES / "password_guessed.sql").read_text(encoding="utf-8")
    ana("POST", "/v1/drafts/drawing", {"match_recognize": clause})


def _turn(number: int, verb: str) -> tuple[str, dict[str, Any]]:
    return f"/v1/backtests/{number}/{verb}", {"worker": "archive-1", "attempt": 1}


def _backtests(story: Recording) -> None:
    ana, worker = partial(story.send, "ana"), partial(story.send, "ssh-job")
    claim = {"worker": "archive-1", "streams": ["ssh"]}
    asked = {"processor_id": "password-guessed", "against": 1}
    asked |= {"since": "2026-11-01T00:00:00Z", "until": "2026-11-30T00:00:00Z"}
    number = ana("POST", "/v1/backtests", asked)["number"]
    worker("POST", "/v1/backtests/workers/claim", claim)
    path, turn = _turn(number, "release")
    worker("POST", path, turn)
    worker("POST", "/v1/backtests/workers/claim", claim)
    path, turn = _turn(number, "progress")
    worker("POST", path, turn | {"events_done": 8_000, "events_total": 17_687})
    path, turn = _turn(number, "outcome")
    worker("POST", path, turn | {"report": _BACKTEST_REPORT})
    ana("GET", f"/v1/backtests/{number}")
    other = ana("POST", "/v1/backtests", asked)["number"]
    ana("POST", f"/v1/backtests/{other}/cancel")
    ana("GET", "/v1/backtests")
    ana("GET", "/v1/backtests/workers?stream=ssh")


def _explanations(story: Recording) -> None:
    ana, worker = partial(story.send, "ana"), partial(story.send, "ssh-job")
    question = {"key": "198.51.100.44", "since": iso_text(_BEGIN_MS)}
    question["until"] = iso_text(_BEGIN_MS + 3_600_000)
    path = f"{_GUESSED}/explanations"
    claim = {"worker": "archive-1", "streams": ["ssh"]}
    worker("POST", "/v1/backtests/workers/claim", claim)  # who asks must know that there is one
    number = ana("POST", path, question)["number"]
    worker("POST", "/v1/backtests/workers/claim", claim)
    outcome, turn = _turn(number, "outcome")
    worker("POST", outcome, turn | {"report": _SPAN_REPORT})
    ana("GET", f"{path}/{number}")
    other = ana("POST", path, question)["number"]
    ana("POST", f"{path}/{other}/cancel")


def _webhooks(story: Recording) -> None:
    admin, webhooks = partial(story.send, "admin"), "/v1/webhooks"
    hook = {"name": "on call", "url": "https://alerts.example.com/percept", "stream": "ssh"}
    document = hook | {"events": ["rule.quarantined", "job.stale"]}
    webhook = f"{webhooks}/{admin('POST', webhooks, document)['id']}"
    admin("POST", f"{webhook}/test")
    admin("POST", f"{webhook}/secret")
    admin("GET", f"{webhook}/deliveries")
    admin("PATCH", webhook, {"enabled": False})
    admin("GET", webhook)
    admin("GET", webhooks)
    admin("DELETE", webhook)


def _overview(story: Recording) -> None:
    ana = partial(story.send, "ana")
    for path in ("rules/labels", "export?limit=2"):
        ana("GET", f"{_SSH}/{path}")
    for path in ("streams", "processors?limit=2", "changes?limit=2"):
        ana("GET", f"/v1/{path}")
    for path in ("/healthz", "/readyz", "/v1/tokens"):
        story.send("admin", "GET", path)


def _ends(story: Recording, job_id: str) -> None:
    ana = partial(story.send, "ana")
    stop = {"instance_id": _INSTANCE, "reason": "stopped by its operator"}
    story.send("ssh-job", "POST", f"/v1/jobs/{job_id}/stop", stop)
    ana("DELETE", _ENUMERATION)
