"""The files of the dashboard, read once: their bytes, types and the digest they are served under.

    static/ ─► Assets ─► /assets/<digest>/<path>

Every file is served below the digest of all of them, so that browsers may cache them without expiry
and never mix two versions. No file is read from disk by a path in a request.
"""

import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

STATIC_FOLDER: Final = Path(__file__).parent / "static"

_MEDIA_TYPES: Final = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".md": "text/plain; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}
_PACKED: Final = frozenset({".js", ".css", ".svg", ".md", ".txt"})


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


def read_assets(folder: Path = STATIC_FOLDER) -> Assets:
    """Return the files below a folder, without `index.html`, which is rendered for each request.

    Raises:
        OSError: a file cannot be read.
    """
    files = {
        path.relative_to(folder).as_posix(): _asset(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix in _MEDIA_TYPES
    }
    whole = hashlib.sha256()
    for name, asset in files.items():
        whole.update(f"{name}\0{asset.etag}\0".encode())
    index = (folder / "index.html").read_text(encoding="utf-8")
    return Assets(files, whole.hexdigest()[:16], index)


def _asset(path: Path) -> Asset:
    body = path.read_bytes()
    packed = gzip.compress(body, mtime=0) if path.suffix in _PACKED else None
    etag = hashlib.sha256(body).hexdigest()[:32]
    return Asset(body, packed, _MEDIA_TYPES[path.suffix], etag)
