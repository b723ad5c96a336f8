"""Rules with code in Python are shown and compared as source in a browser, not as base64."""

import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from cep.signing.code import CodePlace, CodeUse, sign
from cep.signing.keys import SigningKey, SigningKeys
from tests.api.documents import processor_document
from tests.dashboard.accessibility import violations
from tests.dashboard.browsing import Guard, write
from tests.dashboard.serving import ServedDashboard, served_copy

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
    with served_copy(migrated_file, tmp_path, signing_keys=SigningKeys((KEY,))) as served:
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


@pytest.fixture
def editor(watched: Page, guard: Guard) -> Page:
    """The editor of the rule, which has the clipboard; a publish there may be refused."""
    guard.expect(412)
    watched.context.grant_permissions(["clipboard-read", "clipboard-write"])
    watched.goto(f"{RULE}/edit")
    watched.get_by_role("textbox", name="The rule").wait_for()
    return watched


def copied_text(page: Page) -> str:
    page.get_by_role("textbox", name="The rule").click()
    page.keyboard.press("Control+A")
    page.keyboard.press("Control+C")
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def line_of(text: Locator, key: str) -> Locator:
    return text.locator(".cm-line").filter(has_text=re.compile(f'^ *"?{key}"?:')).first


def folded_in(text: Locator, key: str) -> Locator:
    return line_of(text, key).locator(".folded-code")


@pytest.mark.parametrize("written_as", ["yaml", "json"])
def test_the_editor_folds_code_and_keeps_all_of_it(
    editor: Page, dashboard: ServedDashboard, versions: list[dict[str, Any]], written_as: str
) -> None:
    text = editor.get_by_role("textbox", name="The rule")
    editor.get_by_role("button", name=written_as.upper(), exact=True).click()
    expect(text).to_contain_text('"id":' if written_as == "json" else "id: in-python")
    # Lines further down are drawn when somebody scrolls there.
    expect(folded_in(text, "payload")).to_have_text(re.compile(r"^signed code, [\d.]+ k?B$"))
    expect(folded_in(text, "signature")).to_have_text(re.compile(r"^[0-9a-f]{8}…$"))
    expect(text).to_contain_text("event['amount'] > 250")
    expect(text).not_to_contain_text(BASE64)
    assert not violations(editor)
    body = {"document": dashboard.get("/v1/processors/in-python")["document"], "format": written_as}
    written = dashboard.post("/v1/drafts/text", body)["text"]
    assert copied_text(editor) == written

    editor.keyboard.press("ArrowLeft")
    first = '"owner": "fraud",' if written_as == "json" else "owner: fraud\n"
    if written_as == "json":
        editor.keyboard.press("ArrowRight")
    editor.keyboard.insert_text(first)
    expect(editor.locator(".draft-problems")).to_contain_text("valid")
    assert copied_text(editor) == (
        written.replace("{", "{" + first, 1) if written_as == "json" else first + written
    )
    editor.get_by_role("button", name="Publish…").click()
    editor.get_by_role("dialog").get_by_role("button", name="Publish").click()
    editor.wait_for_url(f"**{RULE}")
    published = dashboard.get("/v1/processors/in-python")
    assert published["document"]["owner"] == "fraud"
    assert published["document"]["pattern"]["steps"] == versions[1]["pattern"]["steps"]


def test_the_cursor_goes_past_folded_code_and_deletes_all_of_it(editor: Page) -> None:
    text = editor.get_by_role("textbox", name="The rule")
    whole = copied_text(editor)
    folded_in(text, "payload").click()
    editor.keyboard.press("End")
    editor.keyboard.press("Backspace")
    line = line_of(text, "payload")
    expect(line).to_have_text(re.compile(r"^ *payload: *$"))
    left = copied_text(editor)
    assert len(BASE64.findall(left)) == len(BASE64.findall(whole)) - 1
    editor.keyboard.press("Control+Z")
    expect(line.locator(".folded-code")).to_have_count(1)
    assert copied_text(editor) == whole


def test_only_signed_code_is_folded(editor: Page) -> None:
    text = editor.get_by_role("textbox", name="The rule")
    long = "A" * 200
    write(
        editor,
        f"description: {long}\nmy-payload: {long}\nsignature: short\n"
        f"payload: user = 'eve'\nsignature: {'A' * 64}\n",
    )
    expect(text).to_contain_text(f"my-payload: {long}")
    expect(text).to_contain_text(f"description: {long}")
    expect(text).to_contain_text(f"signature: {'A' * 64}")
    expect(text.locator(".folded-code")).to_have_count(0)


def test_a_conflict_shows_source_and_no_base64(
    editor: Page, dashboard: ServedDashboard, versions: list[dict[str, Any]]
) -> None:
    text = editor.get_by_role("textbox", name="The rule")
    text.click()
    editor.keyboard.press("Control+Home")
    editor.keyboard.insert_text("owner: fraud\n")
    expect(editor.locator(".draft-problems")).to_contain_text("valid")
    dashboard.publish(versions[0])
    editor.get_by_role("button", name="Publish…").click()
    dialog = editor.get_by_role("dialog")
    dialog.get_by_role("button", name="Publish").click()
    expect(dialog.get_by_role("alert")).to_contain_text("It has changed since you loaded it")
    dialog.get_by_role("button", name="Cancel").click()
    conflict = editor.get_by_role("status", name="A newer version")
    words = re.compile(r"payload: signed code, [\d.]+ k?B \([0-9a-f]{8}\)")
    for view in ("Their changes", "Your changes", "Side by side", "Merged"):
        conflict.get_by_role("button", name=view).click()
        expect(conflict.get_by_role("button", name=view)).to_have_attribute("aria-pressed", "true")
        if view in {"Their changes", "Side by side"}:
            expect(conflict).to_contain_text("event['amount'] > 100")
            expect(conflict).to_contain_text(words)
        expect(conflict).not_to_contain_text(BASE64)
        assert not violations(editor)
    conflict.get_by_role("button", name="Apply my changes to theirs").click()
    expect(conflict).to_have_count(0)
    theirs = dashboard.get("/v1/processors/in-python")["document"]
    body = {"document": theirs | {"owner": "fraud"}, "format": "yaml"}
    merged = dashboard.post("/v1/drafts/text", body)["text"]
    lines = copied_text(editor).splitlines()
    assert sorted(lines) == sorted(merged.splitlines())


def test_a_proposal_shows_what_changes_in_the_source(
    watched: Page, dashboard: ServedDashboard, versions: list[dict[str, Any]]
) -> None:
    dashboard.post("/v1/processors/in-python/rollback", {"version": 1})
    number = dashboard.post("/v1/proposals", {"document": versions[1], "comment": "less"})["id"]
    watched.goto(f"/proposals/{number}")
    expect_source(watched.locator(".version-diff .diff"))
    assert not violations(watched)
