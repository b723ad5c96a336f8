"""Conditions in Python for the demo: they travel to the job signed, inside of the rule.

The first has a mistake that nobody sees until an event without a command arrives.
"""

from typing import Any


def opens_editor(event: Any, context: Any) -> bool:
    """Say whether a command run as root is an editor; `su` has no command, and so this raises."""
    del context
    name = event["command"].split()[0].rsplit("/", 1)[-1]
    return name in {"vi", "vim", "nano"}


def opens_editor_mended(event: Any, context: Any) -> bool:
    """Say the same, also of events without a command."""
    return event["command"] is not None and opens_editor(event, context)
