"""Files of the repository that pages link to, taken into the site that `make docs` builds.

docs/*.md ──links out of docs/──► the same files below the root of the site, pages as pages

A hook of MkDocs: https://www.mkdocs.org/user-guide/configuration/#hooks
"""

import re
from pathlib import Path
from posixpath import normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README, and whatever the pages link to beside docs/, again and again."""
    waiting = ["README.md", *(_place(file.src_uri) for file in files.documentation_pages())]
    seen: set[str] = set()
    while waiting:
        place = waiting.pop()
        path = ROOT / place
        if place in seen or not path.is_file():
            continue
        seen.add(place)
        if not place.startswith("docs/"):
            files.append(File.generated(config, _uri(place), abs_src_path=str(path)))
        if path.suffix == ".md":
            waiting += [
                normpath(f"{Path(place).parent.as_posix()}/{link}")
                for link in _LINK.findall(path.read_text(encoding="utf-8"))
            ]
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Let the links of a page go where the files are in the site; folders are only named."""
    place = _place(page.file.src_uri)
    folder = Path(place).parent.as_posix()

    def moved(link: re.Match[str]) -> str:
        target = normpath(f"{folder}/{link[1]}")
        return relpath(_uri(target), Path(_uri(place)).parent.as_posix())

    shown = re.sub(r"(?<!!)\[([^\]]*)\]\(([^)#\s]+)\)", _without_folder(folder), markdown)
    return _LINK.sub(moved, shown)


def _without_folder(folder: str) -> Any:
    def shown(link: re.Match[str]) -> str:
        return link[1] if (ROOT / normpath(f"{folder}/{link[2]}")).is_dir() else link[0]

    return shown


def _uri(place: str) -> str:
    """Return where a file of the repository is in the site."""
    return place.removeprefix("docs/")


def _place(uri: str) -> str:
    """Return where a page of the site is in the repository."""
    return f"docs/{uri}" if (ROOT / "docs" / uri).is_file() else uri
