"""What axe finds wrong with a page as it stands."""

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # ships no types
from playwright.sync_api import Page, expect

# Preloading would fetch the style sheets anew, by addresses that are not theirs.
_RULES = ("target-size", "label-content-name-mismatch")  # not on by themselves
_OPTIONS = {"preload": False, "rules": {rule: {"enabled": True} for rule in _RULES}}


def violations(page: Page) -> list[str]:
    """Return all that axe finds, whatever its impact, with the place of each.

    Once it is shown: until all that it reads first is there, it is hidden, from axe too.
    From the top of the page: what the bar above it half covers is too small a target to axe.
    """
    expect(page.locator(".arrival.awaited")).to_have_count(0)
    page.evaluate("scrollTo(0, 0)")
    return [
        f"{page.url} {violation['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for violation in Axe().run(page, options=_OPTIONS).response["violations"]
        for node in violation["nodes"]
    ]
