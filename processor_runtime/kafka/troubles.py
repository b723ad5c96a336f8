"""What goes wrong between a client of librdkafka and the brokers: is waiting of use, what to tell.

errors that librdkafka goes on after ──note──► Troubles ──is_hopeless, message──► KafkaFailed

librdkafka tries again without end, whatever is wrong. A password that is refused stays refused, and
a certificate that cannot be trusted does so, too: a job that waits for them helps nobody.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import KafkaError

from processor_runtime.kafka.diagnosis import Diagnosis, diagnosis_of

_SILENCE_SECONDS: Final = 5.0
"""After so long without an answer there is a look at why."""
_REFUSALS: Final = (
    KafkaError._AUTHENTICATION,  # noqa: SLF001 - how librdkafka names its own errors
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
    KafkaError.ILLEGAL_SASL_STATE,
)
_REFUSED: Final = (
    "Look at kafka.sasl.mechanism, kafka.sasl.username and kafka.sasl.password, and at what the "
    "brokers know of this user"
)


@dataclass(slots=True)
class Troubles:
    """The errors of one client since the brokers were last heard of."""

    settings: Mapping[str, str] = field(repr=False)
    _said: str = field(init=False, default="")
    _final: str = field(init=False, default="")
    _since: float = field(init=False, default_factory=time.monotonic)
    _diagnosis: Diagnosis | None = field(init=False, default=None)
    _has_looked: bool = field(init=False, default=False)

    def note(self, error: KafkaError) -> None:
        """Take an error that the client goes on after: an `error_cb` of librdkafka."""
        text = str(error.str())
        if error.code() in _REFUSALS or "authentication" in text.lower():
            self._final = f"{text}. {_REFUSED}"
        elif error.fatal():
            self._final = text
        # That all brokers are down is reported after the cause.
        if error.code() != KafkaError._ALL_BROKERS_DOWN or not self._said:  # noqa: SLF001
            self._said = text

    def clear(self) -> None:
        """Forget all of it: something new begins, or brokers have answered."""
        self._said, self._final, self._since = "", "", time.monotonic()
        self._diagnosis, self._has_looked = None, False

    @property
    def is_hopeless(self) -> bool:
        """Whether waiting does not help. After seconds of silence it looks at why, for seconds."""
        if self._final:
            return True
        if self._is_silent:
            self._look()
        return self._diagnosis is not None and self._diagnosis.is_final

    def message(self, reason: str = "", remedy: str = "") -> str:
        """Return what is wrong and how to fix it, in one line.

        Args:
            reason: what failed in the end, which may say less.
            remedy: what to look at if nothing better is known.
        """
        if self._final:
            return self._final
        if self._said or self._is_silent:
            self._look()
        if self._diagnosis is not None and self._diagnosis.is_final:
            return str(self._diagnosis)
        known = str(self._diagnosis) if self._diagnosis is not None else ""
        reasons = "; ".join(dict.fromkeys(filter(None, (reason, self._said, known))))
        return f"{reasons}. {remedy}" if remedy and not known else reasons

    @property
    def _is_silent(self) -> bool:
        return time.monotonic() - self._since >= _SILENCE_SECONDS

    def _look(self) -> None:
        if not self._has_looked:
            self._has_looked = True
            self._diagnosis = diagnosis_of(self.settings, self._said)
