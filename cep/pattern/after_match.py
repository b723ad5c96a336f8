"""`AfterMatchSkip`: the five after-match skip strategies, one constructor each.

Source: Flink CEP documentation, "After Match Skip Strategy".
"""

from cep.pattern.tree import SkipKind, SkipStrategy


class AfterMatchSkip:
    """Makes the strategy that `Pattern.after_match` takes."""

    @staticmethod
    def no_skip() -> SkipStrategy:
        """Return the default strategy: every possible match is emitted."""
        return SkipStrategy(SkipKind.NO_SKIP)

    @staticmethod
    def to_next() -> SkipStrategy:
        """Return the strategy that drops partial matches begun with the match's first event."""
        return SkipStrategy(SkipKind.SKIP_TO_NEXT)

    @staticmethod
    def past_last_event() -> SkipStrategy:
        """Return the strategy that drops partial matches begun before the match ended."""
        return SkipStrategy(SkipKind.SKIP_PAST_LAST_EVENT)

    @staticmethod
    def to_first(step: str, *, throw_on_miss: bool = False) -> SkipStrategy:
        """Return the strategy that drops partial matches begun before the first event of `step`."""
        return SkipStrategy(SkipKind.SKIP_TO_FIRST, step, throw_on_miss)

    @staticmethod
    def to_last(step: str, *, throw_on_miss: bool = False) -> SkipStrategy:
        """Return the strategy that drops partial matches begun before the last event of `step`."""
        return SkipStrategy(SkipKind.SKIP_TO_LAST, step, throw_on_miss)
