"""Names that people give and read: of tokens, of the persons they belong to, of webhooks.

Two names that look alike are one: who may approve what is decided by the name of a person. So a
name is kept in Unicode's form NFC, and what cannot be seen is refused.
"""

import re
import unicodedata
from typing import Annotated, Final

from pydantic import AfterValidator, Field

MOST_CHARACTERS: Final = 100
_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c\u200d\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
"""Unicode's Default_Ignorable_Code_Point, as far as these are letters, marks or joiners."""


def _visible(name: str) -> str:
    composed = unicodedata.normalize("NFC", name)
    if _INVISIBLE.search(composed):
        raise ValueError("a name has no characters that cannot be seen")
    if len(composed) > MOST_CHARACTERS:
        raise ValueError(f"a name has at most {MOST_CHARACTERS} characters")
    return composed


GivenName = Annotated[
    str, Field(pattern=rf"^[^\W_][\w ._@'-]{{0,{MOST_CHARACTERS - 1}}}$"), AfterValidator(_visible)
]
"""It begins with a letter or digit of any script; spaces and a few marks may follow."""
