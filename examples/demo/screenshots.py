"""Takes the pictures of the dashboard for the docs, from a running demo.

make demo ──URL, token──► Chromium ──► overview-light.png, overview-dark.png, rules-phone.png, …
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Final

import typer
from playwright.sync_api import (
    Browser,
    Error,
    FilePayload,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from examples.demo.events import STREAM, load_events
from examples.demo.rules import (
    HOST_UNDER_ATTACK,
    USER_ENUMERATION_STRICTER,
    WATCH_LIST,
    WATCHED,
)

_STREAM: Final = f"/streams/{STREAM['name']}"
_RULE: Final = f"{_STREAM}/rules/{USER_ENUMERATION_STRICTER.id}"
_PATIENCE_MS: Final = 60_000
_CHROMIUM: Final = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS: Final = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@dataclass(frozen=True, slots=True)
class Look:
    """The viewport of a picture; `name` is the end of the file name, sizes are CSS pixels."""

    name: str
    width: int = 1440
    height: int = 900
    is_dark: bool = False


LIGHT: Final = Look("light")
DARK: Final = Look("dark", is_dark=True)
PHONE: Final = Look("phone", 390, 844)
_LONG: Final = 1640
"""Height for pages whose important part is further down."""
_ADDRESSES: Final = 9


@dataclass(frozen=True, slots=True)
class Dashboard:
    """The address of the dashboard, and the token to sign in with."""

    url: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Picture:
    """A page, and the actions before its picture is taken."""

    name: str
    show: Callable[[Page], None]
    looks: tuple[Look, ...] = (LIGHT,)


def _overview(page: Page) -> None:
    page.goto("/")
    page.locator(".busiest").wait_for()
    _wait_for_charts(page)


def _rules(page: Page) -> None:
    page.goto(f"{_STREAM}/rules")
    page.get_by_role("table").wait_for()


def _rule(page: Page) -> None:
    page.goto(_RULE)
    matches = page.locator(".recent-match")
    matches.first.wait_for()
    expect(matches.locator(".match-chart")).to_have_count(matches.count(), timeout=_PATIENCE_MS)
    _wait_for_charts(page)


def _versions(page: Page) -> None:
    page.goto(f"{_RULE}?tab=versions")
    page.locator(".diff").first.wait_for()


def _editor(page: Page) -> None:
    page.goto(f"{_RULE}/edit")
    page.get_by_role("textbox", name="The rule").wait_for()
    page.get_by_role("button", name="From the newest match").click()
    page.locator(".try-out .match-chart").first.wait_for()


def _matches(page: Page) -> None:
    page.goto(f"{_STREAM}/matches")
    found = page.locator(".found", has_text=HOST_UNDER_ATTACK.id).first
    found.get_by_role("button", name="Events of the match").click()
    page.locator(".found-opened .match-chart").wait_for()


def _match(page: Page) -> None:
    page.goto(f"{_STREAM}/matches?processor={USER_ENUMERATION_STRICTER.id}")
    page.locator(".found-time").first.click()
    page.get_by_role("table").wait_for()


def _list(page: Page) -> None:
    """A file beside the list of watched addresses; nothing of it is written."""
    page.goto(f"{_STREAM}/lists/{WATCH_LIST}")
    page.get_by_role("button", name="Upload…").click()
    addresses = sorted({str(event["src_ip"]) for event in load_events() if event.get("src_ip")})
    lines = "\n".join(["address", *addresses[:_ADDRESSES], *WATCHED.listed])
    file = FilePayload(name="watched.csv", mimeType="text/csv", buffer=lines.encode())
    page.get_by_label("File").set_input_files(file)
    page.get_by_label("The first line is a column name").check()
    page.get_by_label("Reason").fill("from the abuse desk")
    page.get_by_role("list", name="Removed").wait_for()


def _activity(page: Page) -> None:
    page.goto("/activity")
    page.locator("main li, main tbody tr").first.wait_for()


PICTURES: Final = (
    Picture("overview", _overview, (LIGHT, DARK, PHONE)),
    Picture("rules", _rules, (LIGHT, PHONE)),
    Picture("rule", _rule, (replace(LIGHT, height=_LONG), replace(DARK, height=_LONG))),
    Picture("versions", _versions),
    Picture("editor", _editor, (replace(LIGHT, height=1180),)),
    Picture("matches", _matches, (replace(LIGHT, height=1120),)),
    Picture("match", _match),
    Picture("list", _list),
    Picture("activity", _activity),
)


def screenshots(
    url: Annotated[str, typer.Argument(help="Where the demo's dashboard is.")],
    token: Annotated[str, typer.Argument(help="The token that the demo prints.")],
    out: Annotated[Path, typer.Argument(help="Directory for the pictures.")],
    only: Annotated[str, typer.Option(help="Only pictures whose name begins so.")] = "",
) -> None:
    """Take pictures of the dashboard of a demo that has finished its replay."""
    out.mkdir(parents=True, exist_ok=True)
    with _chromium() as browser:
        for picture in PICTURES:
            for look in picture.looks:
                name = f"{picture.name}-{look.name}.png"
                if name.startswith(only):
                    _take(browser, Dashboard(url, token), picture, look, out / name)
                    typer.echo(f"{name}  {(out / name).stat().st_size / 1000:.0f} kB")


def _take(
    browser: Browser, dashboard: Dashboard, picture: Picture, look: Look, target: Path
) -> None:
    context = browser.new_context(
        base_url=dashboard.url,
        viewport=ViewportSize(width=look.width, height=look.height),
        color_scheme="dark" if look.is_dark else "light",
        reduced_motion="reduce",
        locale="en-GB",
        timezone_id="UTC",
    )
    try:
        context.set_default_timeout(_PATIENCE_MS)
        page = context.new_page()
        _sign_in(page, dashboard.token)
        picture.show(page)
        expect(page.locator(".loading")).to_have_count(0, timeout=_PATIENCE_MS)
        page.evaluate("document.fonts.ready")
        page.screenshot(path=target)
    finally:
        context.close()


def _sign_in(page: Page, token: str) -> None:
    page.goto("/sign-in")
    page.get_by_label("Access token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("navigation", name="Pages", exact=True).wait_for()


def _wait_for_charts(page: Page) -> None:
    """Wait until every chart is drawn; their library is loaded on demand."""
    page.locator(".plot").first.wait_for(state="attached")
    drawn = page.locator(".plot canvas")
    expect(drawn).to_have_count(page.locator(".plot").count(), timeout=_PATIENCE_MS)


@contextmanager
def _chromium() -> Iterator[Browser]:
    found = os.environ.get("PERCEPT_TEST_CHROMIUM") or next(
        filter(None, map(shutil.which, _CHROMIUM)), None
    )
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=found, args=_ARGUMENTS)
        except Error as error:
            typer.echo(f"No Chromium; install it or set PERCEPT_TEST_CHROMIUM: {error.message}")
            raise typer.Exit(2) from None
        try:
            yield browser
        finally:
            browser.close()


if __name__ == "__main__":
    typer.run(screenshots)
