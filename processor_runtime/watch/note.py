"""Which rule's code is at work in a process, written such that it outlives the process.

    code begins ──► page of a file ──process dies──► Spark tells what is in it ──read_death──► rule

The first byte says whether code is at work now; after it is whose code was at work last. What ends
a process on purpose adds why.
"""

import json
import re
from dataclasses import asdict, dataclass
from typing import Final

PAGE_BYTES: Final = 2_048
AT_WORK: Final = ord("+")
AT_REST: Final = ord("-")
_REASON: Final = "percept-reason "
_LONGEST_WHAT: Final = 200
_NOTE: Final = re.compile(r"([+-])percept-code (\{[^\n]*\})\n")
# What `faulthandler.dump_traceback_later` begins with when it ends a process.
_OVERDUE: Final = "Timeout ("


@dataclass(frozen=True, slots=True)
class RuleCode:
    """A piece of Python code of a rule: of which version, and what it is for."""

    processor_id: str
    version: int
    digest: str
    what: str

    @property
    def version_key(self) -> tuple[str, int, str]:
        """The version it is of: processor, number, digest."""
        return (self.processor_id, self.version, self.digest)


@dataclass(frozen=True, slots=True)
class Death:
    """How a process died: whose code was at work, and why it was ended, if it was on purpose.

    Both are `None` where nothing is known.
    """

    code: RuleCode | None = None
    reason: str | None = None


def empty_page() -> bytes:
    """Return a page that says nothing."""
    return b"-" + b" " * (PAGE_BYTES - 2) + b"\n"


def page_text(code: RuleCode) -> bytes:
    """Return what is written into the page, from its second byte on, while code is at work."""
    short = {**asdict(code), "what": code.what[:_LONGEST_WHAT]}
    # What stood there before may be longer; it is not read beyond the end of the line.
    return f"percept-code {json.dumps(short)}\n".encode("ascii")


def reason_text(reason: str) -> str:
    """Return the line that says why a process ends itself; it comes behind the page."""
    return f"{_REASON}{json.dumps(reason)}\n"


def read_death(text: str, call_seconds: float) -> Death:
    """Return how a process died.

    `text`: the report of it, with the content of its file in it.
    """
    noted = _NOTE.search(text)
    if noted is None or noted[1] != chr(AT_WORK):
        return Death()
    code = RuleCode(**json.loads(noted[2]))
    rest = text[noted.end() :]
    if (place := rest.find(_REASON)) >= 0:
        reason, _ = json.JSONDecoder().raw_decode(rest, place + len(_REASON))
        return Death(code, reason)
    if _OVERDUE in rest:
        return Death(code, overdue(call_seconds))
    return Death(code)


def overdue(call_seconds: float) -> str:
    """Return the report of code that did not return in time."""
    return f"it did not return within {call_seconds:g} seconds"
