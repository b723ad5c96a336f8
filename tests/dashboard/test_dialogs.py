"""Dialogs stay as they are while the page goes on, and give the focus back."""

import pytest
from playwright.sync_api import FilePayload, Page, expect

from contract.service.tokens import Role
from tests.dashboard.browsing import Guard
from tests.dashboard.serving import ServedDashboard

LISTS = "/v1/streams/logins/lists"
MODULES = """
const bundle = document.querySelector('script[type=module][src$="console.js"]').src;
const { html, render, useState } = await import(new URL("../vendor/preact.js", bundle).href);
const { Confirm, Dialog } = await import(new URL("../js/ui/dialog.js", bundle).href);
const place = document.createElement("div");
document.querySelector("main").append(place);
"""


@pytest.fixture
def upload(admin_page: Page, dashboard: ServedDashboard) -> Page:
    """The dialog for uploads, a file chosen in it."""
    dashboard.post(LISTS, {"name": "vip"})
    admin_page.goto("/streams/logins/lists/vip")
    admin_page.get_by_role("button", name="Upload…").click()
    choose(admin_page, b"ana\neve\n")
    expect(admin_page.get_by_text("2 values added, 0 values removed")).to_be_visible()
    return admin_page


def choose(page: Page, content: bytes) -> None:
    with page.expect_file_chooser() as opened:
        page.get_by_label("File").click()
    file = FilePayload(name="vip.csv", mimeType="text/csv", buffer=content)
    opened.value.set_files(file)


def test_a_file_that_is_not_chosen_does_not_close_the_dialog(upload: Page) -> None:
    # Chromium fires this at the input when the chooser is closed without a choice; it bubbles.
    upload.get_by_label("File").evaluate(
        "(input) => input.dispatchEvent(new Event('cancel', { bubbles: true }))"
    )
    expect(upload.get_by_role("dialog")).to_be_visible()
    expect(upload.get_by_text("2 values added")).to_be_visible()


def test_a_dialog_keeps_focus_and_content_when_the_page_is_read_again(
    upload: Page, dashboard: ServedDashboard
) -> None:
    why = upload.get_by_label("Reason (shown in the activity log)")
    why.fill("from sales")
    why.evaluate("(input) => input.setSelectionRange(2, 2)")
    # Somebody else changes the list: the page shows it, and the file is compared with it.
    dashboard.post(f"{LISTS}/vip/changes", {"add": ["bob"]})
    expect(upload.get_by_text("2 values added, 1 value removed")).to_be_visible()
    expect(why).to_be_focused()
    expect(why).to_have_value("from sales")
    assert why.evaluate("(input) => input.selectionStart") == 2
    name = upload.get_by_label("File").evaluate("(input) => input.files[0].name")
    assert name == "vip.csv"


def test_a_session_that_ends_asks_above_the_dialog_and_leaves_it(
    upload: Page, dashboard: ServedDashboard, guard: Guard
) -> None:
    why = upload.get_by_label("Reason (shown in the activity log)")
    why.fill("from sales")
    guard.expect(401)
    cookies = upload.context.cookies()
    upload.context.clear_cookies()
    ended = upload.get_by_role("dialog", name="Your session has ended")
    expect(ended).to_be_visible()
    for _ in range(3):  # a second Escape closes a dialog whatever its page says
        upload.keyboard.press("Escape")
    expect(ended).to_be_visible()
    upload.context.add_cookies(cookies)  # type: ignore[arg-type]  # as they were given
    ended.get_by_label("Access token").fill(dashboard.token_of[Role.ADMIN])
    ended.get_by_role("button", name="Sign in").click()
    expect(ended).to_have_count(0)
    expect(upload.get_by_role("dialog")).to_be_visible()
    expect(why).to_have_value("from sales")
    upload.get_by_role("button", name="Replace the values").click()
    expect(upload.get_by_role("dialog")).to_have_count(0)
    assert dashboard.get(f"{LISTS}/vip")["count"] == 2


def test_a_dialog_on_a_dialog_submits_alone_and_gives_the_focus_back(admin_page: Page) -> None:
    admin_page.goto("/activity")
    admin_page.get_by_role("heading", name="Activity").wait_for()
    admin_page.evaluate(
        """async () => {"""
        + MODULES
        + """
        window.done = [];
        function Two() {
          const [open, setOpen] = useState("");
          const act = (name) => async () => window.done.push(name);
          return html`<button type="button" onClick=${() => setOpen("outer")}>Begin</button>
            ${open && html`<${Confirm}
              title="Outer" verb="Do outer" act=${act("outer")} onClose=${() => setOpen("")}
            >
              <button type="button" onClick=${() => setOpen("inner")}>More</button>
              ${open === "inner" && html`<${Confirm}
                title="Inner" verb="Do inner" act=${act("inner")} onClose=${() => setOpen("outer")}
              ><button type="button" onClick=${() => setOpen("")}>Leave both</button><//>`}
            <//>`}`;
        }
        render(html`<${Two} />`, place);
        }"""
    )
    begin, more = (admin_page.get_by_role("button", name=name) for name in ("Begin", "More"))
    inner = admin_page.get_by_role("dialog", name="Inner")
    begin.click()
    more.click()
    inner.get_by_role("button", name="Do inner").click()
    expect(inner).to_have_count(0)
    assert admin_page.evaluate("window.done") == ["inner"]
    expect(more).to_be_focused()

    more.click()
    expect(inner).to_be_visible()
    admin_page.keyboard.press("Escape")
    expect(inner).to_have_count(0)
    expect(more).to_be_focused()

    more.click()
    inner.get_by_role("button", name="Leave both").click()
    expect(admin_page.get_by_role("dialog")).to_have_count(0)
    expect(begin).to_be_focused()
