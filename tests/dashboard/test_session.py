"""Signing in and out; the cookie is of no use to scripts and to other sites."""

from collections.abc import Iterator

import httpx2
import pytest
from playwright.sync_api import Page, expect

from api.access.authentication import SESSION_COOKIE
from api.web.cross_site import DASHBOARD_HEADER
from cep.instants import iso_text
from contract.service.tokens import Role
from tests.api.documents import STREAM
from tests.dashboard.browsing import Guard, have_signed_in
from tests.dashboard.serving import ServedDashboard
from tests.patience import PATIENCE_SECONDS

OURS = {DASHBOARD_HEADER: "1"}
OTHER_STREAM = STREAM | {"name": "payments"}


@pytest.fixture
def visitor(dashboard: ServedDashboard) -> Iterator[httpx2.Client]:
    """A client without a token, signed in as an admin by cookie."""
    with httpx2.Client(base_url=dashboard.url, timeout=PATIENCE_SECONDS) as client:
        token = dashboard.token_of[Role.ADMIN]
        answer = client.post("/session", json={"token": f" {token}\n"}, headers=OURS)
        assert answer.status_code == 200
        yield client


def test_signing_in_sets_a_cookie_that_scripts_and_other_sites_cannot_use(
    dashboard: ServedDashboard,
) -> None:
    token = dashboard.token_of[Role.AUTHOR]
    body = {"token": token}
    answer = httpx2.post(
        f"{dashboard.url}/session", json=body, headers=OURS, timeout=PATIENCE_SECONDS
    )

    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"{SESSION_COOKIE}={token};")
    assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert answer.json()["name"] == "author token"
    assert answer.json()["role"] == "author"
    assert token not in answer.text


def test_on_https_the_cookie_is_sent_over_https_only(dashboard: ServedDashboard) -> None:
    headers = OURS | {"X-Forwarded-Proto": "https"}  # from a proxy on this machine
    body = {"token": dashboard.token_of[Role.VIEWER]}
    answer = httpx2.post(
        f"{dashboard.url}/session", json=body, headers=headers, timeout=PATIENCE_SECONDS
    )
    assert "Secure" in answer.headers["Set-Cookie"].split("; ")


def test_the_cookie_stands_for_its_token(visitor: httpx2.Client) -> None:
    assert visitor.get("/session").json()["role"] == "admin"
    assert visitor.get("/v1/tokens").status_code == 200
    assert visitor.post("/v1/streams", json=OTHER_STREAM, headers=OURS).status_code == 201

    visitor.delete("/session", headers=OURS)

    assert visitor.get("/session").json() is None
    assert visitor.get("/v1/tokens").status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({DASHBOARD_HEADER: "0"}, 403),
        (OURS | {"Sec-Fetch-Site": "cross-site"}, 403),
        (OURS | {"Sec-Fetch-Site": "same-site"}, 403),
        (OURS | {"Sec-Fetch-Site": "none"}, 403),
        (OURS | {"Origin": "https://elsewhere.example"}, 403),
        (OURS | {"Origin": "null"}, 403),
        (OURS | {"Sec-Fetch-Site": "same-origin"}, 201),
    ],
)
def test_by_cookie_nothing_is_changed_from_elsewhere(
    visitor: httpx2.Client, headers: dict[str, str], status: int
) -> None:
    assert visitor.post("/v1/streams", json=OTHER_STREAM, headers=headers).status_code == status
    assert visitor.get("/v1/streams/payments").status_code == (200 if status == 201 else 404)


def test_our_own_origin_is_no_other_site(visitor: httpx2.Client) -> None:
    headers = OURS | {"Origin": str(visitor.base_url).rstrip("/")}
    assert visitor.post("/v1/streams", json=OTHER_STREAM, headers=headers).status_code == 201


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_no_other_site_signs_anybody_in_or_out(visitor: httpx2.Client, method: str) -> None:
    for headers in ({}, OURS | {"Sec-Fetch-Site": "cross-site"}):
        answer = visitor.request(method, "/session", json={"token": "x"}, headers=headers)
        assert answer.status_code == 403
        assert visitor.get("/session").json() is not None


