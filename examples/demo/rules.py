"""The rules of the demo: those published before the start, and their later versions.

Rule ──publish──► rule service                     (story.py says when)
     └──pattern and key──► verification.py
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from examples.demo import python_conditions
from examples.demo.events import STREAM
from percept import Client, Pattern
from percept.client import Processor

WATCH_LIST: Final = "watched"
_IN_LIST: Final = f"IN LIST('{WATCH_LIST}')"
_SSH_RULES: Final = Path(__file__).parents[1] / "ssh_auth"


@dataclass(frozen=True, slots=True)
class Rule:
    """One version of a rule as it is published."""

    id: str
    pattern: Pattern
    key_by: tuple[str, ...]
    select: dict[str, str] | None
    severity: str
    description: str
    effective_from: str | None = None
    modules: tuple[ModuleType, ...] = field(default=(), repr=False)
    listed: tuple[str, ...] = ()
    """What the list that it names holds while it runs."""

    @property
    def alone(self) -> Pattern:
        """The pattern with the values of the list written in, for where there is no service."""
        if not self.listed:
            return self.pattern
        values = ", ".join(f"'{value}'" for value in self.listed)
        text = json.dumps(self.pattern.to_document())
        return Pattern.from_document(json.loads(text.replace(_IN_LIST, f"IN ({values})")))

    def publish(self, client: Client, comment: str) -> Processor:
        """Publish it as the newest version of its rule."""
        return client.create(self.document(client), comment=comment)

    def document(self, client: Client) -> dict[str, Any]:
        """Return its document; a client signs its Python code."""
        more: dict[str, Any] = {}
        if self.select is not None:
            more["select"] = self.select
        if self.effective_from is not None:
            more["effective_from"] = self.effective_from
        return client.document(
            str(STREAM["name"]),
            self.id,
            pattern=self.pattern,
            key_by=list(self.key_by),
            severity=self.severity,
            description=self.description,
            owner="demo",
            modules=self.modules,
            **more,
        )

    def try_out(self, client: Client, comment: str) -> Processor:
        """Run it beside what is published of its rule, without effect."""
        return client.rollout(self.id).start(self.document(client), comment=comment)


def _from_file(name: str) -> Pattern:
    return Pattern.from_yaml((_SSH_RULES / name).read_text(encoding="utf-8"))


def _from_query(name: str) -> Pattern:
    return Pattern.from_sql((_SSH_RULES / name).read_text(encoding="utf-8"))


def _document(**parts: Any) -> Pattern:
    return Pattern.from_document(
        parts | {"after_match_skip": {"strategy": "skip_past_last_event"}},
    )


def _password_guessed(failures: int, effective_from: str | None = None) -> Rule:
    pattern = _from_file("password_guessed.yaml").to_document()
    pattern["steps"][0]["times"] = {"from": failures, "to": None}
    return Rule(
        "password-guessed",
        Pattern.from_document(pattern),
        ("src_ip",),
        {"address": "accepted.src_ip", "user": "accepted.user", "failures": "COUNT(failed.*)"},
        "critical",
        f"{failures} or more failed sign-ins, then a successful one, from one address.",
        effective_from,
    )


def _user_enumeration(names: int) -> Rule:
    pattern = _from_file("user_enumeration.yaml").to_document()
    pattern["steps"][0]["times"] = names
    return Rule(
        "user-enumeration",
        Pattern.from_document(pattern),
        ("src_ip",),
        {"address": "FIRST(probe.src_ip)", "first": "FIRST(probe.user)", "last": "probe.user"},
        "medium",
        f"{names} names of accounts that do not exist within a minute, from one address.",
    )


def _file_edited(condition: Callable[[Any, Any], bool]) -> Rule:
    return Rule(
        "file-edited-as-root",
        Pattern.begin("edit")
        .where("event_type IN ('sudo_command', 'su_success')")
        .where(condition),
        ("host",),
        {"user": "edit.user", "command": "edit.command"},
        "low",
        "An editor run as root; the condition is Python.",
        modules=(python_conditions,),
    )


PASSWORD_GUESSED: Final = _password_guessed(3)
PASSWORD_GUESSED_LATER: Final = _password_guessed(10, "2017-03-30T00:00:00Z")
USER_ENUMERATION: Final = _user_enumeration(10)
USER_ENUMERATION_STRICTER: Final = _user_enumeration(5)
NEW_ACCOUNT_USED: Final = Rule(
    "new-account-used",
    _from_file("new_account_used.yaml"),
    ("user",),
    {"user": "sign_in.user", "address": "sign_in.src_ip"},
    "high",
    "An account created, given a password and signed in to from outside within an hour.",
)
SESSION_LEFT_OPEN: Final = Rule(
    "session-left-open",
    _from_file("session_left_open.yaml"),
    ("host", "pid"),
    {"user": "opened.user"},
    "low",
    "A session still open an hour after it began: an absence, which only time can bring.",
)
ADDRESS_HAMMERS: Final = Rule(
    "address-hammers",
    _document(
        steps=[{"name": "hangup", "where": "event_type = 'disconnect_received'", "times": 20}],
        within="1 minute",
    ),
    ("src_ip",),
    {"address": "hangup.src_ip"},
    "low",
    "Twenty connections of one address broken off within a minute.",
)
HOST_UNDER_ATTACK: Final = Rule(
    "host-under-attack",
    _document(
        steps=[
            {
                "name": "failed",
                "where": "event_type IN ('auth_failed', 'invalid_user')",
                "times": 20,
            }
        ],
        within="10 minutes",
    ),
    ("host",),
    {"host": "failed.host", "last_address": "failed.src_ip"},
    "medium",
    "Twenty failed sign-ins to one host within ten minutes, from anywhere.",
)
PASSWORDS_TRIED: Final = Rule(
    "passwords-tried",
    _from_query("passwords_tried.sql"),
    ("host", "pid"),
    None,  # MEASURES of the query say what is output
    "medium",
    "Passwords tried on one connection until either side ended it; written in SQL.",
)
FILE_EDITED: Final = _file_edited(python_conditions.opens_editor)
FILE_EDITED_MENDED: Final = _file_edited(python_conditions.opens_editor_mended)

WATCHED: Final = Rule(
    "watched-address-let-in",
    Pattern.begin("accepted").where(f"event_type = 'auth_accepted' AND src_ip {_IN_LIST}"),
    ("src_ip",),
    {"address": "accepted.src_ip", "user": "accepted.user", "host": "accepted.host"},
    "high",
    "A successful sign-in from an address on the list of watched ones.",
    listed=("24.151.103.17",),
)
WATCHED_MORE: Final = replace(WATCHED, listed=(*WATCHED.listed, "85.245.107.41"))
"""The same version, once the list holds another address."""

FIRST_RULES: Final = (
    PASSWORD_GUESSED,
    USER_ENUMERATION,
    NEW_ACCOUNT_USED,
    SESSION_LEFT_OPEN,
    ADDRESS_HAMMERS,
    PASSWORDS_TRIED,
    WATCHED,
)
"""Published before the job starts."""
