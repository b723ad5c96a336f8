"""All SQL about webhooks, what they were told, and messages on their way."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from sqlalchemy import Select, case, delete, exists, func, select
from sqlalchemy.orm import Session

from api.store.confinement import ALL_STREAMS
from api.store.waits import is_over
from api.webhooks.tables import DELIVERED, PENDING, Webhook, WebhookDelivery, WebhookTold


@dataclass(frozen=True, slots=True)
class Due:
    """What is to be sent at a time.

    Attributes:
        now_ms: the time.
        longest_ms: for how long a message waits at most, by how often it was tried.
        without: ids of webhooks that are passed over.
    """

    now_ms: int
    longest_ms: Mapping[int, int]
    without: Collection[str]

    def query(self) -> Select[WebhookDelivery, Webhook]:
        """Return the messages and their webhooks."""
        longest_ms = case(self.longest_ms, value=WebhookDelivery.attempts, else_=0)
        return (
            select(WebhookDelivery, Webhook)
            .join(Webhook, Webhook.id == WebhookDelivery.webhook_id)
            .where(
                WebhookDelivery.state == PENDING,
                is_over(WebhookDelivery.next_attempt_ms, self.now_ms, longest_ms),
                WebhookDelivery.webhook_id.not_in(self.without),
                Webhook.enabled,
            )
        )


def all_webhooks(session: Session) -> Sequence[Webhook]:
    """Return all webhooks, by name."""
    return session.scalars(select(Webhook).order_by(Webhook.name)).all()


def webhook_of(session: Session, webhook_id: str) -> Webhook | None:
    """Return a webhook."""
    return session.get(Webhook, webhook_id)


def is_name_taken(session: Session, name: str) -> bool:
    """Return whether there is a webhook of this name, of whatever stream."""
    query = select(exists(select(Webhook.id).where(Webhook.name == name)))
    return bool(session.scalar(query, execution_options=ALL_STREAMS))


def count_webhooks(session: Session) -> int:
    """Return how many webhooks there are, of all streams."""
    query = select(func.count(Webhook.id))
    return session.scalar(query, execution_options=ALL_STREAMS) or 0


def enabled_webhooks(session: Session, *, locked: bool = False) -> Sequence[Webhook]:
    """Return those that are told of events; locked, without those that somebody else has locked."""
    query = select(Webhook).where(Webhook.enabled).order_by(Webhook.id)
    if locked:
        query = query.with_for_update(skip_locked=True)
    return session.scalars(query).all()


def known_subjects(session: Session, webhook_ids: Collection[str]) -> dict[str, set[str]]:
    """Return what webhooks have been told of, by webhook."""
    found: dict[str, set[str]] = {webhook_id: set() for webhook_id in webhook_ids}
    query = select(WebhookTold.webhook_id, WebhookTold.subject).where(
        WebhookTold.webhook_id.in_(webhook_ids)
    )
    for webhook_id, subject in session.execute(query):
        found[webhook_id].add(subject)
    return found


def forget_subjects(session: Session, webhook_id: str, subjects: Collection[str]) -> None:
    """Forget that a webhook has been told of what is over."""
    session.execute(
        delete(WebhookTold).where(
            WebhookTold.webhook_id == webhook_id, WebhookTold.subject.in_(subjects)
        )
    )


def has_due(session: Session, due: Due) -> bool:
    """Whether a message is to be sent."""
    query = due.query().with_only_columns(WebhookDelivery.number).limit(1)
    return session.scalar(query) is not None


def due_deliveries(
    session: Session, due: Due, limit: int, *, of_each: int
) -> Sequence[tuple[WebhookDelivery, Webhook]]:
    """Return messages to be sent, the longest due first; locked ones are somebody else's.

    Args:
        session: the transaction.
        due: the time, and to whom.
        limit: how many at most.
        of_each: how many to one webhook at most.
    """
    longest_due = WebhookDelivery.next_attempt_ms, WebhookDelivery.number
    place = func.row_number().over(partition_by=WebhookDelivery.webhook_id, order_by=longest_due)
    columns = WebhookDelivery.number, place.label("place")
    placed = due.query().with_only_columns(*columns).subquery()
    # PostgreSQL locks no rows of a query that numbers them.
    first = select(placed.c.number).where(placed.c.place <= of_each)
    query = (
        due.query()
        .where(WebhookDelivery.number.in_(first))
        .order_by(*longest_due)
        .limit(limit)
        .with_for_update(of=WebhookDelivery, skip_locked=True)
    )
    return [(delivery, webhook) for delivery, webhook in session.execute(query)]


def delivery_of(session: Session, number: int) -> WebhookDelivery | None:
    """Return a message, locked."""
    query = select(WebhookDelivery).where(WebhookDelivery.number == number).with_for_update()
    return session.scalar(query)


def deliveries_below(
    session: Session, webhook_id: str, below: int, limit: int
) -> Sequence[WebhookDelivery]:
    """Return messages to a webhook, newest first, with numbers below a given one."""
    query = (
        select(WebhookDelivery)
        .where(WebhookDelivery.webhook_id == webhook_id, WebhookDelivery.number < below)
        .order_by(WebhookDelivery.number.desc())
        .limit(limit)
    )
    return session.scalars(query).all()


def counts_pending(session: Session, webhook_ids: Collection[str]) -> dict[str, int]:
    """Return how many messages to webhooks are on their way, by webhook."""
    query = (
        select(WebhookDelivery.webhook_id, func.count(WebhookDelivery.number))
        .where(WebhookDelivery.webhook_id.in_(webhook_ids), WebhookDelivery.state == PENDING)
        .group_by(WebhookDelivery.webhook_id)
    )
    found = dict.fromkeys(webhook_ids, 0)
    for webhook_id, count in session.execute(query):
        found[webhook_id] = count
    return found


def forget_old(session: Session, webhook_id: str, kept: int) -> None:
    """Remove messages that have ended, but for the newest."""
    ended = (
        select(WebhookDelivery.number)
        .where(WebhookDelivery.webhook_id == webhook_id, WebhookDelivery.state != PENDING)
        .order_by(WebhookDelivery.number.desc())
    )
    newest = session.scalar(ended.offset(kept).limit(1))
    if newest is not None:
        session.execute(
            delete(WebhookDelivery).where(
                WebhookDelivery.webhook_id == webhook_id,
                WebhookDelivery.state != PENDING,
                WebhookDelivery.number <= newest,
            ),
            execution_options={"synchronize_session": False},
        )


def failing_webhooks(session: Session) -> Sequence[tuple[Webhook, WebhookDelivery]]:
    """Return the webhooks whose newest message does not arrive, with that message, by name.

    One attempt that has failed is no reason yet: it is tried again after seconds. A webhook that
    somebody has disabled is not among them, one that its receiver has (410) is.
    """
    tried = (
        select(func.max(WebhookDelivery.number))
        .where((WebhookDelivery.state != PENDING) | (WebhookDelivery.attempts > 1))
        .group_by(WebhookDelivery.webhook_id)
    )
    query = (
        select(Webhook, WebhookDelivery)
        .join(WebhookDelivery, WebhookDelivery.webhook_id == Webhook.id)
        .where(
            WebhookDelivery.number.in_(tried),
            WebhookDelivery.state != DELIVERED,
            Webhook.enabled | (WebhookDelivery.status == HTTPStatus.GONE),
        )
        .order_by(Webhook.name)
    )
    return [(webhook, delivery) for webhook, delivery in session.execute(query)]


def counts_by_state(session: Session) -> list[tuple[str, str, int]]:
    """Return how many messages there are, by id of the webhook and state.

    Whoever may look may count them, but names are for admins.
    """
    number = func.count(WebhookDelivery.number)
    by = WebhookDelivery.webhook_id, WebhookDelivery.state
    query = select(*by, number).group_by(*by)
    return [(webhook_id, state, count) for webhook_id, state, count in session.execute(query)]