def test_a_header_counts_before_the_cookie(
    visitor: httpx2.Client, dashboard: ServedDashboard
) -> None:
    viewer = {"Authorization": f"Bearer {dashboard.token_of[Role.VIEWER]}"}
    assert visitor.get("/v1/tokens", headers=viewer).status_code == 403
    assert visitor.get("/v1/tokens", headers={"Authorization": "Basic YTpi"}).status_code == 401


def test_a_revoked_token_ends_its_sessions(
    visitor: httpx2.Client, dashboard: ServedDashboard
) -> None:
    token = dashboard.post("/v1/tokens", {"name": "second", "role": "admin"})
    revoker = {"Authorization": f"Bearer {token['token']}"}
    own = visitor.get("/session").json()["token_id"]
    assert visitor.delete(f"/v1/tokens/{own}", headers=revoker).status_code == 204

    assert visitor.get("/session").json() == {"is_over": True}
    assert visitor.get("/v1/streams").status_code == 401


def test_a_wrong_token_is_refused_and_never_repeated(dashboard: ServedDashboard) -> None:
    answer = httpx2.post(f"{dashboard.url}/session", json={"token": "percept_no"}, headers=OURS)
    assert answer.status_code == 401
    assert "Set-Cookie" not in answer.headers
    long = httpx2.post(f"{dashboard.url}/session", json={"token": "secret" * 99}, headers=OURS)
    assert long.status_code == 422
    assert "secret" not in long.text


def test_the_token_of_a_job_signs_nobody_in(dashboard: ServedDashboard) -> None:
    body = {"token": dashboard.token_of[Role.JOB]}
    answer = httpx2.post(f"{dashboard.url}/session", json=body, headers=OURS)
    assert answer.status_code == 403
    assert "for jobs" in answer.json()["detail"]
    assert "Set-Cookie" not in answer.headers


def test_a_person_signs_in_with_a_token_and_out_again(
    page: Page, guard: Guard, dashboard: ServedDashboard
) -> None:
    guard.expect(401)
    page.goto("/activity")
    page.get_by_label("Access token").fill("percept_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not valid")

    page.get_by_label("Access token").fill(dashboard.token_of[Role.VIEWER])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Activity")).to_be_visible()  # the page asked for
    assert page.evaluate("document.cookie") == ""

    page.reload()
    page.get_by_role("button", name="Signed in as viewer token, viewer").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Access token")).to_be_visible()


def test_who_comes_back_after_the_session_has_ended_is_told_so(
    page: Page, dashboard: ServedDashboard
) -> None:
    page.goto("/activity")
    told = page.get_by_text("has expired or was revoked")
    expect(page.get_by_label("Access token")).to_be_visible()
    expect(told).to_have_count(0)
    at = iso_text(dashboard.clock() + 3_600_000)
    tokens = [
        dashboard.post("/v1/tokens", {"name": name, "role": "viewer"} | until)
        for name, until in (("revoked", {}), ("expired", {"expires_at": at}))
    ]
    dashboard.client.delete(f"/v1/tokens/{tokens[0]['id']}")
    dashboard.clock.shift_ms += 2 * 3_600_000
    for token in tokens:
        have_signed_in(page, dashboard.url, token["token"])
        page.goto("/activity")
        expect(told).to_be_visible()
        expect(page.get_by_text("to open /activity")).to_be_visible()

    page.get_by_label("Access token").fill(dashboard.token_of[Role.VIEWER])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Activity")).to_be_visible()
    page.get_by_role("button", name="Signed in as viewer token, viewer").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Access token")).to_be_visible()
    expect(told).to_have_count(0)
