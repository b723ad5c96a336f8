"""Why a pattern cannot be said exactly in the other language, in plain words."""


class NotExact(ValueError):
    """The other language has no pattern that finds the same.

    `reason` says what stands in the way, `hint` what can be changed ("" = nothing simple).
    """

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(f"{reason}. {hint}".rstrip() if hint else f"{reason}.")
        self.reason = reason
        self.hint = hint
