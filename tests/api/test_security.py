"""Tokens, roles and rate limits."""

import re
import unicodedata

import pytest
from fastapi.routing import APIRoute

from api.access.authentication import Requires, token_sha256
from api.access.tables import Token
from api.app import ROUTERS
from api.routing import SliceRoute
from api.web.rate_limits import RateLimits
from contract.service.tokens import Role
from tests.api.running import START_MS, Service
from tests.docs.fences import fences

OPEN = {"/healthz", "/readyz", "/metrics"}  # metrics ask for a token themselves
ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]


def required(route: APIRoute) -> Requires | None:
    """Return the role check of a route, if it has one."""
    calls = [dependency.call for dependency in route.dependant.dependencies]
    return next((call for call in calls if isinstance(call, Requires)), None)


def allowed(route: APIRoute) -> set[Role]:
    check = required(route)
    assert check is not None
    ranks = [Role.VIEWER, Role.AUTHOR, Role.PUBLISHER, Role.ADMIN]
    return set(ranks[ranks.index(check.least) :]) | ({Role.JOB} if check.jobs else set())


def test_every_route_names_its_least_role_and_checks_its_body() -> None:
    assert all(isinstance(route, SliceRoute) for route in ROUTES)
    assert {route.path for route in ROUTES if required(route) is None} == OPEN


def test_the_documented_list_is_what_the_routes_say() -> None:
    (listed,) = (each.text for each in fences("docs/api.md") if each.heading == "Routes")
    documented = set()
    for line in listed.splitlines():
        if not line.startswith(" "):
            role = line
        elif line.strip().isupper():
            method = line.strip()
        else:
            documented.add((method, line.strip(), role))
    said = {
        (method, route.path, f"{check.least}{', job' if check.jobs else ''}")
        for route in ROUTES
        for method in set(route.methods or ()) - {"HEAD"}
        if (check := required(route))
    }
    assert documented == said


def test_each_role_may_do_what_its_routes_say_and_nothing_else(service: Service) -> None:
    for route in ROUTES:
        if route.path in OPEN:
            continue
        path = re.sub(r"\{[^}]*\}", "1", route.path)
        for method in route.methods or ():
            for role in Role:
                answer = service.client.request(method, path, headers=service.as_role(role))
                assert (answer.status_code != 403) == (role in allowed(route)), (method, path, role)


@pytest.mark.parametrize("header", [None, "Bearer wrong", "Bearer", "Basic YTpi", "Bearer ü"])
def test_without_a_valid_token_nothing_is_told(service: Service, header: str | None) -> None:
    headers = {b"Authorization": header.encode()} if header else {}
    del service.client.headers["Authorization"]
    for path in ("/v1/streams", "/v1/streams/x/snapshot", "/metrics"):
        answer = service.client.get(path, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_health_is_open_and_metrics_can_be_opened(service: Service) -> None:
    service.begin_anew(metrics_open=True)
    del service.client.headers["Authorization"]
    for path in ("/healthz", "/readyz", "/metrics"):
        assert service.client.get(path).status_code == 200


def test_a_revoked_token_is_refused_from_then_on_even_if_the_clock_is_set_back(
    service: Service,
) -> None:
    ids = {each["name"]: each["id"] for each in service.get("/v1/tokens", Role.ADMIN)}
    service.get("/v1/streams", Role.VIEWER)
    for name, status in (("viewer", 204), ("viewer", 204), ("admin", 409)):  # which is in use
        assert service.send("DELETE", f"/v1/tokens/{ids[name]}").status_code == status
    service.get("/v1/streams", Role.VIEWER, expect=401)
    service.clock.time_ms -= 3_600_000
    service.get("/v1/streams", Role.VIEWER, expect=401)
    log = service.get("/v1/changes", Role.ADMIN, action="token.revoke")["items"]
    assert [change["subject"] for change in log] == [f"{ids['viewer']} viewer"]


def test_a_token_is_nowhere_in_the_store_and_refused_once_expired(service: Service) -> None:
    document = {"name": "ci", "role": "viewer", "expires_at": "2027-01-15T08:00:10Z"}
    text = service.done("POST", "/v1/tokens", document)["token"]
    with service.database.reading() as session:
        tokens = session.query(Token).all()
    stored = [str(value) for token in tokens for value in vars(token).values()]
    assert token_sha256(text) in stored
    assert not any(text in value for value in stored)
    assert len(text) >= len("percept_") + 43  # 256 bits
    header = {"Authorization": f"Bearer {text}"}
    for time_ms, status in ((START_MS, 200), (START_MS + 10_000, 401)):
        service.clock.time_ms = time_ms
        assert service.client.get("/v1/streams", headers=header).status_code == status
    assert service.send("POST", "/v1/tokens", document).status_code == 422


def test_names_of_people_in_any_script_are_taken_but_none_looks_like_another(
    service: Service,
) -> None:
    for name in ("Jürgen Müller", "Mu\u0308ller", "O'Neil", "李雷", "नमिता", "ana-maria_2"):
        document = {"name": "phone", "person": name, "role": "publisher"}
        person = service.done("POST", "/v1/tokens", document)["person"]
        assert person == unicodedata.normalize("NFC", name)
    for hidden in ("\u200d", "\u200c", "\u3164", "\ufe0f", "\u034f", "\u202e"):
        for name in (f"a{hidden}na", f"{hidden}ana", f"ana{hidden}"):
            for document in ({"name": name}, {"name": "phone", "person": name}):
                service.post("/v1/tokens", Role.ADMIN, document | {"role": "publisher"}, expect=422)


def test_too_many_requests_are_told_when_to_come_back_as_a_bucket_fills_at_its_rate(
    service: Service,
) -> None:
    service.begin_anew(requests_per_second=1)
    # However slow the machine is, no time passes between the requests.
    service.app.state.runtime.rate_limits._monotonic = lambda: 0.0
    answers = [service.client.get("/v1/streams") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 4 + [429] * 2
    assert answers[-1].headers["Retry-After"] == "1"
    left = [answer.headers["RateLimit"] for answer in answers]
    assert left[:2] == ['"requests";r=3;t=1', '"requests";r=2;t=2']
    assert left[3:] == ['"requests";r=0;t=4'] * 3
    assert answers[0].headers["RateLimit-Policy"] == '"requests";q=4;w=4'
    viewer = service.client.get("/v1/streams", headers=service.as_role(Role.VIEWER))
    assert viewer.status_code == 200  # each token has its own bucket
    now = [0.0]
    limits = RateLimits(requests_per_second=2, monotonic=lambda: now[0])
    assert [limits.take("a") for _ in range(9)] == [0.0] * 8 + [0.5]
    now[0] += 0.5
    assert [limits.take("a") for _ in range(2)] == [0, 0.5]
    assert limits.take("b") == 0
