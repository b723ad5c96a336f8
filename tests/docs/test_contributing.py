"""docs/contributing.md, docs/how-it-works.md: the modules, folders and commands they name exist."""

import re

from tests.docs.fences import ROOT

PAGES = ("docs/contributing.md", "docs/how-it-works.md")
_CODE = re.compile(r"`([^`\n]+)`")
_PLACE = re.compile(r"[\w.-]+/[\w./-]+|\w+\.(?:py|js)")


def is_there(place: str) -> bool:
    if "/" not in place:
        return any(
            path for top in ("cep", "tests", "processor_runtime") for path in found(top, place)
        )
    return any((ROOT / folder / place).exists() for folder in (".", "processor_runtime"))


def found(folder: str, name: str) -> list[str]:
    return [str(path) for path in (ROOT / folder).rglob(name)]


def test_modules_and_folders_exist() -> None:
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        named = {each for each in _CODE.findall(text) if _PLACE.fullmatch(each)}
        assert len(named) > 8, page
        assert sorted(place for place in named if not is_there(place)) == []


def test_targets_of_make_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for page, some in ((PAGES[0], {"check", "test", "nightly"}), ("README.md", {"demo", "test"})):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert some <= set(re.findall(r"(?:`|\$ )make ([a-z-]+)", text)) <= targets
