"""Documents that tests send."""

from typing import Any

ANY_STATE = {"If-Match": "*"}
"""The header of a change that is made in whatever state things are."""

STREAM: dict[str, Any] = {
    "name": "logins",
    "schema": "user STRING, action STRING, amount DOUBLE, ts TIMESTAMP",
    "event_time_column": "ts",
    "allowed_delay_ms": 5_000,
}
PATTERN: dict[str, Any] = {
    "steps": [
        {"name": "fail", "where": "action = 'fail'", "times": 3},
        {"name": "login", "contiguity": "followed_by", "where": "action = 'login'"},
    ],
    "within": "10 minutes",
}
RULE_TEXT = """\
id: failed-logins
stream: logins
key_by: [user]
pattern:
  steps:
  - name: fail
    where: action = 'fail'
    times: 3
  - name: login
    contiguity: followed_by
    where: action = 'login'
  within: 10 minutes
"""
"""The document `failed-logins` as people write it."""


def processor_document(**changes: Any) -> dict[str, Any]:
    """Return a valid processor document of the stream `logins`, with changes."""
    document = {"id": "failed-logins", "stream": "logins", "pattern": PATTERN, "key_by": ["user"]}
    return document | changes
