"""Opens what is asked for, and only then imports OpenTelemetry.

AskedTelemetry ──opened──► Sending, or that a variable has no sense
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from contract.telemetry.asked import AskedTelemetry, TelemetryRefused

if TYPE_CHECKING:
    from contract.telemetry.sending import Sending


def opened(asked: AskedTelemetry | None, environment: Mapping[str, str]) -> "Sending | None":
    """Return what sends; `None` if nothing is asked for.

    Raises:
        TelemetryRefused: a variable of OpenTelemetry has a value that its library refuses.
    """
    if asked is None:
        return None
    from contract.telemetry.sending import Sending  # noqa: PLC0415 - it takes a third of a second

    try:
        return Sending(asked, environment)
    except ValueError as error:
        raise TelemetryRefused(f"a variable OTEL_… has a value that is refused: {error}") from None
