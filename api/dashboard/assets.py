"""The files of the dashboard, read once: their bytes, types and the digest they are served under.

    static/, bundle of its modules, JSON Schema of rules ─► Assets ─► /assets/<digest>/<path>

Every file is served below the digest of all of them, so that browsers may cache them without expiry
and never mix two versions. No file is read from disk by a path in a request.
"""

import gzip
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from api.dashboard.bundle import BUNDLE_PATH, MAP_PATH, bundled
from api.dashboard.imports import is_library
from api.dashboard.preloads import libraries_by_page
from cep.definition.document import ProcessorFile

STATIC_FOLDER: Final = Path(__file__).parent / "static"

_MEDIA_TYPES: Final = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".md": "text/plain; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}
_PACKED: Final = frozenset({".js", ".css", ".json", ".map", ".svg", ".md", ".txt"})
_ALL_STYLES: Final = "css/all.css"
_IMPORTED: Final = re.compile(r'@import url\("([^"]+)"\);')
RULE_SCHEMA_PATH: Final = "generated/rule.schema.json"
"""What the editor knows of keys and words; `percept schema rule` prints the same."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One file; `packed` is its body compressed with gzip, if that is smaller by far."""

    body: bytes
    packed: bytes | None
    media_type: str
    etag: str


@dataclass(frozen=True, slots=True)
class Assets:
    """All files by their path below the folder, and the digest of all of them."""

    files: dict[str, Asset]
    digest: str
    index: str
    libraries: dict[str, tuple[str, ...]]
    """What each page needs beside the bundle, by its path without names."""


def read_assets(folder: Path = STATIC_FOLDER) -> Assets:
    """Return the files below a folder, without `index.html`, which is rendered for each request.

    Raises:
        OSError: a file cannot be read.
        ValueError: modules cannot be bundled.
    """
    files = {
        path.relative_to(folder).as_posix(): _asset(path.name, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix in _MEDIA_TYPES
    }
    files[_ALL_STYLES] = _asset(_ALL_STYLES, _styles(folder / _ALL_STYLES))
    sources = {
        name: asset.body.decode()
        for name, asset in files.items()
        if name.endswith(".js") and not is_library(name)
    }
    bundle, source_map = bundled(sources)
    schema = json.dumps(ProcessorFile.model_json_schema())
    made = {BUNDLE_PATH: bundle, MAP_PATH: source_map, RULE_SCHEMA_PATH: schema}
    files |= {name: _asset(name, text.encode()) for name, text in made.items()}
    whole = hashlib.sha256()
    for name, asset in files.items():
        whole.update(f"{name}\0{asset.etag}\0".encode())
    index = (folder / "index.html").read_text(encoding="utf-8")
    return Assets(files, whole.hexdigest()[:16], index, libraries_by_page(sources))


def _styles(path: Path) -> bytes:
    """Return a style sheet with those it imports in their place: one request instead of many."""

    def imported(match: re.Match[str]) -> str:
        sheet = (path.parent / match[1]).resolve().read_text(encoding="utf-8")
        if not match[1].startswith("../") or "url(" not in sheet:
            return sheet
        raise ValueError(f"{match[1]} refers to files beside it")

    return _IMPORTED.sub(imported, path.read_text(encoding="utf-8")).encode()


def _asset(name: str, body: bytes) -> Asset:
    suffix = PurePosixPath(name).suffix
    packed = gzip.compress(body, mtime=0) if suffix in _PACKED else None
    etag = hashlib.sha256(body).hexdigest()[:32]
    return Asset(body, packed, _MEDIA_TYPES[suffix], etag)
