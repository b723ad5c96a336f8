"""What can go wrong while matching; every message carries the numbers."""

from typing import Any, Final

_LONGEST_MESSAGE: Final = 2_000


class MatchingError(Exception):
    """The root of all errors of the matcher.

    `rules` are the rules of the machine that raised it which are to blame, as a bit set.
    """

    rules: int = 0


class LimitExceeded(MatchingError):
    """A key holds more than its limits allow; the rule is too loose for the stream."""

    def __init__(self, what: str, given: int, limit: int, remedy: str, rules: int = 0) -> None:
        super().__init__(f"{given:,} {what}, the limit is {limit:,}; {remedy}")
        self.what = what
        self.given = given
        self.limit = limit
        self.rules = rules


class SkipTargetMissing(MatchingError):
    """A match cannot skip to its target step, and the strategy says to fail then.

    `partial_result` holds what was found before, where the caller collects results.
    """

    def __init__(self, message: str, rules: int = 0) -> None:
        super().__init__(message)
        self.partial_result: Any = None
        self.rules = rules


class EventTimeError(MatchingError, ValueError):
    """An event has no usable time, or is older than the one before it."""


class EventValueError(MatchingError, ValueError):
    """A value of an event does not fit its column, or events of one time cannot be ordered."""


class EventKeyError(MatchingError, ValueError):
    """The key of an event is a value that cannot be one, such as a list."""


class ConditionFailed(MatchingError):
    """A condition raised while it was tested."""

    def __init__(self, rule: str, condition: str, cause: BaseException, place: str = "") -> None:
        said = f"{type(cause).__name__}: {error_message(cause)}"
        message = f"condition {condition!r} raised {said}"
        super().__init__(f"{place}: {message}" if place else message)
        self.rule = rule
        self.condition = condition
        self.cause = cause

    def at(self, place: str) -> "ConditionFailed":
        """Return the same error with the place of the event in its message."""
        return ConditionFailed(self.rule, self.condition, self.cause, place)


class KeyFailed(MatchingError):
    """The key of an event cannot be computed, so that no rule with this key can see the event."""


class CodeNotLoaded(MatchingError):
    """A pattern holds signed Python code that nobody has verified and loaded."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the Python condition {name} is signed code that was not loaded; "
            "`pattern.load_code(keys)` verifies and loads it"
        )


class StateEncodingError(MatchingError):
    """Encoded state is corrupt, of a newer format, or of another program."""


def error_message(error: BaseException) -> str:
    """Return what an error says, at most 2,000 characters, all of which can be written.

    What user code raises may hold anything, and may fail even when it is asked what it says.
    """
    try:
        text = str(error)
    except (Exception, SystemExit, GeneratorExit):  # noqa: BLE001 - see above
        return "its message cannot be read"
    return text.encode(errors="replace").decode()[:_LONGEST_MESSAGE]
