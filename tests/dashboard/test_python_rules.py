"""Rules with code in Python are shown and compared as source in a browser, not as base64."""

import re
import runpy
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from cep.signing.code import CodePlace, CodeUse, sign
from cep.signing.keys import SigningKey, SigningKeys
from tests.api.documents import processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.serving import ServedDashboard, served_dashboard

KEY = SigningKey("k1", b"k" * 32)
PLACE = CodePlace(stream="logins", processor="in-python")
RULE = "/streams/logins/rules/in-python"
BASE64 = re.compile(r"[A-Za-z0-9+/]{100,}")
FIRST = "def is_large(event, context):\n    return event['amount'] > 100\n"
# The text tries to be markup, and to be read in another order than it has.
SECOND = (
    "def is_large(event, context):\n"
    "    # <img src=x onerror=\"window.hit='yes'\"> \u202e}\n"
    "    return event['amount'] > 250\n"
)


@pytest.fixture
def versions(tmp_path: Path) -> list[dict[str, Any]]:
    """The documents of two versions of a rule with code that stands in a file."""
    documents = []
    for number, text in enumerate([FIRST, SECOND]):
        file = tmp_path / f"rule_{number}.py"
        file.write_text(text, encoding="utf-8")
        function = runpy.run_path(str(file))["is_large"]
        code = sign(function, KEY, CodeUse.CONDITION, place=PLACE).to_document()
        both = {"all_of": ["user = 'eve'", {"python": code}]}
        steps = [
            {"name": "pay", "where": both},
            {"name": "more", "contiguity": "next", "where": {"python": code}},
        ]
        documents.append(processor_document(id="in-python", pattern={"steps": steps}))
    return documents


@pytest.fixture
def dashboard(
    migrated_file: Path, tmp_path: Path, versions: list[dict[str, Any]]
) -> Iterator[ServedDashboard]:
    """A service that takes Python code, with both versions."""
    copied = tmp_path / "percept.db"
    shutil.copy(migrated_file, copied)
    with served_dashboard(f"sqlite:///{copied}", signing_keys=SigningKeys((KEY,))) as served:
        for document in versions:
            served.publish(document)
        yield served


@pytest.fixture
def watched(admin_page: Page) -> Iterator[Page]:
    """A page on which no markup may have come to life."""
    yield admin_page
    assert admin_page.evaluate("window.hit") is None
    assert admin_page.locator("img[src='x']").count() == 0
    admin_page.evaluate("sessionStorage.clear()")


def expect_source(shown: Locator) -> None:
    """Wait for both versions, line by line, with a digest in place of what was pickled."""
    expect(shown.locator("tr.removed")).to_contain_text(["event['amount'] > 100", "code, "] * 2)
    expect(shown.locator("tr.added")).to_contain_text(
        ["<img src=x onerror", "event['amount'] > 250", "code, "] * 2
    )
    expect(shown).to_contain_text("⟨U+202E⟩}")
    expect(shown).to_contain_text(re.compile(r"code, [\d,]+ bytes, digest [0-9a-f]{16}"))
    expect(shown).not_to_contain_text(BASE64)


def test_versions_are_compared_by_their_source(watched: Page) -> None:
    watched.goto(f"{RULE}?tab=versions")
    expect_source(watched.locator(".version-diff .diff"))
    meanings = watched.locator(".meanings")
    expect(meanings).to_contain_text("all_of in the lines below")
    expect(meanings).to_contain_text("source in the lines below")
    expect(meanings).to_contain_text("payload in the lines below")
    expect(meanings).not_to_contain_text(re.compile(f"signature|{BASE64.pattern}"))
    assert not violations(watched)


def test_a_definition_shows_source_and_is_copied_whole(watched: Page) -> None:
    watched.context.grant_permissions(["clipboard-read", "clipboard-write"])
    watched.goto(f"{RULE}?tab=definition")
    definition = watched.get_by_role("region", name="Definition")
    expect(definition).to_contain_text("event['amount'] > 250")
    expect(definition).not_to_contain_text(BASE64)
    watched.get_by_role("button", name="Copy").click()
    expect(watched.get_by_role("button", name="Copied")).to_be_visible()
    assert "payload: " in watched.evaluate("navigator.clipboard.readText()")
    assert not violations(watched)


def test_the_last_question_before_a_publish_compares_source(
    watched: Page, dashboard: ServedDashboard, versions: list[dict[str, Any]]
) -> None:
    body = {"document": versions[0], "format": "yaml"}
    text = dashboard.post("/v1/drafts/text", body)["text"]
    watched.goto(f"{RULE}/edit")
    watched.get_by_role("textbox", name="The rule").wait_for()
    watched.get_by_role("textbox", name="The rule").click()
    watched.keyboard.press("Control+A")
    watched.keyboard.press("Delete")
    watched.keyboard.insert_text(text)
    expect(watched.locator(".draft-problems")).to_contain_text("valid")
    watched.get_by_role("button", name="Publish…").click()
    diff = watched.get_by_role("dialog").locator(".diff")
    expect(diff.locator("tr.added")).to_contain_text(["event['amount'] > 100", "code, "] * 2)
    expect(diff).not_to_contain_text(BASE64)
    assert not violations(watched)


def test_a_proposal_shows_what_changes_in_the_source(
    watched: Page, dashboard: ServedDashboard, versions: list[dict[str, Any]]
) -> None:
    dashboard.post("/v1/processors/in-python/rollback", {"version": 1})
    number = dashboard.post("/v1/proposals", {"document": versions[1], "comment": "less"})["id"]
    watched.goto(f"/proposals/{number}")
    expect_source(watched.locator(".version-diff .diff"))
    assert not violations(watched)
