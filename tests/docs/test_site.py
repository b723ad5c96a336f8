"""`make docs`: the pages as a site, complete, and with nothing fetched from elsewhere."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.docs.fences import ROOT

_FETCHED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=\"?(https?:[^\" >]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    mkdocs = Path(sys.executable).with_name("mkdocs")
    done = subprocess.run(  # noqa: S603 - our own command
        [mkdocs, "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = {
        page
        for section in yaml.safe_load(text)["nav"]
        for part in section.values()
        for item in (part if isinstance(part, list) else [part])
        for page in (item.values() if isinstance(item, dict) else [item])
    }
    assert {path.name for path in (ROOT / "docs").glob("*.md")} <= listed


def test_the_site_has_every_page_and_finds_its_words(site: Path) -> None:
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert pages <= {path.stem for path in site.glob("*.html")}
    assert len(list((site / "decisions").glob("*.html"))) == len(
        list((ROOT / "docs/decisions").glob("*.md"))
    )
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {f"{page}.html" for page in pages} <= found


def test_links_between_files_of_the_repository_lead_somewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        if path.name == "404.html":
            continue
        for link in re.findall(r'<a [^>]*href="([^"#]+)', path.read_text(encoding="utf-8")):
            if ":" not in link:
                assert (path.parent / link).exists(), f"{path.relative_to(site)}: {link}"


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        fetched = _FETCHED.findall(path.read_text(encoding="utf-8"))
        assert fetched == [], path.relative_to(site)
