"""Every route is tried with a token of another stream, or stands in a list with the reason.

A new route must be added to one of the two, or `test_every_route_is_tried_or_stands_apart` fails.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import FastAPI
from httpx2 import Response
from starlette.routing import Route

from api.routing import ConfinedRoute
from api.store.database import Database
from api.tables import Record
from tests.api.running import Service
from tests.api.two_streams import (
    Names,
    confined_header,
    filled_stream,
    match_of,
    names_in,
    rule_document,
)

OWN, OTHER, MISSING = "logins", "payments", "nowhere1"
Body = Callable[[Names], Any]
Kind = Literal["single", "listing", "unknown"]


@dataclass(frozen=True)
class Try:
    """How a route is tried.

    `single`: what is of another stream is not there (404). `listing`: it is left out.
    `unknown`: what is not there is answered in another way than by 404, and so is that.
    """

    body: Body = lambda _names: None
    query: str = ""
    kind: Kind = "single"
    control: str = ""  # the method of the control, where it is another one


def _new_rule(names: Names) -> Any:
    return rule_document(names["stream"], f"{names['stream']}-new")


def _text(names: Names) -> Any:
    return {"text": json.dumps(_new_rule(names))}


def _turn(name: str, **more: Any) -> Body:
    return lambda names: {"worker": f"{names['stream']}-{name}", "attempt": 1} | more


QUESTION = {"key": "x", "since": "2026-11-02T08:00:00Z", "until": "2026-11-02T09:00:00Z"}
LISTING, ONE = Try(kind="listing"), Try()
TRIED: dict[str, Try] = {
    # --- streams and what jobs read
    "POST /v1/streams": Try(lambda names: names["document"]),
    "GET /v1/streams": LISTING,
    "GET /v1/streams/{name}": ONE,
    "PUT /v1/streams/{name}": Try(lambda names: names["document"]),
    "PUT /v1/streams/{name}/approvals": Try(lambda _: {"required": 0}),
    "GET /v1/streams/{name}/snapshot": ONE,
    "GET /v1/streams/{name}/epochs/{epoch}": ONE,
    # --- processors
    "POST /v1/validate": Try(_new_rule),
    "POST /v1/processors": Try(_new_rule),
    "GET /v1/processors": LISTING,
    "GET /v1/processors/{processor_id}": ONE,
    "GET /v1/processors/{processor_id}/versions": ONE,
    "GET /v1/processors/{processor_id}/versions/{version}": ONE,
    "GET /v1/processors/{processor_id}/comparison": Try(query="?old=1&new=1"),
    "PUT /v1/processors/{processor_id}": Try(lambda names: names["rule_document"]),
    "PATCH /v1/processors/{processor_id}": Try(lambda _: {"description": "mine"}),
    "POST /v1/processors/{processor_id}/acknowledge": ONE,
    "POST /v1/processors/{processor_id}/pause": ONE,
    "POST /v1/processors/{processor_id}/resume": ONE,
    "POST /v1/processors/{processor_id}/rollback": Try(lambda _: {"version": 1}),
    "PATCH /v1/processors/{processor_id}/parameters": Try(lambda _: {"least": 7}),
    "GET /v1/processors/{processor_id}/rollout": ONE,
    "PATCH /v1/processors/{processor_id}/rollout": Try(lambda _: {"share_percent": 10}),
    "POST /v1/processors/{processor_id}/rollout": Try(lambda names: names["rule_document"]),
    "POST /v1/processors/{processor_id}/rollout/promote": ONE,
    "DELETE /v1/processors/{processor_id}/rollout": ONE,
    "POST /v1/processors/{processor_id}/versions/{version}/cancel": ONE,
    "GET /v1/processors/{processor_id}/funnel": ONE,
    "GET /v1/processors/{processor_id}/diagnosis": ONE,
    "GET /v1/processors/{processor_id}/partial-matches": Try(query="?key=x"),
    "POST /v1/processors/{processor_id}/explanations": Try(lambda _: QUESTION),
    "GET /v1/processors/{processor_id}/explanations/{number}": ONE,
    "POST /v1/processors/{processor_id}/explanations/{number}/cancel": ONE,
    "GET /v1/processors/{processor_id}/snoozes": ONE,
    "GET /v1/streams/{stream}/snoozes": ONE,
    "POST /v1/processors/{processor_id}/snoozes": Try(lambda _: {"for": "1 hour"}),
    # --- lists
    "POST /v1/streams/{stream}/lists": Try(lambda _: {"name": "new"}),
    "GET /v1/streams/{stream}/lists": ONE,
    "GET /v1/streams/{stream}/lists/{name}": ONE,
    "PATCH /v1/streams/{stream}/lists/{name}": Try(lambda _: {"description": "mine"}),
    "GET /v1/streams/{stream}/lists/{name}/values": ONE,
    "GET /v1/streams/{stream}/lists/{name}/versions": ONE,
    "GET /v1/streams/{stream}/lists/contents/{digest}": ONE,
    "PUT /v1/streams/{stream}/lists/{name}/values": Try(lambda _: ["mine"]),
    "POST /v1/streams/{stream}/lists/{name}/changes": Try(lambda _: {"add": ["more"]}),
    "POST /v1/streams/{stream}/lists/{name}/rollback": Try(lambda _: {"version": 1}),
    "POST /v1/streams/{stream}/lists/{name}/versions/{version}/cancel": ONE,
    "DELETE /v1/streams/{stream}/lists/{name}": ONE,
    # --- proposals
    "POST /v1/proposals": Try(lambda names: {"kind": "delete", "processor_id": names["rule"]}),
    "GET /v1/proposals": LISTING,
    "GET /v1/proposals/{proposal_id}": ONE,
    "GET /v1/proposals/{proposal_id}/comments": ONE,
    "POST /v1/proposals/{proposal_id}/comments": Try(lambda _: {"text": "mine"}),
    "PUT /v1/proposals/{proposal_id}": Try(
        lambda names: {"kind": "resume", "processor_id": f"{names['stream']}-paused"}
    ),
    "POST /v1/proposals/{proposal_id}/renew": ONE,
    "POST /v1/proposals/{proposal_id}/approve": ONE,
    "POST /v1/proposals/{proposal_id}/reject": Try(lambda _: {"reason": "no"}),
    "POST /v1/proposals/{proposal_id}/publish": ONE,
    "POST /v1/proposals/{proposal_id}/withdraw": ONE,
    # --- drafts
    "POST /v1/drafts/check": Try(_text, kind="unknown"),
    "POST /v1/drafts/trial": Try(lambda names: _text(names) | {"events": []}, kind="unknown"),
    "POST /v1/drafts/samples": Try(_text, kind="unknown"),
    # --- backtests
    "POST /v1/backtests": Try(lambda names: {"processor_id": names["rule"]}),
    "GET /v1/backtests": LISTING,
    "GET /v1/backtests/workers": Try(query="?stream={stream}"),
    "GET /v1/backtests/{number}": ONE,
    "POST /v1/backtests/workers/claim": Try(
        lambda names: {"worker": "one", "streams": [names["stream"]]}, kind="unknown"
    ),
    "POST /v1/backtests/{number}/progress": Try(
        _turn("backtest", events_done=1, events_total=2), kind="unknown"
    ),
    "POST /v1/backtests/{number}/release": Try(_turn("released"), kind="unknown"),
    "POST /v1/backtests/{number}/outcome": Try(_turn("backtest", error="boom"), kind="unknown"),
    "POST /v1/backtests/{number}/cancel": ONE,
    # --- jobs
    "PUT /v1/streams/{stream}/jobs/{name}": Try(
        lambda names: {"instance_id": names["instance"], "properties": {}}
    ),
    "GET /v1/streams/{stream}/jobs": ONE,
    "GET /v1/jobs/{job_id}": ONE,
    "GET /v1/jobs/{job_id}/versions": ONE,
    "GET /v1/jobs/{job_id}/history": ONE,
    "GET /v1/jobs/{job_id}/processors/{processor_id}/history": ONE,
    "GET /v1/streams/{stream}/running": ONE,
    "GET /v1/streams/{stream}/processors/{processor_id}/running": ONE,
    "POST /v1/jobs/{job_id}/heartbeats": Try(
        lambda names: {"instance_id": names["instance"], "sequence": 2}
    ),
    "POST /v1/jobs/{job_id}/key-answers": Try(
        lambda names: {"instance_id": names["instance"], "answers": []}
    ),
    "POST /v1/jobs/{job_id}/stop": Try(lambda names: {"instance_id": names["instance"]}),
    "DELETE /v1/jobs/{job_id}": ONE,
    # --- rules, matches, triage
    "POST /v1/streams/{stream}/change-sets": Try(
        lambda names: {"changes": [{"action": "delete", "rule": f"{names['stream']}-paused"}]},
        query="?dry_run=true",
    ),
    "GET /v1/streams/{stream}/export": ONE,
    "GET /v1/streams/{stream}/rules": ONE,
    "GET /v1/streams/{stream}/rules/labels": ONE,
    "POST /v1/streams/{stream}/rules/pause": Try(lambda names: {"ids": [names["rule"]]}),
    "POST /v1/streams/{stream}/rules/resume": Try(lambda names: {"ids": [names["rule"]]}),
    "POST /v1/streams/{stream}/matches": Try(
        lambda names: {"job": "main", "matches": [match_of(names)]}
    ),
    "GET /v1/streams/{stream}/matches": ONE,
    "GET /v1/streams/{stream}/matches/summary": ONE,
    "GET /v1/streams/{stream}/matches/export": ONE,
    "GET /v1/streams/{stream}/matches/stream": Try(control="HEAD"),
    "GET /v1/streams/{stream}/matches/{match_id}": ONE,
    "POST /v1/streams/{stream}/triage": Try(
        lambda names: {"matches": [{"match_id": names["match"]}], "status": "acknowledged"}
    ),
    "GET /v1/streams/{stream}/matches/{match_id}/triage": ONE,
    "PATCH /v1/streams/{stream}/matches/{match_id}/triage": Try(lambda _: {"note": "mine"}),
    "GET /v1/streams/{stream}/matches/{match_id}/notes": ONE,
    "POST /v1/streams/{stream}/matches/{match_id}/notes": Try(lambda _: {"text": "mine"}),
    "GET /v1/streams/{stream}/triage": ONE,
    "GET /v1/streams/{stream}/triage/assignees": ONE,
    "GET /v1/streams/{stream}/triage/labels": ONE,
    # --- what tells of all streams
    "GET /v1/changes": LISTING,
    "GET /v1/overview": LISTING,
    # --- webhooks
    "POST /v1/webhooks": Try(
        lambda names: {
            "name": f"{names['stream']} new",
            "url": "https://example.com/",
            "events": ["job.stale"],
            "stream": names["stream"],
        }
    ),
    "GET /v1/webhooks": LISTING,
    "GET /v1/webhooks/{webhook_id}": ONE,
    "PATCH /v1/webhooks/{webhook_id}": Try(lambda _: {"enabled": False}),
    "POST /v1/webhooks/{webhook_id}/secret": ONE,
    "POST /v1/webhooks/{webhook_id}/test": ONE,
    "GET /v1/webhooks/{webhook_id}/deliveries": ONE,
    "DELETE /v1/webhooks/{webhook_id}": ONE,
    # --- what takes away what the others are about
    "DELETE /v1/processors/{processor_id}/snoozes/{number}": ONE,
    "DELETE /v1/processors/{processor_id}": ONE,
}
"""How each route that is about things of streams is tried; controls are made in this order."""

REFUSED: dict[str, str] = {
    "POST /v1/tokens": "a token could be made that sees more than the one that makes it",
    "GET /v1/tokens": "tokens belong to no stream",
    "DELETE /v1/tokens/{token_id}": "tokens belong to no stream",
    "GET /metrics": "the metrics of the process tell of all streams",
}
"""Routes that a confined token may not use (403), and why."""

_PAGE = "a page is the same for everybody; what it shows comes from /v1"
_PAGES = (
    *("/", "/sign-in", "/streams/{stream}", "/streams/{stream}/rules"),
    *("/streams/{stream}/new-rule", "/streams/{stream}/rules/{processor_id}"),
    *("/streams/{stream}/rules/{processor_id}/edit", "/streams/{stream}/matches"),
    *("/streams/{stream}/matches/{match_id}", "/streams/{stream}/lists"),
    *("/streams/{stream}/lists/{name}", "/streams/{stream}/backtests/{number}"),
    *("/streams/{stream}/jobs/{name}", "/proposals", "/proposals/{number}"),
    *("/activity", "/tokens", "/webhooks"),
)
STREAMLESS: dict[str, str] = {
    "POST /v1/drafts/text": "it writes what it is given, and reads nothing",
    "POST /v1/drafts/drawing": "it draws what it is given, and reads nothing",
    "GET /healthz": "it says that the process runs",
    "GET /readyz": "it says whether the store answers",
    "GET /openapi.json": "it describes the API, without a token",
    "POST /session": "it tells of the token itself",
    "GET /session": "it tells of the token itself",
    "DELETE /session": "it takes the cookie back",
    "GET /favicon.ico": "it is a file",
    "GET /assets/{digest}/{path:path}": "it is a file",
    **{f"GET {path}": _PAGE for path in _PAGES},
}
"""Routes that read and write nothing of any stream, and why."""

_SHORT = 5
_PLACES = {
    r"/v1/streams/\{name\}": "/v1/streams/{stream}",
    r"/lists/\{name\}": "/lists/{list}",
    r"/jobs/\{name\}": "/jobs/{job}",
    r"/snoozes/\{number\}": "/snoozes/{snooze}",
    r"/backtests/\{number\}/release": "/backtests/{released}/release",
    r"/backtests/\{number\}": "/backtests/{backtest}",
    r"/explanations/\{number\}": "/explanations/{explanation}",
    r"\{processor_id\}": "{rule}",
    r"\{match_id\}": "{match}",
    r"\{webhook_id\}": "{webhook}",
    r"\{proposal_id\}": "{proposal}",
    r"\{token_id\}": "{token}",
}


def routes(app: FastAPI) -> Iterator[tuple[str, Any]]:
    """Yield every route of a service with its method and path; fails at what it does not know."""
    for entry in app.router.routes:
        inner = [entry] if isinstance(entry, Route) else entry.original_router.routes  # type: ignore[attr-defined]
        for route in inner:
            assert isinstance(route, Route), route
            for method in (route.methods or set()) - {"HEAD"}:
                yield f"{method} {route.path}", route


def ask(
    service: Service,
    route: str,
    names: Names,
    headers: dict[str, str] | None = None,
    *,
    is_control: bool = False,
) -> Response:
    """Make the request of a route about things of these names; without headers as the admin."""
    how = TRIED.get(route, ONE)
    method, path = route.split(" ")
    for place, name in _PLACES.items():
        path = re.sub(place, name, path)
    if is_control:
        method = how.control or method
    where = (path + how.query).format(**names)
    return service.send(method, where, how.body(names), **headers or {})


def all_rows(database: Database) -> dict[str, list[Any]]:
    """Return everything in a store but tokens."""
    with database.reading() as session:
        return {
            table.name: sorted(map(repr, session.execute(table.select())))
            for table in Record.metadata.sorted_tables
            if table.name != "tokens"
        }


def told(answer: Response, names: Names) -> tuple[int, str]:
    """Return what an answer says, whatever the names in it are."""
    text = re.sub(r'"(request_id|instance)":"[^"]*"', "", answer.text)
    for name in sorted(map(str, names.values()), key=len, reverse=True):
        text = text.replace(f"'{name}'", "…")
        text = text.replace(name, "…") if len(name) > _SHORT else text
    return answer.status_code, text


def test_every_route_is_tried_or_stands_apart_from_confined_tokens(service: Service) -> None:
    known = [*TRIED, *REFUSED, *STREAMLESS]
    assert sorted(known) == sorted(route for route, _ in routes(service.app))
    assert all((*REFUSED.values(), *STREAMLESS.values()))
    for name, route in routes(service.app):
        if name.startswith(("GET /v1", "POST /v1", "PUT /v1", "PATCH /v1", "DELETE /v1")):
            is_open = name in TRIED or name in STREAMLESS
            assert isinstance(route, ConfinedRoute) == is_open, name


def test_a_token_of_one_stream_gets_and_changes_nothing_of_another(service: Service) -> None:
    names = {name: filled_stream(service, name) for name in (OWN, OTHER)}
    missing = names_in(MISSING)
    headers = confined_header(service, OWN, name="admin")  # who has made all of it
    before = all_rows(service.database)
    answers = {}
    for route, how in TRIED.items():
        answers[route] = answer = ask(service, route, names[OTHER], headers)
        if how.kind == "listing":
            assert answer.status_code == 200, (route, answer.text)
            assert OTHER not in answer.text, route
            assert OWN in answer.text, route
            continue
        if how.kind == "single":
            assert answer.status_code == 404, (route, answer.text)
        # Not even that it exists is told.
        unknown = ask(service, route, missing, headers)
        assert told(answer, names[OTHER]) == told(unknown, missing), route
    assert all_rows(service.database) == before

    for route, how in TRIED.items():
        control = ask(service, route, names[OTHER], is_control=True)
        own = ask(service, route, names[OWN], headers, is_control=True)
        # Of its own stream it is answered as one of all streams is of the other.
        assert own.status_code == control.status_code, (route, own.text)
        if how.kind == "listing":
            assert OTHER in control.text, route
        else:  # or it would be no wonder that the confined token was refused
            assert told(control, names[OTHER]) != told(answers[route], names[OTHER]), route


def test_what_is_of_no_stream_takes_a_token_of_all(service: Service) -> None:
    names = names_in(OWN)
    headers = confined_header(service, OWN)
    for route in REFUSED:
        method, path = route.split(" ")
        body = {"name": "wider", "role": "viewer"} if method == "POST" else None
        path = path.replace("{token_id}", names["token"])
        answer = service.client.request(method, path, json=body, headers=headers)
        assert answer.status_code == 403, route
        assert OWN in answer.json()["detail"], route
