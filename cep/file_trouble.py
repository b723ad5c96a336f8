"""Why a file could not be read or written, in words: what the system says, and what to do about it.

The number of the error and the path are left out: who writes the message has named the file.
"""

import errno
from typing import Final

_REMEDIES: Final[dict[type[OSError], str]] = {
    FileNotFoundError: "Correct the path, or create it",
    PermissionError: "Give this user the permission, or choose another path",
    IsADirectoryError: "Name a file in it",
    NotADirectoryError: "A part of the path is a file; correct it",
    FileExistsError: "Choose another path, or remove what is there",
}
_REMEDIES_BY_NUMBER: Final = {
    errno.ENOSPC: "Make room",
    errno.EDQUOT: "Make room",
    errno.EROFS: "Choose another path",
    errno.ESTALE: "Mount its file system again",
}


def file_trouble(error: Exception) -> str:
    """Return why a file could not be read or written, and what to do, without a full stop."""
    if isinstance(error, UnicodeDecodeError):
        byte = error.object[error.start]
        return f"byte {error.start + 1} (0x{byte:02x}) is no UTF-8. Save it as UTF-8"
    said = getattr(error, "strerror", None) or str(error)
    remedy = next((each for kind, each in _REMEDIES.items() if isinstance(error, kind)), "")
    remedy = remedy or _REMEDIES_BY_NUMBER.get(getattr(error, "errno", None) or 0, "")
    return f"{said}. {remedy}" if remedy else said
