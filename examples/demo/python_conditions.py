"""Conditions in Python for the demo: they are sent to the job signed, as part of the rule.

The first has a mistake that shows only when an event without a command arrives.
"""

from typing import Any


def opens_editor(event: Any, context: Any) -> bool:
    """Return whether a command run as root is an editor; raises for `su`, which has no command."""
    del context
    name = event["command"].split()[0].rsplit("/", 1)[-1]
    return name in {"vi", "vim", "nano"}


def opens_editor_mended(event: Any, context: Any) -> bool:
    """Return the same, also for events without a command."""
    return event["command"] is not None and opens_editor(event, context)
