"""Pages and files are served so that nothing foreign can run in them."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from api.dashboard.assets import STATIC_FOLDER, read_assets
from api.dashboard.endpoints import PAGES
from tests.api.documents import processor_document
from tests.dashboard.browsing import Guard
from tests.dashboard.serving import ServedDashboard

OUR_SCRIPTS = sorted((STATIC_FOLDER / "js").rglob("*.js"))


class _Links(HTMLParser):
    """Collects what a page loads, and inline scripts and styles, of which there must be none."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.inline: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.loaded += [given[name] or "" for name in ("src", "href") if name in given]
        if tag == "style" or (tag == "script" and "src" not in given):
            self.inline.append(tag)
        self.inline += [name for name in given if name == "style" or name.startswith("on")]


def test_every_page_path_answers_the_same_page(dashboard: ServedDashboard) -> None:
    for path in PAGES:
        answer = dashboard.client.get(re.sub(r"\{.*?\}", "a%20b", path))
        assert answer.status_code == 200, path
        assert answer.headers["Content-Type"].startswith("text/html")
        assert '<div id="app">' in answer.text
    assert dashboard.client.get("/nothing-here").status_code == 404


def test_the_page_holds_nothing_inline_and_loads_only_files_that_are_there(
    dashboard: ServedDashboard,
) -> None:
    page = dashboard.client.get("/").text
    links = _Links()
    links.feed(page)

    assert links.inline == []
    assert "{{" not in page
    assert len(links.loaded) > 3
    for link in links.loaded:
        assert link.startswith("/assets/")
        assert dashboard.client.get(link).status_code == 200, link


def test_each_page_names_all_scripts_that_it_loads_and_they_are_few(
    admin_page: Page, dashboard: ServedDashboard
) -> None:
    dashboard.publish(processor_document())
    loaded: list[str] = []
    admin_page.on("request", lambda request: loaded.append(request.url))
    for path in ("/streams/logins/rules/failed-logins", "/streams/logins/new-rule", "/"):
        loaded.clear()
        admin_page.goto(path)
        admin_page.locator("main h1").wait_for()
        expect(admin_page.locator(".skeleton")).to_have_count(0)
        html = dashboard.client.get(path).text
        named = re.findall(r'(?:modulepreload" href|<script[^>]* src)="([^"]+)"', html)
        scripts = [urlsplit(url).path for url in loaded if url.endswith(".js")]
        assert sorted(scripts) == sorted(named), path
        assert len(scripts) <= 5, path
        assert sum(url.endswith(".css") for url in loaded) == 1


def test_a_page_whose_library_does_not_come_says_so_and_tries_again(
    admin_page: Page, guard: Guard
) -> None:
    def refuse(route: Route) -> None:
        route.abort()

    admin_page.route("**/codemirror.js", refuse)
    admin_page.goto("/streams/logins/new-rule")
    expect(admin_page.get_by_text("This page has not loaded yet")).to_be_visible()
    admin_page.unroute("**/codemirror.js", refuse)
    expect(admin_page.get_by_role("textbox", name="The rule")).to_be_visible()
    guard.seen.clear()  # a request failed, and the browser says so


def test_the_policy_lets_nothing_foreign_or_inline_run(dashboard: ServedDashboard) -> None:
    first, second = (dashboard.client.get("/").headers for _ in range(2))
    policy = dict(
        each.strip().split(" ", 1) for each in first["Content-Security-Policy"].split(";")
    )

    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert "unsafe" not in first["Content-Security-Policy"]
    assert "*" not in first["Content-Security-Policy"]
    assert first["Content-Security-Policy"] != second["Content-Security-Policy"]  # nonces differ


def test_answers_of_the_api_are_no_pages(dashboard: ServedDashboard) -> None:
    answer = dashboard.client.get("/v1/streams")
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    refusal = dashboard.client.get("/v1/streams/none")
    assert refusal.headers["X-Content-Type-Options"] == "nosniff"


def test_files_are_kept_for_ever_under_the_digest_and_asked_for_again_elsewhere(
    dashboard: ServedDashboard,
) -> None:
    digest = read_assets().digest
    path = "js/main.js"

    current = dashboard.client.get(f"/assets/{digest}/{path}")
    assert "immutable" in current.headers["Cache-Control"]
    assert current.headers["Content-Encoding"] == "gzip"
    assert current.text == (STATIC_FOLDER / path).read_text(encoding="utf-8")

    old = dashboard.client.get(f"/assets/0000/{path}", headers={"Accept-Encoding": "identity"})
    assert old.headers["Cache-Control"] == "no-cache"
    assert old.content == current.content
    known = {"If-None-Match": old.headers["ETag"]}
    assert dashboard.client.get(f"/assets/0000/{path}", headers=known).status_code == 304


@pytest.mark.parametrize(
    "path",
    ["%2e%2e/endpoints.py", "..%2fendpoints.py", "js/..%2f..%2fsession.py", "index.html", ""],
)
def test_nothing_but_the_files_is_served(dashboard: ServedDashboard, path: str) -> None:
    answer = dashboard.client.get(f"/assets/x/{path}")
    assert answer.status_code == 404
    assert "import" not in answer.text


def test_no_script_of_ours_writes_markup_or_runs_text() -> None:
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write"
        r"|\beval\(|new Function|javascript:|style=\"|https?://(?!www\.w3\.org)"
    )
    assert len(OUR_SCRIPTS) > 30
    found = {
        path.name: match[0]
        for path in OUR_SCRIPTS
        if (match := forbidden.search(path.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_what_is_vendored_is_listed_with_its_licence() -> None:
    folder: Path = STATIC_FOLDER / "vendor"
    listed = (folder / "VENDORED.md").read_text(encoding="utf-8")
    licences = (folder / "LICENSES.txt").read_text(encoding="utf-8")
    packages = re.findall(r"^\| (\S+) \| (\d\S+) \| (\S+) \|$", listed, re.MULTILINE)
    assert {"preact", "htm", "uplot", "codemirror", "diff"} <= {name for name, _, _ in packages}
    for name, version, _ in packages:
        assert f"== {name} {version}" in licences
