"""What the OpenAPI document says of headers that every answer has, and of groups of operations."""

from typing import Any, Final

_TEXT: Final = {"type": "string"}

HEADERS: Final[dict[str, dict[str, Any]]] = {
    "ETag": {
        "description": "Names the state as it is, or, if weak (`W/`), what is answered.",
        "schema": _TEXT,
    },
    "RateLimit": {
        "description": "Requests that the token may still make at once (`r`), and in how many "
        "seconds that will be all of them again (`t`).",
        "schema": _TEXT,
    },
    "RateLimit-Policy": {
        "description": "Requests that a token may make at once (`q`), and the seconds in which "
        "they come back (`w`).",
        "schema": _TEXT,
    },
    "Retry-After": {
        "description": "Seconds until it may be tried again.",
        "schema": {"type": "string", "pattern": "^[0-9]+$"},
    },
    "WWW-Authenticate": {"description": "How to sign in.", "schema": _TEXT},
    "X-Request-ID": {
        "description": "Names the request in the log: that of the caller, or a new one.",
        "schema": _TEXT,
    },
}
"""Headers, as components of the document."""

TAGS: Final[dict[str, str]] = {
    "streams": "Event streams: their columns, time and number of approvals.",
    "snapshots": "What jobs read: all rules of a stream as of an epoch.",
    "processors": "Rules and their versions: create, replace, schedule, pause, resume, delete.",
    "rollouts": "A version in shadow, or for a share of the keys, beside the published one.",
    "change sets": "Several changes of rules of a stream at once, all or none, as one epoch.",
    "lists": "Lists of values for `user IN LIST('vip')`, with versions of their own.",
    "snoozes": "Rules that are quiet for a time, for all keys or some.",
    "proposals": "Changes that wait for approvals, their comments and publication.",
    "drafts": "A rule while it is written: checked, tried on events, drawn, explained.",
    "backtests": "Rules run over the archive of a stream by `percept work`.",
    "jobs": "What streaming jobs report: batches, versions, errors; and their heartbeats.",
    "diagnosis": "Why a rule finds nothing: its jobs, its steps, partial matches of a key.",
    "rules": "Rules of a stream beside what its jobs really run of them.",
    "matches": "Matches that the outputs of jobs have sent here.",
    "triage": "What people make of matches: status, assignee, notes, labels.",
    "audit": "Who changed what, newest first.",
    "overview": "All streams at a glance.",
    "tokens": "Access tokens and their roles.",
    "webhooks": "Where the service tells of what goes wrong.",
    "operations": "Health, readiness and figures of this process.",
}
"""The groups of operations, in the order of the life of a rule."""
