"""A browser for tests: Chromium, and a page that notes whatever must not happen."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Error,
    Page,
    Request,
    expect,
    sync_playwright,
)

from api.access.authentication import SESSION_COOKIE

_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
_ARGUMENTS += ["--disable-background-networking", "--disable-component-update"]
# Pages read anew every five seconds, and a machine may be busy.
_PATIENCE_MS = 60_000
# That without windows needs a third less time of the processors.
_CANDIDATES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# Tells on the console of words that mean nothing to people who use the pages, as soon as they are
# there. Code and what somebody writes may hold any word, as may what tests put into a rule.
_FOREIGN_WORDS = """
const WORDS = /\\b(processors?|etag)\\b/i;
const FREE = "pre, code, textarea, .cm-editor, .diff .text, bdi";
const told = new Set();
const tell = (text, element) => {
  if (!text || !WORDS.test(text) || element?.closest(FREE) || told.has(text)) return;
  told.add(text);
  console.error(`words of the code on the page: ${text.trim().slice(0, 200)}`);
};
const look = (node) => {
  if (node.nodeType === Node.TEXT_NODE) return tell(node.data, node.parentElement);
  if (node.nodeType !== Node.ELEMENT_NODE) return;
  for (const name of ["aria-label", "title", "placeholder"]) tell(node.getAttribute(name), node);
  node.childNodes.forEach(look);
};
new MutationObserver((changes) => {
  for (const { type, target, addedNodes } of changes) {
    if (type === "childList") addedNodes.forEach(look);
    else look(target);
  }
}).observe(document, {
  subtree: true,
  childList: true,
  characterData: true,
  attributeFilter: ["aria-label", "title", "placeholder"],
});
"""
_REFUSED = re.compile(r"^Failed to load resource: .* status of (\d+)")


def _reason(error: Error) -> str:
    """The first line: Playwright frames a page of advice on its own downloads below it."""
    return error.message.strip().partition("\n")[0]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a browser; skips the test where there is none, unless CI is set."""
    named = os.environ.get("PERCEPT_TEST_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, _CANDIDATES)), None)
    expect.set_options(timeout=_PATIENCE_MS)
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=found, args=_ARGUMENTS)
        except Error as error:
            if os.environ.get("CI") == "true":
                raise
            pytest.skip(f"no Chromium; install it or set PERCEPT_TEST_CHROMIUM ({_reason(error)})")
        yield browser
        browser.close()


@dataclass
class Guard:
    """What went wrong on a page; `expected` are statuses of answers that a test provokes."""

    url: str
    expected: set[int] = field(default_factory=set)
    seen: list[str] = field(default_factory=list)

    def expect(self, *statuses: int) -> None:
        """Let the browser complain about answers with these statuses."""
        self.expected.update(statuses)

    def watch(self, page: Page) -> None:
        """Note errors, exceptions, words of the code, and requests to elsewhere."""
        page.add_init_script(_FOREIGN_WORDS)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.seen.append(f"uncaught: {error}"))
        page.on("request", self._on_request)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type != "error":
            return
        refused = _REFUSED.match(message.text)
        if refused is None or int(refused[1]) not in self.expected:
            self.seen.append(f"console: {message.text} {message.location}")

    def _on_request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme in {"http", "https", "ws", "wss"} and not request.url.startswith(
            f"{self.url}/"
        ):
            self.seen.append(f"request to elsewhere: {request.url}")


@contextmanager
def guarded_page(browser: Browser, url: str, **context: Any) -> Iterator[tuple[Page, Guard]]:
    """Yield a page in a context of its own; at its end nothing must have gone wrong on it."""
    chosen = {"viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce"} | context
    guard = Guard(url)
    opened = browser.new_context(base_url=url, **chosen)
    opened.set_default_timeout(_PATIENCE_MS)
    page = opened.new_page()
    guard.watch(page)
    try:
        yield page, guard
    finally:
        opened.close()
    assert guard.seen == [], "\n".join(guard.seen)


def sign_in(page: Page, token: str) -> None:
    """Sign in by the form."""
    page.goto("/sign-in")
    page.get_by_label("Access token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("navigation", name="Pages", exact=True).wait_for()


def write(page: Page, text: str, into: str = "The rule") -> None:
    """Replace the text of an editor; pasted, so that nothing is completed or indented."""
    page.get_by_role("textbox", name=re.compile(f"^{into}")).click()
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)


def have_signed_in(page: Page, url: str, token: str) -> None:
    """Let a page be signed in already, as by the form an hour ago; it has not been opened yet."""
    page.context.add_cookies(
        [
            {
                "name": SESSION_COOKIE,
                "value": token,
                "url": url,
                "httpOnly": True,
                "sameSite": "Strict",
            }
        ]
    )
