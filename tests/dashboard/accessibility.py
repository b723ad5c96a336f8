"""What axe finds wrong with a page as it stands."""

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # ships no types
from playwright.sync_api import Page

_SERIOUS = {"serious", "critical"}


def serious_violations(page: Page) -> list[str]:
    """Return what axe finds serious, with the place of each."""
    # Preloading would fetch the style sheets anew, by addresses that are not theirs.
    violations = Axe().run(page, options={"preload": False}).response["violations"]
    return [
        f"{page.url} {violation['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for violation in violations
        if violation["impact"] in _SERIOUS
        for node in violation["nodes"]
    ]
