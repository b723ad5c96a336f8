"""All SQL about tokens."""

from collections.abc import Sequence

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from api.access.tables import Token


def token_of_hash(session: Session, sha256: str) -> Token | None:
    """Return the token with this SHA-256, whether valid or not."""
    return session.scalar(select(Token).where(Token.sha256 == sha256))


def token_of_id(session: Session, token_id: str) -> Token | None:
    """Return the token with this id."""
    return session.get(Token, token_id)


def all_tokens(session: Session) -> Sequence[Token]:
    """Return every token, oldest first."""
    return session.scalars(select(Token).order_by(Token.created_at_ms, Token.id)).all()


def any_token(session: Session) -> bool:
    """Return whether there is any token, valid or not."""
    return bool(session.scalar(select(exists(select(Token.id)))))
