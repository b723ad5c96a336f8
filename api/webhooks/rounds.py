"""What webhooks do in the background: finds what is new, sends what is due, until it has arrived.

    store ──concerns──► messages, in the store ──claimed──► POST ──► delivered · again · failed

Every process of the service does this on one store. A webhook is locked while it is looked what it
has not been told of, and a message that somebody sends is not due meanwhile, so that nobody else
sends it, too; one whose sender dies is due again a little later. A receiver may thus get a message
twice, with one id.
"""

import json
import threading
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

import structlog
from sqlalchemy.orm import Session

from api.runtime import Clock
from api.settings import Settings
from api.store.database import Database
from api.store.unavailable import StoreUnavailable
from api.webhooks import repository
from api.webhooks.events import Concern, concerns
from api.webhooks.repository import Due
from api.webhooks.sending import SEND_SECONDS, Answer, send
from api.webhooks.service import MAXIMUM_WEBHOOKS, new_message
from api.webhooks.signing import signed_headers
from api.webhooks.tables import DELIVERED, FAILED, Webhook, WebhookDelivery, WebhookTold

PAUSES_SECONDS: Final = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""After each attempt that has failed; after one more it is given up. Of Standard Webhooks."""
MAXIMUM_PENDING: Final = 1_000
"""For each webhook; what comes beyond is not sent, and is said again once there is room."""
CLAIM_MS: Final = round(SEND_SECONDS * 1_000) + 45_000
_LONGEST_MS: Final = {
    attempt: max(pause * 1_000, CLAIM_MS)
    for attempt, pause in enumerate((*PAUSES_SECONDS, 0), start=1)
}
"""For how long a message waits at most, by how often it was tried."""

_OF_EACH: Final = 2
_AT_ONCE: Final = MAXIMUM_WEBHOOKS * _OF_EACH
"""There is room for each webhook, however many others do not answer."""

_log = structlog.get_logger("percept.webhooks")


@dataclass(frozen=True, slots=True)
class _Claimed:
    """One attempt to send a message."""

    number: int
    attempt: int
    webhook_id: str
    url: str
    secret: str = field(repr=False)
    message_id: str
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Untold:
    """What a webhook has not been told yet, and the subjects of what it was told and is over."""

    webhook: Webhook
    new: Sequence[Concern]
    over: Collection[str]


class WebhookRounds:
    """Tells and sends, round after round, in a thread of its own.

    Args:
        database: the store.
        now_ms: the clock of the service.
        settings: how often, where to, and how much is kept.
    """

    def __init__(self, database: Database, now_ms: Clock, settings: Settings) -> None:
        self._database = database
        self._now_ms = now_ms
        self._settings = settings
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="percept-webhooks", daemon=True)
        self._fails = False

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; what is being sent may take as long as a stop waits, and is else due again later."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(self._settings.stop_seconds)

    def once(self) -> None:
        """Do one round.

        A webhook that does not answer gets nothing more in it, and what is new meanwhile is told in
        it, too: none waits for another one longer than one attempt takes.

        Raises:
            StoreUnavailable: the store cannot be used now.
        """
        silent: set[str] = set()
        self._tell()
        while self._send(silent) and not self._stopping.is_set():
            self._tell()

    def _go_on(self) -> None:
        while not self._stopping.wait(self._settings.webhook_seconds):
            try:
                self.once()
                self._fails = False
            except StoreUnavailable as error:
                if not self._fails:
                    _log.warning("webhooks wait: the store does not answer", error=str(error))
                self._fails = True
            except Exception:  # noqa: BLE001 - whatever it is, the next round comes
                _log.exception("a round of webhooks has failed")

    def _tell(self) -> None:
        with self._database.reading() as session:
            if not self._untold(session, repository.enabled_webhooks(session)):
                return
        with self._database.writing() as session:
            webhooks = repository.enabled_webhooks(session, locked=True)
            untold = self._untold(session, webhooks)
            pending = repository.counts_pending(session, [each.webhook.id for each in untold])
            for each in untold:
                _tell(session, each, MAXIMUM_PENDING - pending[each.webhook.id], self._now_ms())

    def _untold(self, session: Session, webhooks: Sequence[Webhook]) -> list[_Untold]:
        """Return what these webhooks have to be told, or to be forgotten; others are left out."""
        if not webhooks:
            return []
        found = concerns(session, self._now_ms(), self._settings)
        told = repository.known_subjects(session, [webhook.id for webhook in webhooks])
        each_untold = (_untold_by(webhook, found, told[webhook.id]) for webhook in webhooks)
        return [each for each in each_untold if each.new or each.over]

    def _send(self, silent: set[str]) -> bool:
        """Send some of what is due; return whether there was any.

        Args:
            silent: ids of webhooks that get nothing; those that do not answer are added.
        """
        with self._database.reading() as session:
            if not repository.has_due(session, Due(self._now_ms(), _LONGEST_MS, silent)):
                return False
        with self._database.writing() as session:
            claimed = self._claim(session, silent)
        if not claimed:
            return False
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="percept-webhook") as threads:
            answers = list(threads.map(self._sent, claimed))
        with self._database.writing() as session:
            for attempt, answer in zip(claimed, answers, strict=True):
                self._take(session, attempt, answer)
                if answer.status is None:
                    silent.add(attempt.webhook_id)
            for webhook_id in sorted({attempt.webhook_id for attempt in claimed}):
                repository.forget_old(session, webhook_id, self._settings.webhook_deliveries)
        return True

    def _claim(self, session: Session, silent: Collection[str]) -> list[_Claimed]:
        now_ms = self._now_ms()
        claimed = []
        for delivery, webhook in repository.due_deliveries(
            session, Due(now_ms, _LONGEST_MS, silent), _AT_ONCE, of_each=_OF_EACH
        ):
            delivery.attempts += 1
            delivery.next_attempt_ms = now_ms + CLAIM_MS
            claimed.append(
                _Claimed(
                    delivery.number,
                    delivery.attempts,
                    webhook.id,
                    webhook.url,
                    webhook.secret,
                    delivery.message_id,
                    delivery.body.encode(),
                )
            )
        return claimed

    def _sent(self, claimed: _Claimed) -> Answer:
        seconds = self._now_ms() // 1_000
        headers = signed_headers(claimed.secret, claimed.message_id, seconds, claimed.body)
        allows_private = self._settings.webhook_private_addresses
        return send(claimed.url, headers, claimed.body, allows_private=allows_private)

    def _take(self, session: Session, claimed: _Claimed, answer: Answer) -> None:
        delivery = repository.delivery_of(session, claimed.number)
        if delivery is None or delivery.attempts != claimed.attempt or delivery.ended_at_ms:
            return  # removed, or somebody else's by now
        now_ms = self._now_ms()
        delivery.status, delivery.error = answer.status, answer.error
        if answer.is_success:
            _end(delivery, DELIVERED, now_ms)
        elif answer.is_gone:
            webhook = repository.webhook_of(session, delivery.webhook_id)
            if webhook is not None:
                webhook.enabled = False
            _end(delivery, FAILED, now_ms)
        elif claimed.attempt > len(PAUSES_SECONDS):
            _end(delivery, FAILED, now_ms)
        else:
            delivery.next_attempt_ms = now_ms + PAUSES_SECONDS[claimed.attempt - 1] * 1_000
        session.flush()


def _untold_by(webhook: Webhook, found: Sequence[Concern], told: Collection[str]) -> _Untold:
    wanted = {concern.subject: concern for concern in _wanted(webhook, found)}
    new = [each for subject, each in wanted.items() if subject not in told]
    return _Untold(webhook, new, set(told) - wanted.keys())


def _tell(session: Session, untold: _Untold, room: int, now_ms: int) -> None:
    webhook = untold.webhook
    if untold.over:
        repository.forget_subjects(session, webhook.id, untold.over)
    for concern in untold.new[: max(room, 0)]:
        session.add(WebhookTold(webhook_id=webhook.id, subject=concern.subject))
        new_message(session, webhook, concern.kind, concern.data, now_ms)


def _end(delivery: WebhookDelivery, state: str, now_ms: int) -> None:
    delivery.state, delivery.ended_at_ms = state, now_ms


def _wanted(webhook: Webhook, found: Sequence[Concern]) -> list[Concern]:
    kinds = set(json.loads(webhook.events))
    return [
        concern
        for concern in found
        if concern.kind in kinds and webhook.stream in {None, concern.stream}
    ]
