"""All Markdown of the repository: links lead to files and headings that are there, and pictures."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from tests.docs.fences import ROOT, links

FOLDERS = ("docs", "docs/decisions", "examples/*", "tests/*")
MARKDOWN = [
    "README.md",
    "CHANGELOG.md",
    *sorted(
        path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in ROOT.glob(f"{folder}/*.md")
    ),
]


def dead_links() -> Iterator[str]:
    """Yield the links to what is not there, each with its page."""
    for page in MARKDOWN:
        for link in links(page):
            target, _, anchor = link.partition("#")
            path = (ROOT / page).parent / target if target else ROOT / page
            if re.match(r"[a-z]+:", link):
                continue
            if not path.exists() or (anchor and anchor not in anchors(path.read_text("utf-8"))):
                yield f"{page}: {link}"


def anchors(text: str) -> set[str]:
    """Return the anchors GitHub gives to the headings of a page, and those it has by itself."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    shown = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    of_headings = {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in shown}
    return of_headings | set(re.findall(r'<a id="([^"]+)">', text))


def test_links_lead_to_what_is_there() -> None:
    assert len(MARKDOWN) > 80
    assert list(dead_links()) == []


def test_each_picture_says_what_it_shows_and_is_shown() -> None:
    shown = {link.rpartition("/")[2] for page in MARKDOWN for link in links(page)}
    pictures = sorted((ROOT / "docs/images").glob("*.svg"))
    assert pictures
    for path in pictures:
        title = ET.parse(path).find("{http://www.w3.org/2000/svg}title")  # noqa: S314 - own file
        assert title is not None, path.name
        assert title.text, path.name
        assert path.name in shown
